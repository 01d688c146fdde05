/**
 * The verbs about one user: `generate`, `validate`, `refresh`, `optout`. Each prints the service's answer as JSON.
 */

import type { Command } from 'commander';
import { answerOf, type Refreshable } from '../server/index.ts';
import { fromB64 } from '../token/bytes.ts';
import { isTokenError, parseAnswer } from '../token/index.ts';
import { type DiiFlags, diiOf, withDii } from './dii.ts';
import { jsonIn } from './input.ts';
import type { Io } from './io.ts';
import { clientOf, print, type ServiceFlags, serviceVerb, warnOf } from './service.ts';

const ON_ONE_LINE = 'print the JSON on one line';

interface RefreshFlags extends ServiceFlags {
  readonly responseKey?: string;
}

/** The verb `generate`. An opted-out user is an answer, not a failure. */
export function generateCommand(io: Io): Command {
  return withDii(serviceVerb('generate', 'make a token set for a user (role GENERATOR)', ON_ONE_LINE)).action(
    async (argument: string | undefined, flags: ServiceFlags & DiiFlags) => {
      const dii = diiOf(argument, flags);
      print(answerOf(await clientOf(flags, io).generate(dii)), flags, io);
    },
  );
}

/** The verb `validate`. */
export function validateCommand(io: Io): Command {
  return withDii(
    serviceVerb(
      'validate',
      'tell whether an advertising token was made from this DII (role GENERATOR)',
      ON_ONE_LINE,
    ).argument('<token>', 'an advertising token'),
  ).action(async (token: string, argument: string | undefined, flags: ServiceFlags & DiiFlags) => {
    const dii = diiOf(argument, flags);
    print({ status: 'success', body: await clientOf(flags, io).validate(token, dii) }, flags, io);
  });
}

const keyIn = (key: string): string => {
  let length = 0;
  try {
    ({ length } = fromB64(key));
  } catch {
    // No bytes then.
  }
  if (length !== 32) throw new RangeError(`--response-key: expected base64 of 32 bytes, got ${key.length} characters`);
  return key;
};

// With the key at hand the argument is the token; else it says where the set is that has both.
const refreshableOf = async (argument: string, key: string | undefined, io: Io): Promise<Refreshable> => {
  if (key !== undefined) {
    warnOf('--response-key', io);
    return { refreshToken: argument, responseKeyB64: keyIn(key) };
  }
  try {
    const answer = parseAnswer(await jsonIn(argument, io));
    if (answer !== 'optout') return answer;
  } catch (e) {
    throw isTokenError(e) ? new RangeError(`FILE: ${e.message}`) : e;
  }
  throw new RangeError('FILE: expected a token set, got the answer for an opted-out user');
};

/** The verb `refresh`. */
export function refreshCommand(io: Io): Command {
  return serviceVerb('refresh', 'exchange a refresh token for a newer set', ON_ONE_LINE)
    .argument('<file>', 'a token set as generate prints it, - for standard input; a refresh token with --response-key')
    .option('--response-key <key>', 'the key that came with the refresh token, base64 of 32 bytes')
    .action(async (argument: string, flags: RefreshFlags) => {
      const client = clientOf(flags, io);
      const tokens = await refreshableOf(argument, flags.responseKey, io);
      print(answerOf(await client.refresh(tokens)), flags, io);
    });
}

/** The verb `optout`. */
export function optOutCommand(io: Io): Command {
  return withDii(serviceVerb('optout', 'record that a user has opted out (role OPTOUT)', ON_ONE_LINE)).action(
    async (argument: string | undefined, flags: ServiceFlags & DiiFlags) => {
      const dii = diiOf(argument, flags);
      await clientOf(flags, io).optOut(dii);
      print({ status: 'success' }, flags, io);
    },
  );
}

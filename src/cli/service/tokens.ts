/** The commands for one user: `generate`, `validate`, `refresh`, `optout`. Each prints the answer of the service as JSON. */

import { type Command, CommanderError } from 'commander';
import { answerOf, type Refreshable } from '../../server/index.ts';
import { fromB64 } from '../../token/bytes.ts';
import { shownPath } from '../input/paths.ts';
import { readAnswer } from '../input/token-file.ts';
import type { Io } from '../io.ts';
import { addDiiOptions, type DiiOptions, readDii } from './dii-options.ts';
import { clientOf, print, type ServiceOptions, serviceCommand, warnAboutSecret } from './service-options.ts';

const JSON_HELP = 'print the JSON on one line';

type GenerateOptions = ServiceOptions & DiiOptions & { readonly tcfConsentString?: string };

/** Create the command `generate`. The answer for an opted-out user is not a failure. */
export function generateCommand(io: Io): Command {
  return addDiiOptions(serviceCommand('generate', 'generate a token set for a user (role GENERATOR)', JSON_HELP))
    .option('--tcf-consent-string <string>', "the user's TCF consent string, for an operator with the scope EUID")
    .action(async (argument: string | undefined, flags: GenerateOptions) => {
      const tcfConsent = flags.tcfConsentString;
      if (tcfConsent === '')
        throw new RangeError('--tcf-consent-string: expected a TCF consent string, got an empty one');
      const dii = await readDii(argument, flags, io);
      print(answerOf(await clientOf(flags, io).generate(dii, { tcfConsent })), flags, io);
    });
}

export function validateCommand(io: Io): Command {
  return addDiiOptions(
    serviceCommand(
      'validate',
      'tell whether an advertising token was generated from this DII; exit with 1 if not (role GENERATOR)',
      JSON_HELP,
    ).argument('<token>', 'an advertising token'),
  ).action(async (token: string, argument: string | undefined, flags: ServiceOptions & DiiOptions) => {
    const dii = await readDii(argument, flags, io);
    const isMatch = await clientOf(flags, io).validate(token, dii);
    print({ status: 'success', body: isMatch }, flags, io);
    if (!isMatch) throw new CommanderError(1, 'tessera.mismatch', 'the token was not generated from this DII');
  });
}

function checkResponseKey(key: string): string {
  let length = 0;
  try {
    ({ length } = fromB64(key));
  } catch {
    // It is not base64: the length stays 0.
  }
  if (length !== 32)
    throw new RangeError(`--response-key: expected base64 of 32 bytes, got a string of ${key.length} characters`);
  return key;
}

/** With --response-key, the argument is the refresh token; otherwise it is the file of a token set. */
async function readRefreshable(argument: string, key: string | undefined, io: Io): Promise<Refreshable> {
  if (key !== undefined) {
    warnAboutSecret('--response-key', io);
    return { refreshToken: argument, responseKeyB64: checkResponseKey(key) };
  }
  const answer = await readAnswer(argument, io);
  if (answer !== 'optout') return answer;
  throw new RangeError(`${shownPath(argument)}: expected a token set, got the answer for an opted-out user`);
}

export function refreshCommand(io: Io): Command {
  return serviceCommand('refresh', 'exchange a refresh token for a newer token set', JSON_HELP)
    .argument(
      '<file>',
      'a token set as printed by generate, or - for standard input; with --response-key, a refresh token',
    )
    .option('--response-key <key>', 'the key that came with the refresh token, base64 of 32 bytes')
    .action(async (argument: string, flags: ServiceOptions & { readonly responseKey?: string }) => {
      const client = clientOf(flags, io);
      const tokens = await readRefreshable(argument, flags.responseKey, io);
      print(answerOf(await client.refresh(tokens)), flags, io);
    });
}

export function optOutCommand(io: Io): Command {
  return addDiiOptions(serviceCommand('optout', 'record that a user has opted out (role OPTOUT)', JSON_HELP)).action(
    async (argument: string | undefined, flags: ServiceOptions & DiiOptions) => {
      const dii = await readDii(argument, flags, io);
      await clientOf(flags, io).optOut(dii);
      print({ status: 'success' }, flags, io);
    },
  );
}

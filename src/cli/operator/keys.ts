/** The command `keys`: lists, announces and retires key generations of an operator, in its database. */

import { Command, InvalidArgumentError } from 'commander';
import type { KeyGeneration } from '../../operator/index.ts';
import { parseNumber } from '../input/options.ts';
import type { Io } from '../io.ts';
import { warn } from '../output/style.ts';
import { addDatabaseOptions, administer, formatTime, type OperatorDatabaseOptions, printRows } from './database.ts';

const DAY_SECONDS = 86_400;
const [MIN_SECONDS, MAX_SECONDS] = [5, 366 * DAY_SECONDS];
/** Bidders' libraries read the keys about once an hour. */
const SHORT_SECONDS = 3600;

function parseDelay(text: string): number {
  const seconds = parseNumber(text);
  if (seconds >= MIN_SECONDS && seconds <= MAX_SECONDS) return seconds;
  throw new InvalidArgumentError(`expected from ${MIN_SECONDS} to ${MAX_SECONDS} s`);
}

function printKeys(keys: readonly KeyGeneration[], flags: OperatorDatabaseOptions, io: Io): void {
  printRows(
    keys,
    ['generation', 'state', 'encrypts from', 'valid until', 'retired'],
    ({ generation, state, activatesAt, retiredAt, endsAt }) => [
      `${generation}`,
      state,
      formatTime(activatesAt),
      formatTime(endsAt),
      formatTime(retiredAt),
    ],
    flags,
    io,
  );
}

function listCommand(io: Io): Command {
  return addDatabaseOptions(new Command('list').description('list the key generations')).action(
    async (flags: OperatorDatabaseOptions) =>
      administer(flags, io, async ({ keys }) => printKeys(await keys.list(), flags, io)),
  );
}

function rotateCommand(io: Io): Command {
  return addDatabaseOptions(new Command('rotate').description('announce the next key generation'))
    .option(
      '--in <seconds>',
      `time until it starts to encrypt, ${MIN_SECONDS} to ${MAX_SECONDS} (366 days)`,
      parseDelay,
      DAY_SECONDS,
    )
    .action(async (flags: OperatorDatabaseOptions & { readonly in: number }) =>
      administer(flags, io, async ({ keys }) => {
        const next = await keys.rotate(flags.in * 1000);
        if (flags.in < SHORT_SECONDS)
          warn('bidders that read the keys once an hour cannot decrypt the first tokens of this generation', io);
        printKeys([next], flags, io);
      }),
    );
}

function retireCommand(io: Io): Command {
  return addDatabaseOptions(
    new Command('retire').description('retire a key generation: its tokens can no longer be decrypted'),
  )
    .argument('<generation>', 'its number', parseNumber)
    .option('--force', 'retire it even if tokens under it may still be valid; they become invalid')
    .action(async (generation: number, flags: OperatorDatabaseOptions & { readonly force?: boolean }) =>
      administer(flags, io, async ({ keys }) =>
        printKeys([await keys.retire(generation, flags.force === true)], flags, io),
      ),
    );
}

export function keysCommand(io: Io): Command {
  const keys = new Command('keys').description("list, rotate or retire an operator's token keys");
  for (const create of [listCommand, rotateCommand, retireCommand]) keys.addCommand(create(io));
  return keys;
}

/**
 * The verbs about raw IDs that are stored already: `buckets`, `optouts`. Both print CSV, or JSON for machines.
 */

import { type Command, InvalidArgumentError } from 'commander';
import type { Io } from './io.ts';
import { type RowFlags, withRows } from './row-flags.ts';
import { clientOf, print, type ServiceFlags, serviceVerb } from './service.ts';

interface BucketsFlags extends ServiceFlags {
  readonly since: number;
}

const DATE_TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/;

/** An instant of a command line, epoch ms; UTC where it names no zone, as everywhere at the service. */
const instant = (text: string): number => {
  if (/^\d{13}$/.test(text)) return Number(text);
  const found = DATE_TIME.exec(text);
  const at = found ? Date.parse(text.includes('T') && !found[1] ? `${text}Z` : text) : Number.NaN;
  if (Number.isNaN(at))
    throw new InvalidArgumentError('expected YYYY-MM-DD[Thh:mm[:ss]] in UTC, or epoch milliseconds');
  return at;
};

/** The verb `buckets`. */
export function bucketsCommand(io: Io): Command {
  return serviceVerb('buckets', 'list the salt buckets that have rotated, for version 2 (role MAPPER)', 'print JSON')
    .requiredOption('--since <instant>', 'rotated at or after it: UTC date-time, or epoch milliseconds', instant)
    .action(async (flags: BucketsFlags) => {
      const answer = await clientOf(flags, io).rotatedBuckets(flags.since);
      if (flags.json) return print(answer, flags, io);
      const { csvLine, instantText } = await import('./csv.ts');
      io.out('bucketId,rotatedAt');
      // There are a million.
      for (const { bucketId, rotatedAt } of answer.buckets) {
        io.out(csvLine([bucketId, instantText(rotatedAt)]));
        await io.drained();
      }
      io.err(`${answer.buckets.length} rotated; next time: --since ${new Date(answer.answeredAt).toISOString()}`);
    });
}

/** The verb `optouts`. */
export function optOutsCommand(io: Io): Command {
  return withRows(
    serviceVerb(
      'optouts',
      'list those of the raw IDs whose users have opted out (role MAPPER)',
      'print JSON lines',
    ).argument('<file>', 'CSV, or one raw ID a line; - for standard input'),
  ).action(async (file: string, flags: RowFlags & ServiceFlags) =>
    (await import('./opt-out-status.ts')).optOutStatus(file, flags, io),
  );
}

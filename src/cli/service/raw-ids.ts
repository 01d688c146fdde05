/** The commands for stored raw IDs: `buckets` and `optouts`. Both print CSV, or JSON with `--json`. */

import { type Command, InvalidArgumentError } from 'commander';
import { addRowOptions, type RowOptions } from '../input/options.ts';
import type { Io } from '../io.ts';
import { clientOf, print, type ServiceOptions, serviceCommand } from './service-options.ts';

const DATE_TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/;

/** Parse an instant to epoch ms. Without a zone it is in UTC, as in the service's date-times. */
function parseInstant(text: string): number {
  if (/^\d{13}$/.test(text)) return Number(text);
  const found = DATE_TIME.exec(text);
  const at = found ? Date.parse(text.includes('T') && !found[1] ? `${text}Z` : text) : Number.NaN;
  const date = text.slice(0, 10);
  // `Date.parse` reads 30 February as 2 March.
  if (Number.isNaN(at) || new Date(date).toISOString().slice(0, 10) !== date)
    throw new InvalidArgumentError('expected YYYY-MM-DD[Thh:mm[:ss]] in UTC, or epoch milliseconds');
  return at;
}

export function bucketsCommand(io: Io): Command {
  return serviceCommand(
    'buckets',
    'list the salt buckets that have rotated, for mapping version 2 (role MAPPER)',
    'print JSON',
  )
    .requiredOption(
      '--since <instant>',
      'list buckets rotated at or after this instant: UTC date-time, or epoch milliseconds',
      parseInstant,
    )
    .action(async (flags: ServiceOptions & { readonly since: number }) => {
      const answer = await clientOf(flags, io).rotatedBuckets(flags.since);
      if (flags.json) return print(answer, flags, io);
      const { csvLine, formatInstant } = await import('../output/csv-line.ts');
      io.out('bucketId,rotatedAt');
      // The list may contain a million buckets.
      for (const { bucketId, rotatedAt } of answer.buckets) {
        io.out(csvLine([bucketId, formatInstant(rotatedAt)]));
        await io.flushed();
      }
      io.err(
        `${answer.buckets.length} rotated; for the next call: --since ${new Date(answer.answeredAt).toISOString()}`,
      );
    });
}

export function optOutsCommand(io: Io): Command {
  return addRowOptions(
    serviceCommand(
      'optouts',
      'list the raw IDs whose users have opted out (role MAPPER, SHARER or ID_READER)',
      'print JSON lines',
    ).argument('<file>', 'CSV, or one raw ID per line; - for standard input'),
  ).action(async (file: string, flags: RowOptions & ServiceOptions) =>
    (await import('./opt-out-status.ts')).optOutStatus(file, flags, io),
  );
}

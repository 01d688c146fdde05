/**
 * The verbs about raw IDs that are stored already: `buckets`, `optouts`. Both print CSV, or JSON for machines.
 */

import { type Command, InvalidArgumentError } from 'commander';
import { linesOf } from './input.ts';
import type { Io } from './io.ts';
import { clientOf, print, type ServiceFlags, serviceVerb } from './service.ts';

interface BucketsFlags extends ServiceFlags {
  readonly since: number;
}

// Instants in CSV are for people too.
const csv = (text: string, at: number): string =>
  `${/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text},${new Date(at).toISOString()}`;

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
export const bucketsCommand = (io: Io): Command =>
  serviceVerb('buckets', 'list the salt buckets that have rotated, for version 2 (role MAPPER)', 'print JSON')
    .requiredOption('--since <instant>', 'rotated at or after it: UTC date-time, or epoch milliseconds', instant)
    .action(async (flags: BucketsFlags) => {
      const answer = await clientOf(flags, io).rotatedBuckets(flags.since);
      if (flags.json) return print(answer, flags, io);
      io.out('bucketId,rotatedAt');
      // There are a million.
      for (const { bucketId, rotatedAt } of answer.buckets) {
        io.out(csv(bucketId, rotatedAt));
        await io.drained();
      }
      io.err(`${answer.buckets.length} rotated; next time: --since ${new Date(answer.answeredAt).toISOString()}`);
    });

async function* rawIdsOf(file: string, io: Io, count: () => void): AsyncGenerator<string, void, undefined> {
  for await (const [line, number] of linesOf(file, io)) {
    // An address that got into the wrong file must not be sent.
    if (!/^[\w+/=-]{1,256}$/.test(line)) throw new RangeError(`line ${number}: expected a raw ID, got other text`);
    count();
    yield line;
  }
}

/** The verb `optouts`. */
export const optOutsCommand = (io: Io): Command =>
  serviceVerb('optouts', 'list those of the raw IDs whose users have opted out (role MAPPER)', 'print JSON lines')
    .argument('<file>', 'raw IDs, one a line; - for standard input')
    .action(async (file: string, flags: ServiceFlags) => {
      let asked = 0;
      let found = 0;
      const rawIds = rawIdsOf(file, io, () => {
        asked++;
      });
      const results = clientOf(flags, io).optOutStatus(rawIds);
      if (!flags.json) io.out('rawId,optedOutAt');
      for await (const batch of results.batches()) {
        found += batch.length;
        for (const optedOut of batch)
          io.out(flags.json ? JSON.stringify(optedOut) : csv(optedOut.rawId, optedOut.optedOutAt));
        await io.drained();
      }
      if (!flags.json) io.err(`${found} of ${asked} have opted out`);
    });

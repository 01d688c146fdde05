/**
 * `tessera map FILE`: maps every row of a file, and writes invalid rows to another file.
 *
 * `dii-rows.ts` hashes the rows, so that no address goes any further. The folder `mapping` maps them and continues interrupted
 * runs.
 */

import type { Dii } from '../../server/index.ts';
import { openInput } from '../input.ts';
import type { Io } from '../io.ts';
import { type DiiRowOptions, type InvalidRow, openDiiRows } from './dii-rows.ts';
import { checkRejects, createRejects, defaultRejectsPath, type Rejects } from './rejects.ts';
import { CONTINUES, type Job, type MapOptions, runJob } from './run-job.ts';

/** The options for the file. */
export interface MapFileOptions extends DiiRowOptions {
  readonly rejects?: string;
}

/** Create the error for a file without a valid row. Takes the first of its rows, and the column, from 0. */
const noValidRow = (name: string, count: number, { line, fields, reason }: InvalidRow, index: number): RangeError => {
  const [rows, columns] = [`${count} ${count === 1 ? 'row' : 'rows'}`, fields.length === 1 ? 'column' : 'columns'];
  return new RangeError(
    `${name}: expected DII in column ${index + 1}, got none in ${rows}; line ${line}, read as ${fields.length} ${columns}: ${reason}; check --delimiter, --column and --type`,
  );
};

const prepareJob = async (
  file: string,
  options: MapFileOptions & MapOptions,
  io: Io,
  signal: AbortSignal,
): Promise<Job> => {
  const input = await openInput(file, io, signal);
  const { header, index, fault, all } = await openDiiRows(input, options);
  const path = options.rejects ?? defaultRejectsPath(file, { isRegularFile: input.totalBytes !== undefined });
  await checkRejects(path, file === '-' ? undefined : file);
  let rejects: Rejects | undefined;
  let count = 0;
  let valid = 0;
  let firstInvalid: InvalidRow | undefined;
  let bytesPerItem = 0;
  async function* dii(): AsyncGenerator<Dii, void, undefined> {
    for await (const some of all) {
      const { readBytes } = input;
      for (const one of some) {
        count++;
        if ('reason' in one) {
          firstInvalid ??= one;
          await rejects!.add(one);
        } else {
          valid++;
          yield one;
        }
      }
      bytesPerItem = readBytes / (valid || 1);
    }
  }
  return {
    probed: options.v2 ? 'mapIdentitiesV2' : 'mapIdentities',
    open: async () => {
      rejects = await createRejects(path, header);
    },
    run: (mappings, callbacks) =>
      mappings.map(dii(), {
        ...callbacks,
        // Called for rows that the service rejects. Their line is no longer known.
        onInvalid: ({ dii: { emailHash, phoneHash }, reason }) => {
          const fields = Array.from({ length: Math.max(header?.length ?? 0, index + 1) }, () => '');
          return rejects!.add({ line: undefined, reason, fields: fields.with(index, emailHash ?? phoneHash ?? '') });
        },
      }),
    // Reading is ahead of the answers, so the bytes of the answered rows are estimated.
    progressOf: ({ kept, mapped, optedOut, invalid }) => {
      const answered = kept + mapped + optedOut + invalid;
      return { rows: answered, done: answered * bytesPerItem, total: input.totalBytes };
    },
    countsOf: ({ mapped, optedOut, kept }) => ({ rows: count, mapped, optedOut, kept, rejected: rejects?.count ?? 0 }),
    file: { name: 'rejects', path: () => (rejects?.count ? path : undefined) },
    assertUseful: () => {
      if (fault) throw new RangeError(fault);
      if (valid === 0 && firstInvalid) throw noValidRow(input.name, count, firstInvalid, index);
    },
    resumeHint: CONTINUES,
    close: async () => rejects?.close(),
  };
};

/** Map a file. */
export function mapFile(file: string, options: MapFileOptions & MapOptions, io: Io): Promise<void> {
  return runJob(options, io, (signal) => prepareJob(file, options, io, signal));
}

/**
 * `tessera map FILE`: every row of a file mapped, and the bad ones written down.
 *
 * The rows are hashed here, so that no address goes further. Before: `rows.ts`, `dii-rows.ts`. The mapping itself,
 * and going on where it was, is the room `mapping`.
 */

import type { Dii } from '../server/index.ts';
import { type DiiFlags, openDiiRows } from './dii-rows.ts';
import { inputOf } from './input.ts';
import type { Io } from './io.ts';
import { type Job, type MapFlags, runJob } from './map-job.ts';
import { createRejects, rejectsBeside } from './rejects.ts';

/** The options about the file. */
export interface FileFlags extends DiiFlags {
  readonly rejects?: string;
}

const jobOf = async (file: string, flags: FileFlags, io: Io, signal: AbortSignal): Promise<Job> => {
  const input = await inputOf(file, io, signal);
  const { header, index, all } = await openDiiRows(input, flags);
  const source = file === '-' ? undefined : file;
  const rejects = await createRejects(flags.rejects ?? rejectsBeside(file), source, header);
  let count = 0;
  let given = 0;
  let bytesPerItem = 0;
  async function* dii(): AsyncGenerator<Dii, void, undefined> {
    for await (const some of all) {
      signal.throwIfAborted();
      const { readBytes } = input;
      for (const one of some) {
        count++;
        if ('reason' in one) await rejects.add(one);
        else {
          given++;
          yield one;
        }
      }
      bytesPerItem = readBytes / (given || 1);
    }
  }
  return {
    run: (mappings, options) =>
      mappings.map(dii(), {
        ...options,
        // Of what was refused, the place is not known any more.
        onInvalid: ({ dii: { emailHash, phoneHash }, reason }) => {
          const fields: string[] = Array(Math.max(header?.length ?? 0, index + 1)).fill('');
          fields[index] = emailHash ?? phoneHash ?? '';
          return rejects.add({ line: undefined, reason, fields });
        },
      }),
    // Rows are read ahead of the answers.
    place: ({ kept, mapped, optedOut, invalid }) => {
      const settled = kept + mapped + optedOut + invalid;
      return { rows: settled, done: settled * bytesPerItem, of: input.totalBytes };
    },
    told: ({ mapped, optedOut, kept }) => ({ rows: count, mapped, optedOut, kept, rejected: rejects.count }),
    file: { name: 'rejects', path: () => (rejects.count > 0 ? rejects.path : undefined) },
    close: () => rejects.close(),
  };
};

/** Map a file. */
export function mapFile(file: string, flags: FileFlags & MapFlags, io: Io): Promise<void> {
  return runJob(flags, io, (signal) => jobOf(file, flags, io, signal));
}

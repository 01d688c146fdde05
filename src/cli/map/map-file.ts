/** `tessera map FILE`: maps every row of a file, hashed by `dii-rows.ts`, and writes invalid rows to another file. */

import type { Dii } from '../../server/index.ts';
import { type DiiRowOptions, type DiiRows, type InvalidRow, noValidRow, openDiiRows } from '../input/dii-rows.ts';
import { type Input, openInput } from '../input/input.ts';
import type { Io } from '../io.ts';
import { checkRejects, createRejects, defaultRejectsPath, type Rejects } from './rejects.ts';
import { report } from './report.ts';
import { beginJob, type MapOptions, probe, runJob } from './run-job.ts';

export interface MapFileOptions extends MapOptions, DiiRowOptions {
  readonly rejects?: string;
}

interface ReadRows {
  count: number;
  valid: number;
  firstInvalid: InvalidRow | undefined;
  bytesPerValid: number;
}

/** The DII of the valid rows. The others go to the file of invalid rows. */
async function* validIn(rows: DiiRows, input: Input, rejects: Rejects, read: ReadRows): AsyncIterable<Dii> {
  for await (const some of rows.all) {
    const { readBytes } = input;
    for (const one of some) {
      read.count++;
      if ('reason' in one) {
        read.firstInvalid ??= one;
        await rejects.add(one);
      } else {
        read.valid++;
        yield one;
      }
    }
    read.bytesPerValid = readBytes / (read.valid || 1);
  }
}

export async function mapFile(file: string, options: MapFileOptions, io: Io, signal: AbortSignal): Promise<void> {
  const begun = beginJob(options, io, signal);
  const input = await openInput(file, io, signal);
  const rows = await openDiiRows(input, options);
  const { header, index, fault } = rows;
  const path = options.rejects ?? defaultRejectsPath(file, { isRegularFile: input.totalBytes !== undefined });
  await checkRejects(path, file === '-' ? undefined : file);
  await probe(begun);
  const rejects = await createRejects(path, header);
  const job = { ...begun, rejects };
  const read: ReadRows = { count: 0, valid: 0, firstInvalid: undefined, bytesPerValid: 0 };
  const outcome = await runJob(job, (mappings, show) =>
    mappings.map(validIn(rows, input, rejects, read), {
      signal,
      onProgress: (progress) => {
        const answered = progress.kept + progress.mapped + progress.optedOut + progress.invalid;
        // Reading is ahead of the answers, so the bytes of the answered rows are estimated.
        show(progress, answered, answered * read.bytesPerValid, input.totalBytes);
      },
      // Called for rows that the service rejects. Their line is no longer known.
      onInvalid: ({ dii: { emailHash, phoneHash }, reason }) => {
        const fields = Array.from({ length: Math.max(header?.length ?? 0, index + 1) }, () => '');
        return rejects.add({ line: undefined, reason, fields: fields.with(index, emailHash ?? phoneHash ?? '') });
      },
    }),
  );
  const { mapped, optedOut, kept } = outcome.summary;
  report(job, outcome, { rows: read.count, mapped, optedOut, kept, rejected: rejects.count });
  if (fault) throw new RangeError(fault);
  if (read.valid === 0 && read.firstInvalid) throw noValidRow(input.name, read.count, read.firstInvalid, index);
}

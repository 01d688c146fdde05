/**
 * `tessera map FILE --out FILE`: writes every row, in order, when all before it are written. Memory holds the batches in flight.
 */

import { inOrder, MAX_ITEMS } from '../../server/bulk/batch.ts';
import { createSourceReader } from '../../server/bulk/source-reader.ts';
import type { Client } from '../../server/index.ts';
import { openInput } from '../input/input.ts';
import { shownPath } from '../input/paths.ts';
import type { Io } from '../io.ts';
import { createProgressLine } from '../output/progress.ts';
import { type Table, type TableRow, valuesOf } from './answered-rows.ts';
import type { CsvTableOptions } from './csv-table.ts';
import { checkPrivateFile, createPrivateFile, partialOf } from './private-file.ts';
import { report } from './report.ts';
import { beginJob, type MapOptions } from './run-job.ts';
import { unwrittenRows } from './written-rows.ts';

export interface MapTableOptions extends MapOptions, CsvTableOptions {
  readonly out?: string;
  readonly jsonl?: boolean;
  readonly resume?: boolean;
}

/** Split rows into batches for one request each. An incomplete batch of a slow input is passed on after a second. */
async function* batchesOf(
  pieces: AsyncIterable<readonly TableRow[]>,
): AsyncGenerator<readonly TableRow[], void, undefined> {
  const reader = createSourceReader(pieces);
  const waiting: TableRow[] = [];
  let isEnded = false;
  try {
    while (!isEnded || waiting.length > 0) {
      while (waiting.length < MAX_ITEMS && !isEnded) {
        const step = await reader.next();
        if (!step) break;
        isEnded = step.done === true;
        if (!step.done) for (const row of step.value) waiting.push(row);
      }
      if (waiting.length > 0) yield waiting.splice(0, MAX_ITEMS);
      reader.startBatch();
    }
  } finally {
    await reader.close();
  }
}

async function linesOf(
  client: Client,
  batch: readonly TableRow[],
  { endOf }: Table,
  version: 2 | 3,
  signal: AbortSignal,
) {
  const results = version === 2 ? client.mapIdentitiesV2(batch, { signal }) : client.mapIdentities(batch, { signal });
  const count = { mapped: 0, optout: 0, unmapped: 0 };
  let text = '';
  for await (const some of results.batches())
    for (const result of some) {
      const { start, fault } = result.dii;
      count[result.status]++;
      text += start + endOf(valuesOf(result, version, fault));
    }
  return { text, read: batch.length, mapped: count.mapped, optedOut: count.optout, invalid: count.unmapped };
}

/** As for stored mappings. */
const DEFAULT_WORKERS = 4;

interface Output {
  write(text: string): Promise<void>;
  /** `partial`: a later run may continue. False: delete what was written. */
  close(keep: boolean | 'partial'): Promise<void>;
}

function pipeTo(io: Io): Output {
  return {
    write: (text) => {
      io.data(text);
      return io.flushed();
    },
    close: async () => {},
  };
}

function checkOut({ out, resume, jsonl, delimiter, spreadsheet }: MapTableOptions, { outIsTerminal }: Io): string {
  if (!out) throw new RangeError('--out: expected a file, or - for standard output, got an empty name');
  if (out === '-' && resume) throw new RangeError('--resume: expected a file in --out, got standard output');
  if (out === '-' && outIsTerminal)
    throw new RangeError('--out: expected a file or a pipe, got a terminal, which must not show DII');
  if (jsonl && spreadsheet) throw new RangeError('--spreadsheet: expected CSV, got --jsonl');
  if (jsonl && delimiter !== undefined) throw new RangeError('--delimiter: expected CSV, got --jsonl');
  return out;
}

async function failureOf(work: Promise<void>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error) => error ?? new Error('map: expected an error, got none'),
  );
}

async function openTable(file: string, options: MapTableOptions, io: Io, signal: AbortSignal) {
  // The columns of the input are in the output, so no byte of them may be lost.
  const input = await openInput(file, io, signal, true);
  const version = options.v2 ? 2 : 3;
  // Loaded on demand: the two read different packages.
  const table = options.jsonl
    ? (await import('./json-table.ts')).openJsonTable(input, options, version)
    : await (await import('./csv-table.ts')).openCsvTable(input, options, version);
  return { input, table };
}

/** Open the output, and skip the rows that it contains already. */
async function openOutput(file: string, out: string, table: Table, isResumed: boolean, io: Io) {
  if (out === '-') return { output: pipeTo(io), bytes: 0, count: 0, rows: table.rows };
  // The name of the unfinished file, too: the file of an earlier run is replaced.
  for (const path of [out, partialOf(out)]) await checkPrivateFile('--out', path, file === '-' ? undefined : file);
  const start = isResumed ? await unwrittenRows(partialOf(out), table) : { bytes: 0, count: 0, rows: table.rows };
  const continuesAt = isResumed ? start.bytes : undefined;
  return {
    output: await createPrivateFile('--out', out, { isReplacedAtEnd: true, isContinuable: true, continuesAt }),
    ...start,
  };
}

export async function mapTable(file: string, options: MapTableOptions, io: Io, signal: AbortSignal): Promise<void> {
  const out = checkOut(options, io);
  const version = options.v2 ? 2 : 3;
  const job = beginJob(options, out === '-' ? { ...io, out: io.err, outIsTerminal: false } : io, signal);
  const { input, table } = await openTable(file, options, io, signal);
  const { output, bytes, count, rows } = await openOutput(file, out, table, options.resume === true, io);
  const line = createProgressLine('rows', io);
  const counts = { rows: count, mapped: 0, optedOut: 0, invalid: 0 };
  const work = async (): Promise<void> => {
    if (table.header && bytes === 0) await output.write(table.header);
    const answered = inOrder(batchesOf(rows), options.workers ?? DEFAULT_WORKERS, signal, async (batch, inner) => {
      const lines = await linesOf(job.client, batch, table, version, inner);
      return () => lines;
    });
    for await (const { text, read, mapped, optedOut, invalid } of answered) {
      await output.write(text);
      counts.rows += read;
      counts.mapped += mapped;
      counts.optedOut += optedOut;
      counts.invalid += invalid;
      line.show(counts.rows, input.readBytes, input.totalBytes);
    }
  };
  let failure = await failureOf(work());
  const fault = failure === undefined ? table.faultOfAll() : undefined;
  line.stop();
  const partial = counts.rows > 0 && 'partial';
  const closeFailure = await failureOf(output.close(failure === undefined ? !fault : partial));
  failure ??= closeFailure;
  const hint = `the rows mapped so far are in ${shownPath(partialOf(out))}: run the same command with --resume to continue`;
  const { rows: read, ...answers } = counts;
  const shown = { rows: read, ...(options.resume && { written: count }), ...answers };
  const outcome = { summary: { ...answers, read, kept: count }, failure, ms: performance.now() - job.startedAt };
  report(job, outcome, shown, out !== '-' && partial ? hint : null);
  if (fault) throw fault;
}

/// <reference types="node" />
/** `tessera map` without a file: the jobs on stored mappings. */

import { CommanderError } from 'commander';
import { locationKind } from '../../database/index.ts';
import type { Mapping, MappingClient, Mappings } from '../../mapping/index.ts';
import { type DiiRowOptions, openDiiRows, parseDii } from '../input/dii-rows.ts';
import { checkExisting } from '../input/existing-database.ts';
import { openInput } from '../input/input.ts';
import { shownPath } from '../input/paths.ts';
import type { Io } from '../io.ts';
import { csvLine, formatInstant } from '../output/csv-line.ts';
import { createProgressLine, formatNumber } from '../output/progress.ts';
import { warn } from '../output/style.ts';
import { print } from '../service/service-options.ts';
import { createPrivateFile } from './private-file.ts';
import { report, storedHint } from './report.ts';
import { beginJob, type MapOptions, openMappings, probe, runJob } from './run-job.ts';

function checkDatabase({ database }: MapOptions): Promise<void> {
  return checkExisting(database, 'map a file first');
}

export async function mapDue(options: MapOptions, io: Io, signal: AbortSignal): Promise<void> {
  const job = beginJob(options, io, signal);
  await checkDatabase(options);
  await probe(job);
  const outcome = await runJob(job, (mappings, show) =>
    mappings.mapDue({
      signal,
      onProgress: (progress) => show(progress, progress.mapped + progress.optedOut + progress.invalid),
    }),
  );
  const { mapped, optedOut, invalid } = outcome.summary;
  report(job, outcome, { mapped, optedOut, invalid });
}

/** `--check-opt-outs`: remove the raw IDs of users who have opted out. Sends one request at a time, and therefore no probe. */
export async function checkOptOuts(options: MapOptions, io: Io, signal: AbortSignal): Promise<void> {
  const job = beginJob(options, io, signal);
  await checkDatabase(options);
  const outcome = await runJob(job, (mappings, show) =>
    mappings.checkOptOuts({ signal, onProgress: (progress) => show(progress, progress.read) }),
  );
  const { read: asked, optedOut } = outcome.summary;
  const hint = 'the opt-outs found so far are stored: run the same command again to check all raw IDs';
  report(job, outcome, { asked, optedOut }, storedHint(job, outcome, hint));
}

function sendsNothing(): never {
  throw new Error('map: expected no request for this job, got one');
}

const NO_CLIENT: MappingClient = {
  mapIdentities: sendsNothing,
  mapIdentitiesV2: sendsNothing,
  rotatedBuckets: sendsNothing,
  optOutStatus: sendsNothing,
};

/** Jobs without requests need neither an address nor a key. */
async function withMappings(options: MapOptions, work: (mappings: Mappings) => Promise<void>): Promise<void> {
  await checkDatabase(options);
  const mappings = await openMappings(NO_CLIENT, options);
  try {
    await work(mappings);
  } finally {
    await mappings.close();
  }
}

export function countStored(options: MapOptions, io: Io): Promise<void> {
  return withMappings(options, async (mappings) => print(await mappings.counts(), options, io));
}

const COLUMNS = 'type,hash,state,rawId,previousRawId,remapAt,bucketId,answeredAt';

function csvOf(mapping: Mapping, isForSpreadsheet: boolean): string {
  const { type, hash, state, rawId, previousRawId, bucketId } = mapping;
  const [remapAt, answeredAt] = [mapping.remapAt, mapping.answeredAt].map(formatInstant);
  return csvLine([type, hash, state, rawId, previousRawId, remapAt, bucketId, answeredAt], { isForSpreadsheet });
}

export async function exportStored(
  path: string,
  options: MapOptions & { readonly spreadsheet?: boolean },
  io: Io,
  signal: AbortSignal,
): Promise<void> {
  const { spreadsheet = false } = options;
  if (spreadsheet && options.json) throw new RangeError('--spreadsheet: expected CSV, got --json');
  if (path === '') throw new RangeError('--export: expected a file, or - for standard output, got an empty name');
  if (path === '-' && io.outIsTerminal)
    throw new RangeError('--export: expected a file or a pipe, got a terminal, which must not show hashes');
  await withMappings(options, async (mappings) => {
    const file = path === '-' ? undefined : await createPrivateFile('--export', path, { isReplacedAtEnd: true });
    const line = createProgressLine('mappings', io);
    const write = async (text: string): Promise<void> => {
      if (file) return file.write(`${text}\n`);
      io.out(text);
      await io.flushed();
    };
    let count = 0;
    let isWhole = false;
    try {
      if (!options.json) await write(COLUMNS);
      for await (const one of mappings.entries()) {
        signal.throwIfAborted();
        await write(options.json ? JSON.stringify(one) : csvOf(one, spreadsheet));
        line.show(++count);
      }
      isWhole = true;
    } finally {
      line.stop();
      // A partial file would contain hashes.
      await file?.close(isWhole);
    }
    io.err(`${formatNumber(count)} mappings`);
  });
}

/** `--forget DII`: delete the mapping of one person, or of all in standard input. */
export async function forget(dii: string, options: MapOptions & DiiRowOptions, io: Io): Promise<void> {
  if (dii === '-') {
    const { fault, all } = await openDiiRows(await openInput('-', io), options);
    if (fault) warn(fault, io);
    return withMappings(options, async (mappings) => {
      let [forgotten, unknown, rejected] = [0, 0, 0];
      for await (const some of all)
        for (const one of some)
          if ('reason' in one) {
            rejected++;
            io.err(`line ${one.line}: ${one.reason}`);
          } else if (await mappings.forget(one)) forgotten++;
          else unknown++;
      print({ forgotten, unknown, rejected }, options, io);
      if (rejected) throw new RangeError(`--forget: expected DII on every line, got ${rejected} without`);
    });
  }
  const found = parseDii(dii, options.type);
  if (typeof found === 'string') throw new RangeError(`--forget: ${found}`);
  await withMappings(options, async (mappings) => {
    const forgotten = (await mappings.forget(found)) ? 1 : 0;
    print({ forgotten, unknown: 1 - forgotten, rejected: 0 }, options, io);
  });
}

/** A location may contain a password. */
function shownLocation(database: string): string {
  return locationKind(database) === 'folder' ? shownPath(database) : `the database on ${new URL(database).host}`;
}

/** `--forget-all`: delete all mappings, after confirmation by a person or by `--yes`. */
export async function forgetAll(options: MapOptions & { readonly yes?: boolean }, io: Io): Promise<void> {
  if (!options.yes && !io.ask)
    throw new RangeError(
      `--forget-all: expected --yes, because there is no terminal for a confirmation; the command deletes all mappings in ${shownLocation(options.database)}`,
    );
  await withMappings(options, async (mappings) => {
    if (!options.yes) {
      const { mapped, optedOut, invalid } = await mappings.counts();
      const count = formatNumber(mapped + optedOut + invalid);
      if (!(await io.ask!(`Delete all ${count} mappings in ${shownLocation(options.database)}?`))) {
        io.err('nothing was deleted');
        throw new CommanderError(1, 'tessera.declined', 'nothing was deleted');
      }
    }
    print({ forgotten: await mappings.forgetAll() }, options, io);
  });
}

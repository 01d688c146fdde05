/// <reference types="node" />
/**
 * `tessera map` without a file: what is done with mappings that are stored already.
 */

import { existsSync } from 'node:fs';
import { placeOf } from '../database/place.ts';
import type { Mapping, MappingClient, Mappings } from '../mapping/index.ts';
import { csvLine, instantText } from './csv.ts';
import { type DiiFlags, diiIn, openDiiRows } from './dii-rows.ts';
import { inputOf } from './input.ts';
import type { Io } from './io.ts';
import { type MapFlags, openMappings, runJob } from './map-job.ts';
import { privateFile } from './private-file.ts';
import { grouped, startProgress } from './progress.ts';
import { print } from './service.ts';

// A folder with a slip in its name would be made, and nothing found in it.
const checkPlace = ({ database }: MapFlags): void => {
  if (placeOf(database) === 'folder' && !existsSync(database))
    throw new RangeError('--database: expected a folder with mappings, got one that is not there');
};

/** `--due`: map again what is due. */
export function mapDue(flags: MapFlags, io: Io): Promise<void> {
  return runJob(flags, io, async () => {
    checkPlace(flags);
    return {
      run: (mappings, options) => mappings.mapDue(options),
      place: ({ mapped, optedOut, invalid, total }) => {
        const done = mapped + optedOut + invalid;
        return { rows: done, done, of: total };
      },
      told: ({ mapped, optedOut, invalid }) => ({ mapped, optedOut, invalid }),
    };
  });
}

/** `--check-optouts`: take the raw IDs away of those who have opted out. */
export function checkOptOuts(flags: MapFlags, io: Io): Promise<void> {
  return runJob(flags, io, async () => {
    checkPlace(flags);
    return {
      run: (mappings, options) => mappings.checkOptOuts(options),
      place: ({ read, total }) => ({ rows: read, done: read, of: total }),
      told: ({ read, optedOut }) => ({ asked: read, optedOut }),
    };
  });
}

const asksNobody = (): never => {
  throw new Error('expected no question to the service here');
};
const NO_CLIENT: MappingClient = {
  mapIdentities: asksNobody,
  mapIdentitiesV2: asksNobody,
  rotatedBuckets: asksNobody,
  optOutStatus: asksNobody,
};

// What asks nobody needs no address and no key.
const withStored = async (flags: MapFlags, work: (mappings: Mappings) => Promise<void>): Promise<void> => {
  checkPlace(flags);
  const mappings = await openMappings(NO_CLIENT, flags);
  try {
    await work(mappings);
  } finally {
    await mappings.close();
  }
};

/** `--counts`: how many there are, by state. */
export function countStored(flags: MapFlags, io: Io): Promise<void> {
  return withStored(flags, async (mappings) => print(await mappings.counts(), flags, io));
}

const COLUMNS = 'type,hash,state,rawId,previousRawId,remapAt,bucketId,answeredAt';

const csvOf = ({ type, hash, state, rawId, previousRawId, remapAt, bucketId, answeredAt }: Mapping): string =>
  csvLine([type, hash, state, rawId, previousRawId, instantText(remapAt), bucketId, instantText(answeredAt)]);

/** `--export FILE`: all of them, as CSV or as JSON lines. */
export async function exportStored(path: string, flags: MapFlags, io: Io): Promise<void> {
  if (path === '-' && io.outIsTerminal)
    throw new RangeError('--export: expected a file, or a pipe: hashes are not shown on a terminal');
  await withStored(flags, async (mappings) => {
    const file = path === '-' ? undefined : await privateFile('--export', path);
    const line = startProgress('mappings', io);
    const write = async (text: string): Promise<void> => {
      if (file) return file.write(`${text}\n`);
      io.out(text);
      await io.drained();
    };
    let count = 0;
    try {
      if (!flags.json) await write(COLUMNS);
      for await (const one of mappings.entries()) {
        await write(flags.json ? JSON.stringify(one) : csvOf(one));
        line.show(++count);
      }
    } finally {
      line.stop();
      await file?.close();
    }
    io.err(`${grouped(count)} mappings`);
  });
}

/** `--forget DII`: delete what is stored of one person, or of all that standard input names. */
export async function forget(dii: string, flags: MapFlags & DiiFlags, io: Io): Promise<void> {
  if (dii === '-') {
    const { all } = await openDiiRows(await inputOf('-', io), flags);
    return withStored(flags, async (mappings) => {
      let [forgotten, unknown, rejected] = [0, 0, 0];
      for await (const some of all)
        for (const one of some)
          if ('reason' in one) {
            rejected++;
            io.err(`line ${one.line}: ${one.reason}`);
          } else if (await mappings.forget(one)) forgotten++;
          else unknown++;
      print({ forgotten, unknown, rejected }, flags, io);
      if (rejected) throw new RangeError(`expected DII on every line, got ${rejected} without`);
    });
  }
  const found = diiIn(dii, flags.type);
  if (typeof found === 'string') throw new RangeError(`--forget: ${found}`);
  await withStored(flags, async (mappings) => {
    const forgotten = (await mappings.forget(found)) ? 1 : 0;
    print({ forgotten, unknown: 1 - forgotten, rejected: 0 }, flags, io);
  });
}

/** `--forget-all`: delete everything. */
export function forgetAll(flags: MapFlags, io: Io): Promise<void> {
  return withStored(flags, async (mappings) => print({ forgotten: await mappings.forgetAll() }, flags, io));
}

/**
 * The cost of a daily run over stored mappings: the due run for 1 % of the mappings, compared with mapping all of them, in one
 * PGlite folder; and what the same costs on PostgreSQL. The service answers at once and runs in its own process: a slower one would
 * make the due run look better, since the requests, which both sides have in common, would weigh more.
 */

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../src/database/database.ts';
import { startPostgres } from '../test/database/postgres-server.ts';
import { figure, type Measurement, timed } from './measure.ts';
import { builtMapping, builtServer } from './support/built.ts';
import { start } from './support/child.ts';

/** On PostgreSQL. `TESSERA_BENCH_MAPPINGS=10000000 npm run bench due` takes some minutes. */
const ROWS = Number(process.env['TESSERA_BENCH_MAPPINGS'] ?? 300_000);
const PGLITE_ROWS = Math.min(ROWS, 1_000_000);
/** The service makes one row in a hundred due. */
const DUE_SHARE = 0.01;

interface Service {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly clientSecret: string;
}

function* source(rows: number): Generator<{ emailHash: string }> {
  const bytes = Buffer.alloc(32);
  for (let row = 0; row < rows; row++) {
    // In no order, like hashes.
    bytes.writeUInt32BE(Math.imul(row, 0x9e3779b1) >>> 0);
    bytes.writeUInt32BE(row, 4);
    yield { emailHash: bytes.toString('base64') };
  }
}

/** Map all, and then what is due. */
const run = async (service: Service, database: string, rows: number) => {
  const [{ createClient }, { createMappings }] = await Promise.all([builtServer(), builtMapping()]);
  const mappings = await createMappings({ client: createClient(service), database });
  try {
    const allMs = await timed(async () => assert.equal((await mappings.map(source(rows))).mapped, rows));
    const dueMs = await timed(async () => assert.equal((await mappings.mapDue()).mapped, rows * DUE_SHARE));
    const countsMs = await timed(() => mappings.counts());
    return { allMs, dueMs, countsMs };
  } finally {
    await mappings.close();
  }
};

const onPGlite = async (service: Service): Promise<Measurement[]> => {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-due-'));
  try {
    const { allMs, dueMs } = await run(service, folder, PGLITE_ROWS);
    return [
      {
        what: `due run for ${figure(PGLITE_ROWS * DUE_SHARE)} of ${figure(PGLITE_ROWS)} mappings, of the time of mapping all`,
        value: (dueMs / allMs) * 100,
        unit: '%',
        limit: { atMost: 3 },
        beside: `${figure(dueMs)} ms; all ${figure(allMs)} ms, ${figure((PGLITE_ROWS / allMs) * 1000)} rows/s`,
      },
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

/** The figures that docs/mapping/index.md states. */
const onPostgres = async (service: Service): Promise<Measurement[]> => {
  const postgres = await startPostgres('128MB');
  try {
    const { allMs, dueMs, countsMs } = await run(service, postgres.url('postgres'), ROWS);
    const { query } = await openDatabase(postgres.url('postgres'));
    const sizes = await query<{ name: string; bytes: number }>(
      `SELECT relname AS name, pg_relation_size(oid)::float8 AS bytes FROM pg_class
        WHERE oid = 'tessera_mappings'::regclass
        OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = 'tessera_mappings'::regclass)`,
    );
    const vacuumMs = await timed(() => query('VACUUM tessera_mappings'));
    const row = (what: string, value: number, unit: string): Measurement => ({
      what: `PostgreSQL with ${figure(ROWS)} mappings: ${what}`,
      value,
      unit,
    });
    return [
      row('mapping all', (ROWS / allMs) * 1000, 'rows/s'),
      row(`due run for ${figure(ROWS * DUE_SHARE)}`, dueMs, 'ms'),
      row('counts', countsMs, 'ms'),
      row('VACUUM after the due run', vacuumMs, 'ms'),
      ...sizes.map(({ name, bytes }) => row(name, bytes / ROWS, 'bytes a row')),
    ];
  } finally {
    await postgres.stop();
  }
};

export const measure = async (): Promise<Measurement[]> => {
  const { message: service, stop } = await start<Service>('due-service.ts');
  try {
    return [...(await onPGlite(service)), ...(await onPostgres(service))];
  } finally {
    stop();
  }
};

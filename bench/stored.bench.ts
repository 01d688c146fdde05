/**
 * The cost of storing: rows a second of stored mappings on PGlite and on PostgreSQL, compared with the server client alone,
 * which keeps nothing. Both go through the operator of `dist/` in its own process. Each run maps other people: none is known.
 */

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../test/database/postgres-server.ts';
import { compare, figure, type Measurement, timed } from './measure.ts';
import { builtMapping, builtServer } from './support/built.ts';
import { start } from './support/child.ts';

/** Rows of one run. `TESSERA_BENCH_ROWS=1000000 npm run bench stored` takes minutes. */
const ROWS = Number(process.env['TESSERA_BENCH_ROWS'] ?? 50_000);
/** A long run needs no repetition. */
const ROUNDS = ROWS >= 500_000 ? { rounds: 1, warmUp: 0 } : { rounds: 4, warmUp: 1 };

let run = 0;

/** Hashes of people that no other run has, in no order. */
function* people(): Generator<{ emailHash: string }> {
  const bytes = Buffer.alloc(32, ++run);
  for (let row = 0; row < ROWS; row++) {
    bytes.writeUInt32BE(Math.imul(row, 0x9e3779b1) >>> 0);
    bytes.writeUInt32BE(row, 4);
    yield { emailHash: bytes.toString('base64') };
  }
}

const rate = async (work: () => Promise<number>): Promise<number> => {
  const ms = await timed(async () => assert.equal(await work(), ROWS));
  return (ROWS / ms) * 1000;
};

export const measure = async (): Promise<Measurement[]> => {
  const service = await start<{ baseUrl: string; apiKey: string; clientSecret: string }>('mapping-operator.ts');
  const folder = await mkdtemp(join(tmpdir(), 'tessera-stored-'));
  const postgres = await startPostgres('128MB');
  const [{ createClient }, { createMappings }] = await Promise.all([builtServer(), builtMapping()]);
  const client = createClient(service.message);
  const alone = async () => {
    let mapped = 0;
    for await (const batch of client.mapIdentities(people()).batches()) mapped += batch.length;
    return mapped;
  };
  const measured: Measurement[] = [];
  try {
    for (const [name, database] of Object.entries({ PGlite: folder, PostgreSQL: postgres.url('postgres') })) {
      const mappings = await createMappings({ client, database });
      const { ours, peer, ratio } = await compare(
        ROUNDS,
        () => rate(async () => (await mappings.map(people())).mapped),
        () => rate(alone),
      );
      await mappings.close();
      measured.push({
        what: `stored mappings of ${figure(ROWS)} rows on ${name}, of the speed of the client alone`,
        value: ratio,
        unit: 'x',
        limit: { atLeast: 0.6 },
        beside: `${figure(ours)} rows/s; client ${figure(peer)}`,
      });
    }
    return measured;
  } finally {
    service.stop();
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
};

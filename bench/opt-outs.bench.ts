/**
 * The opt-outs that a node keeps in memory: bytes for each, the time of a look-up, and how long a node that starts reads them from
 * PostgreSQL. `TESSERA_BENCH_OPT_OUTS` is their number, 1,000,000 by default. It measures the sources: `dist/` does not export
 * the parts.
 */

import { openDatabase } from '../src/database/database.ts';
import { migrate } from '../src/database/index.ts';
import { createDigestSet } from '../src/operator/state/digest-set.ts';
import { createOptOutMemory } from '../src/operator/state/opt-out-memory.ts';
import { TABLES } from '../src/operator/state/tables.ts';
import { startPostgres } from '../test/database/postgres-server.ts';
import { figure, type Measurement, median } from './measure.ts';

const COUNT = Number(process.env.TESSERA_BENCH_OPT_OUTS ?? 1_000_000);
const LOOK_UPS = 1_000_000;
const ROUNDS = 7;
const INSERT_SIZE = 100_000;

const random = (length: number): Uint8Array => {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  return bytes;
};

const measureSet = (): { readonly bytesEach: number; readonly nanoseconds: number } => {
  const set = createDigestSet();
  const before = process.memoryUsage().arrayBuffers;
  for (let left = COUNT; left > 0; left -= INSERT_SIZE) {
    const some = random(8 * Math.min(left, INSERT_SIZE));
    for (let at = 0; at < some.length; at += 8) set.add(some, at);
  }
  const bytesEach = set.byteLength() / set.size();
  if (process.memoryUsage().arrayBuffers < before) throw new Error('expected the set to take memory');
  const asked = random(32 * LOOK_UPS);
  const users = Array.from({ length: LOOK_UPS }, (_, at) => asked.subarray(32 * at, 32 * at + 32));
  let hits = 0;
  const times = Array.from({ length: ROUNDS }, () => {
    const start = performance.now();
    for (const user of users) if (set.has(user)) hits++;
    return ((performance.now() - start) / LOOK_UPS) * 1e6;
  });
  if (hits > 0) throw new Error('expected no hit');
  return { bytesEach, nanoseconds: median(times) };
};

const measureLoad = async (): Promise<{ readonly seconds: number; readonly catchUpMs: number }> => {
  const server = await startPostgres();
  const database = await openDatabase(server.url('postgres'));
  await migrate(database, TABLES);
  for (let from = 0; from < COUNT; from += INSERT_SIZE)
    await database.query(
      `INSERT INTO tessera_opt_outs SELECT encode(sha256(n::text::bytea), 'base64'), 0, 0, 0
        FROM generate_series($1::bigint, $2::bigint) n`,
      [from + 1, Math.min(from + INSERT_SIZE, COUNT)],
    );
  await database.script('ANALYZE tessera_opt_outs');
  const start = performance.now();
  const memory = createOptOutMemory(database);
  while (!memory.isCurrent()) await new Promise((resolve) => setTimeout(resolve, 10));
  const seconds = (performance.now() - start) / 1000;
  if (memory.size() !== COUNT) throw new Error(`expected ${COUNT} opt-outs in memory, got ${memory.size()}`);
  const delays: number[] = [];
  for (let round = 0; round < 20; round++) {
    const size = memory.size();
    await database.query(
      `INSERT INTO tessera_opt_outs SELECT encode(sha256(('later ' || $1)::bytea), 'base64'), 0, 0, 0`,
      [`${round}`],
    );
    const acknowledgedAt = performance.now();
    while (memory.size() === size) await new Promise((resolve) => setImmediate(resolve));
    delays.push(performance.now() - acknowledgedAt);
  }
  await memory.close();
  await database.close();
  await server.stop();
  return { seconds, catchUpMs: median(delays) };
};

export const measure = async (): Promise<Measurement[]> => {
  const { bytesEach, nanoseconds } = measureSet();
  const { seconds, catchUpMs } = await measureLoad();
  const count = COUNT.toLocaleString('en');
  return [
    {
      what: `memory of one of ${count} opt-outs`,
      value: bytesEach,
      unit: 'bytes',
      limit: { atMost: 22 },
      beside: `${figure((bytesEach * COUNT) / 1e6)} MB in all`,
    },
    { what: 'look-up of a user who has not opted out', value: nanoseconds, unit: 'ns' },
    { what: `a start reads ${count} opt-outs from PostgreSQL`, value: seconds, unit: 's' },
    {
      what: 'an opt-out on another node is known, median of 20',
      value: catchUpMs,
      unit: 'ms after its acknowledgement',
    },
  ];
};

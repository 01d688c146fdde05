/**
 * The cost of a daily run over stored mappings: the due run for 1 % of the mappings, compared with mapping all of them, in one
 * PGlite folder. The service answers at once and runs in its own process: a slower one would make the due run look better,
 * since the requests, which both sides have in common, would weigh more.
 */

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { figure, type Measurement, timed } from './measure.ts';
import { builtMapping, builtServer } from './support/built.ts';
import { start } from './support/child.ts';

/** `TESSERA_BENCH_MAPPINGS=1000000 npm run bench due` takes some minutes. */
const ROWS = Number(process.env['TESSERA_BENCH_MAPPINGS'] ?? 300_000);
const DUE = ROWS / 100;

function* source(): Generator<{ emailHash: string }> {
  const bytes = Buffer.alloc(32);
  for (let row = 0; row < ROWS; row++) {
    // In no order, like hashes.
    bytes.writeUInt32BE(Math.imul(row, 0x9e3779b1) >>> 0);
    bytes.writeUInt32BE(row, 4);
    yield { emailHash: bytes.toString('base64') };
  }
}

export const measure = async (): Promise<Measurement[]> => {
  const { message: service, stop } = await start<{ baseUrl: string; apiKey: string; clientSecret: string }>(
    'due-service.ts',
  );
  const database = await mkdtemp(join(tmpdir(), 'tessera-due-'));
  try {
    const { createClient } = await builtServer();
    const { createMappings } = await builtMapping();
    const mappings = await createMappings({ client: createClient(service), database });
    const allMs = await timed(async () => assert.equal((await mappings.map(source())).mapped, ROWS));
    const dueMs = await timed(async () => assert.equal((await mappings.mapDue()).mapped, DUE));
    await mappings.close();
    return [
      {
        what: `due run for ${figure(DUE)} of ${figure(ROWS)} mappings, of the time of mapping all`,
        value: (dueMs / allMs) * 100,
        unit: '%',
        limit: { atMost: 3 },
        beside: `${figure(dueMs)} ms; all ${figure(allMs)} ms, ${figure((ROWS / allMs) * 1000)} rows/s`,
      },
    ];
  } finally {
    stop();
    await rm(database, { recursive: true, force: true });
  }
};

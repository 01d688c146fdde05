/**
 * The cost of the server client: map 300,000 hashes through `mapIdentities`, compared with a bare loop that seals, posts and
 * opens the same batches, as many in flight, and discards the answers. The service answers at once and runs in its own
 * process: a real one hashes for ten times as long, and would hide the client. The client is also measured with the operator
 * of `dist/`.
 *
 * Its memory: five times as many rows must not need more.
 */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { aesKey } from '../src/token/cipher.ts';
import { openResponse, sealRequest } from '../src/token/index.ts';
import { compare, figure, type Measurement, timed } from './measure.ts';
import { builtServer } from './support/built.ts';
import { start } from './support/child.ts';

const BATCH = 5_000;
/** Several times the batches in flight: start and end dominate a shorter job, and its garbage is collected in the turn of the peer. */
const BATCHES = 60;
const ROWS = BATCH * BATCHES;
const IN_FLIGHT = 20;
/** How many of them go through the operator, which is slower. */
const FEW_BATCHES = 6;
/** Enough to reach the maximum of batches in flight and to stay there. */
const FEW = 200_000;
/** 10,000,000 rows take minutes: `TESSERA_BENCH_ROWS=10000000 npm run bench client`. */
const MANY = Number(process.env['TESSERA_BENCH_ROWS'] ?? 1_000_000);

interface Service {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly clientSecret: string;
}

const HASHES = Array.from({ length: ROWS }, (_, i) => createHash('sha256').update(`user-${i}`).digest('base64'));

/** The bare loop: no retries, no checks, no result objects. */
const bareLoop = async ({ baseUrl, apiKey, clientSecret }: Service, count: number) => {
  const key = await aesKey(Uint8Array.from(Buffer.from(clientSecret, 'base64')));
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/octet-stream' };
  const batches = Array.from({ length: count }, (_, i) => HASHES.slice(i * BATCH, (i + 1) * BATCH));
  return async () => {
    let next = 0;
    let opened = 0;
    const worker = async () => {
      for (let i = next++; i < count; i = next++) {
        const nonce = crypto.getRandomValues(new Uint8Array(8));
        const json = JSON.stringify({ email_hash: batches[i]! });
        const body = await sealRequest(key, { at: Date.now(), nonce, json });
        const response = await fetch(`${baseUrl}/v3/identity/map`, { method: 'POST', headers, body });
        const answer = await openResponse(key, new Uint8Array(await response.arrayBuffer()));
        opened += (JSON.parse(answer.json) as { body: { email_hash: unknown[] } }).body.email_hash.length;
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
    assert.equal(opened, count * BATCH);
  };
};

interface Trial {
  readonly how: string;
  readonly service: Service;
  readonly batches: number;
  readonly byRow: boolean;
  readonly rounds: number;
  readonly atLeast: number;
}

const speed = async ({ how, service, batches, byRow, rounds, atLeast }: Trial): Promise<Measurement> => {
  const { createClient } = await builtServer();
  const client = createClient({ ...service, concurrency: IN_FLIGHT });
  const rows = batches * BATCH;
  const source = HASHES.slice(0, rows).map((emailHash) => ({ emailHash }));
  const bare = await bareLoop(service, batches);
  const mapped = async () => {
    let mapped = 0;
    if (byRow) for await (const { status } of client.mapIdentities(source)) mapped += Number(status === 'mapped');
    else for await (const batch of client.mapIdentities(source).batches()) mapped += batch.length;
    assert.equal(mapped, rows);
  };
  const rate = (work: () => Promise<void>) => async () => (rows / (await timed(work))) * 1000;
  const { ours, peer, ratio } = await compare({ rounds, warmUp: Math.ceil(rounds / 4) }, rate(mapped), rate(bare));
  return {
    what: `client maps ${figure(rows)} hashes, ${how}, of the speed of a bare loop`,
    value: ratio,
    unit: 'x',
    limit: { atLeast },
    beside: `${figure(ours)} rows/s; bare ${figure(peer)}`,
  };
};

interface Memory {
  /** Median of the live memory during the job. */
  readonly alive: number;
  readonly resident: number;
}

const memory = async (service: Service): Promise<Measurement[]> => {
  const job = async (rows: number): Promise<Memory> => {
    const { message, stop } = await start<Memory>('mapping-job.ts', [rows, JSON.stringify(service)], ['--expose-gc']);
    stop();
    return message;
  };
  const few = await job(FEW);
  const many = await job(MANY);
  const line = (what: string, which: keyof Memory): Measurement => ({
    what: `client's ${what}, ${figure(MANY)} rows to ${figure(FEW)}`,
    value: many[which] / few[which],
    unit: 'x',
    limit: { atMost: 1.2 },
    beside: `${figure(many[which] / 1e6)} MB; ${figure(few[which] / 1e6)} MB`,
  });
  return [line('live memory', 'alive'), line('largest resident memory', 'resident')];
};

export const measure = async (): Promise<Measurement[]> => {
  const canned = await start<Service>('mapping-service.ts');
  const operator = await start<Service>('mapping-operator.ts');
  const [service, real] = [canned.message, operator.message];
  const throughOperator = { service: real, batches: FEW_BATCHES, rounds: 6 };
  const direct = { service, batches: BATCHES, rounds: 10 };
  const measured = [
    await speed({ ...throughOperator, how: 'through an operator', byRow: true, atLeast: 0.7 }),
    await speed({ ...direct, how: 'answered at once, by batches', byRow: false, atLeast: 0.65 }),
    await speed({ ...direct, how: 'answered at once, row by row', byRow: true, atLeast: 0.55 }),
    ...(await memory(service)),
  ];
  for (const { stop } of [canned, operator]) stop();
  return measured;
};

/**
 * A program: do one amount of work and report how long it took, its CPU time, and the largest resident memory. Arguments: the kind
 * of work, the amount, the service as JSON, the database.
 */

import { rm } from 'node:fs/promises';
import { openDatabase } from '../../src/database/database.ts';
import { createDigestSet } from '../../src/operator/state/digest-set.ts';
import { timed } from '../measure.ts';
import { builtMapping, builtOperator, builtServer } from './built.ts';
import { report } from './child.ts';

const [kind, amountText, service = '{}', database = ''] = process.argv.slice(2);
const amount = Number(amountText);
/** Done before the measurement, so that a small job does not consist of compilation. */
const WARM_UP_ROWS = 20_000;
/** CPU time of stored mappings, without the warm-up, us. */
let cpuUs: number | undefined;

/** Hashes in no order; `seed` tells those of two sources apart. */
function* source(rows: number, seed: number): Generator<{ emailHash: string }> {
  const bytes = Buffer.alloc(32, seed);
  for (let row = 0; row < rows; row++) {
    bytes.writeUInt32BE(Math.imul(row, 0x9e3779b1) >>> 0);
    bytes.writeUInt32BE(row, 4);
    yield { emailHash: bytes.toString('base64') };
  }
}

const client = async () => {
  const { createClient } = await builtServer();
  const client = createClient(JSON.parse(service));
  const map = async (rows: number, seed: number): Promise<void> => {
    let mapped = 0;
    for await (const batch of client.mapIdentities(source(rows, seed)).batches()) mapped += batch.length;
    if (mapped !== rows) throw new Error(`expected ${rows} mapped rows, got ${mapped}`);
  };
  await map(WARM_UP_ROWS, 1);
  return timed(() => map(amount, 2));
};

const stored = async () => {
  const { createClient } = await builtServer();
  const { createMappings } = await builtMapping();
  const mappings = await createMappings({ client: createClient(JSON.parse(service)), database });
  await mappings.map(source(WARM_UP_ROWS, 1));
  const before = process.cpuUsage();
  const ms = await timed(async () => {
    const { mapped } = await mappings.map(source(amount, 2));
    if (mapped !== amount) throw new Error(`expected ${amount} mapped rows, got ${mapped}`);
  });
  await mappings.close();
  const { user, system } = process.cpuUsage(before);
  cpuUs = user + system;
  return ms;
};

/** CPU time of refreshes in memory, without HTTP, ms. */
const refresh = async () => {
  const [{ createOperator }, { createClient }] = await Promise.all([builtOperator(), builtServer()]);
  const operator = createOperator({ roles: ['GENERATOR'] });
  const call = (url: string | URL | Request, init?: RequestInit) => operator.fetch(new Request(url, init));
  const participant = operator.participants[0]!;
  const answer = await createClient({ baseUrl: 'http://localhost', ...participant, fetch: call }).generate({
    email: 'user@example.com',
  });
  if (answer.status !== 'success') throw new Error(`expected a token set, got ${answer.status}`);
  const body = answer.tokens.refreshToken;
  const refreshes = async (count: number): Promise<void> => {
    for (let done = 0; done < count; done++) {
      const response = await call('http://localhost/v2/token/refresh', { method: 'POST', body });
      if (response.status !== 200) throw new Error(`expected 200, got ${response.status}`);
      await response.arrayBuffer();
    }
  };
  await refreshes(3_000);
  const before = process.cpuUsage();
  await refreshes(amount);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
};

/** Bytes in memory, not ms. */
const optOuts = async () => {
  const set = createDigestSet();
  const bytes = new Uint8Array(8 * amount);
  for (let at = 0; at < bytes.length; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  for (let at = 0; at < bytes.length; at += 8) set.add(bytes, at);
  return set.byteLength();
};

/** The floor of storing: the same rows, which the server reads from a file, into the same table with its indexes. */
const copy = async () => {
  const { createClient } = await builtServer();
  const { createMappings } = await builtMapping();
  // Creates the table. The client is not called.
  await (await createMappings({ client: createClient(JSON.parse(service)), database })).close();
  const { query, close } = await openDatabase(database);
  const file = `/tmp/tessera-copy-${process.pid}`;
  try {
    await query(`INSERT INTO tessera_mappings (type, hash, state, raw_id, remap_at, answered_at, due_at)
      SELECT 'email', encode(sha256(n::text::bytea), 'base64'), 'mapped', encode(sha256(('r' || n)::bytea), 'base64'),
        1800000000000, 1700000000000, 1800000000000
      FROM generate_series(1, ${amount}) AS n`);
    await query(`COPY tessera_mappings TO '${file}' (FORMAT binary)`);
    await query('TRUNCATE tessera_mappings');
    return await timed(() => query(`COPY tessera_mappings FROM '${file}' (FORMAT binary)`));
  } finally {
    await close();
    await rm(file, { force: true });
  }
};

const work = { client, stored, refresh, optOuts, copy }[kind as 'client'];
const cost = await work();
report({ cost, cpuUs, warmUpRows: WARM_UP_ROWS, resident: process.resourceUsage().maxRSS * 1024 });

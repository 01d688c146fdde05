/** Nodes on a PostgreSQL that can be read but not written, as after a failover to a replica or on a full disk. */

import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { createOperator, type Operator, type OperatorOptions } from '../../src/operator/index.ts';
import { freshLocation } from '../database/locations.ts';
import { ALL_ROLES, createCalls, ROOT } from '../operator/fixtures.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => Promise.all(open.splice(0).map((each) => each.close())));

const user = { email: 'user@example.com' };
const PARTICIPANTS = [{ siteId: 101 }, { siteId: 102, roles: ALL_ROLES }];
let place: string;
let warnings: string[];
beforeEach(async () => {
  place = await freshLocation('postgres');
  warnings = [];
});

const start = async (options: OperatorOptions = {}): Promise<Operator> => {
  const log = (fields: object, message: string) => void warnings.push(`${message} ${JSON.stringify(fields)}`);
  const operator = createOperator({
    participants: PARTICIPANTS,
    rootSecret: ROOT,
    database: place,
    logger: { info: () => {}, warn: log, error: () => {} },
    ...options,
  });
  open.push(operator);
  await operator.ready;
  return operator;
};
const callsOf = (operator: Operator, participant = 0) =>
  createCalls(
    (path, init) => operator.fetch(new Request(`http://node.test${path}`, init)),
    operator.participants[participant]!,
    Date.now,
  );

const setReadOnly = async (isReadOnly: boolean): Promise<void> => {
  const name = new URL(place).pathname.slice(1);
  const admin = await openDatabase(place.replace(/[^/]+$/, 'postgres'), { connections: 1 });
  await admin.script(`ALTER DATABASE ${name} SET default_transaction_read_only = ${isReadOnly}`);
  // The setting is that of new connections: no former one may be left, on which a statement could still be written.
  const former = await admin.query<{ pid: number }>(
    'SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1',
    [name],
  );
  const pids = former.map(({ pid }) => pid);
  const left = () => admin.query('SELECT pid FROM pg_stat_activity WHERE pid = ANY($1::bigint[])', [pids]);
  await expect.poll(left, { timeout: 60_000 }).toEqual([]);
  // By the end of this exchange the operator has read that its connections are lost.
  await admin.close();
};
const eventually = (http: () => Promise<number>, expected: number) =>
  expect.poll(http, { timeout: 60_000, interval: 50 }).toBe(expected);

test('every endpoint answers that writes nothing, and the others answer 503 until the database can be written again', async () => {
  const operator = await start();
  const [{ call, refresh, generate }, all] = [callsOf(operator), callsOf(operator, 1)];
  const set = await generate(user);
  await setReadOnly(true);
  await eventually(async () => (await call('/v2/token/generate', user)).http, 200);
  expect((await refresh(set)).json.status).toBe('success');
  for (const [path, payload] of [
    ['/v2/token/validate', { token: set.advertising_token, ...user }],
    ['/v3/identity/map', { email: [user.email] }],
    ['/v2/identity/map', { email: [user.email] }],
    ['/v2/identity/buckets', { since_timestamp: Date.now() }],
    ['/v2/optout/status', { advertising_ids: [] }],
  ] as const)
    expect([path, (await call(path, payload)).http]).toEqual([path, 200]);
  const health = await operator.fetch(new Request('http://node.test/ops/healthcheck'));
  expect(health.status).toBe(200);
  // The envelopes of a participant with the role OPTOUT are recorded, whatever the endpoint.
  for (const path of ['/v2/token/logout', '/v2/token/generate']) {
    const { http, headers } = await all.call(path, user);
    expect([path, http, headers.get('retry-after')]).toEqual([path, 503, '5']);
  }
  await setReadOnly(false);
  await eventually(async () => (await all.call('/v2/token/logout', user)).http, 200);
});

test('a node starts there if its options change nothing', async () => {
  const set = await callsOf(await start()).generate(user);
  await setReadOnly(true);
  const { refresh } = callsOf(await start());
  expect((await refresh(set)).json.status).toBe('success');
  await expect(start({ participants: [...PARTICIPANTS, { siteId: 103 }] })).rejects.toThrow('read-only transaction');
});

test('a longer lifetime of tokens that cannot be written yet does not stop the keys in force', async () => {
  const set = await callsOf(await start()).generate(user);
  await setReadOnly(true);
  const { refresh } = callsOf(await start({ refreshExpires: 90 * 86_400 }));
  expect((await refresh(set)).json.status).toBe('success');
  expect(warnings.join()).toContain('keys: a scheduled change cannot be written');
});

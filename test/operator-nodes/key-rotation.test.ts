import { afterEach, expect, test, vi } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import {
  type Administration,
  createOperator,
  type Operator,
  type OperatorOptions,
  openAdministration,
} from '../../src/operator/index.ts';
import { freshLocation } from '../database/locations.ts';
import { ALL_ROLES, type Calls, createCalls, DAY, NOON, ROOT } from '../operator/fixtures.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(open.splice(0).map((each) => each.close()));
});

const clock = { at: NOON };
const user = { email: 'user@example.com' };

const startOperator = async (database: string, options: OperatorOptions = {}): Promise<Operator> => {
  const operator = createOperator({ now: () => clock.at, rootSecret: ROOT, roles: ALL_ROLES, database, ...options });
  open.push(operator);
  await operator.ready;
  return operator;
};
const callsOf = (fetch: (path: string, init: RequestInit) => Promise<Response>, operator: Operator): Calls =>
  createCalls(fetch, operator.participants[0]!, () => clock.at);
const callsTo = (operator: Operator): Calls =>
  callsOf((path, init) => operator.fetch(new Request(`http://node.test${path}`, init)), operator);
const administer = async (database: string): Promise<Administration> => {
  const administration = await openAdministration({ database, now: () => clock.at });
  open.push(administration);
  return administration;
};
const sealing = (set: { refresh_token: string }): number =>
  Buffer.from(set.refresh_token, 'base64').readInt32BE(1) - 128;

test('a rolling restart of two nodes through a rotation ends no session while refreshes are under way', async () => {
  clock.at = NOON;
  const place = await freshLocation('postgres');
  // The load balancer: each request goes to the next node that is running, and a node that stops answers what it has accepted.
  const nodes = [await startOperator(place), await startOperator(place)];
  const inFlight = nodes.map(() => new Set<Promise<Response>>());
  let next = 0;
  const running = new Set([0, 1]);
  const balancer = (path: string, init: RequestInit): Promise<Response> => {
    do next = (next + 1) % 2;
    while (!running.has(next));
    const chosen = inFlight[next]!;
    const response = nodes[next]!.fetch(new Request(`http://node.test${path}`, init));
    chosen.add(response);
    return response.finally(() => chosen.delete(response));
  };
  const { generate, refresh } = callsOf(balancer, nodes[0]!);
  const restart = async (index: number): Promise<void> => {
    running.delete(index);
    await Promise.all(inFlight[index]!);
    await nodes[index]!.close();
    nodes[index] = await startOperator(place);
    running.add(index);
  };

  let isOver = false;
  let refreshes = 0;
  const seen = new Set<number>();
  const session = async (name: number): Promise<void> => {
    let set = await generate({ email: `user-${name}@example.com` });
    while (!isOver) {
      const { http, json } = await refresh(set);
      expect([http, json.status]).toEqual([200, 'success']);
      set = json.body;
      seen.add(sealing(set));
      refreshes++;
    }
  };
  const sessions = Array.from({ length: 8 }, (_, name) => session(name));
  /** Resolve when all sessions have been refreshed some more times. */
  const moreRefreshes = async (): Promise<void> => {
    const target = refreshes + 80;
    await Promise.race([
      Promise.all(sessions),
      vi.waitUntil(() => refreshes >= target, { timeout: 100_000, interval: 5 }),
    ]);
  };

  const administration = await administer(place);
  await moreRefreshes();
  await administration.keys.rotate(DAY);
  for (const index of [0, 1]) {
    await moreRefreshes();
    await restart(index);
  }
  await moreRefreshes();
  expect([...seen]).toEqual([1]);
  clock.at += DAY;
  for (const index of [1, 0]) {
    await moreRefreshes();
    await restart(index);
  }
  await moreRefreshes();
  isOver = true;
  await Promise.all(sessions);
  expect([...seen]).toEqual([1, 2]);
});

test('a restarted node opens what was sealed before, and a lower generation is rejected', async () => {
  clock.at = NOON;
  const place = await freshLocation('postgres');
  const first = await startOperator(place, { keyGeneration: 2 });
  const set = await callsTo(first).generate(user);
  expect(sealing(set)).toBe(2);
  await first.close();
  await expect(startOperator(place, { keyGeneration: 1 })).rejects.toMatchObject({
    code: 'storage_failed',
    message: 'keyGeneration: expected none, or 2 or more, because the database has announced that generation, got 1',
  });
  const again = callsTo(await startOperator(place));
  const { json } = await again.refresh(set);
  expect([json.status, sealing(json.body)]).toEqual(['success', 2]);
});

test('after the restore of an older backup, the keys up to the generation of the options open again at once', async () => {
  clock.at = NOON;
  const [place, restored] = [await freshLocation('postgres'), await freshLocation('postgres')];
  await startOperator(restored);
  const before = callsTo(await startOperator(place, { keyGeneration: 2 }));
  const second = await before.generate(user);
  const after = callsTo(await startOperator(restored, { keyGeneration: 3 }));
  expect((await after.refresh(second)).json.status).toBe('success');
  expect(sealing(await after.generate(user))).toBe(1);
});

test('a database whose generations have passed 127 starts with the number of the newest one', async () => {
  clock.at = NOON;
  const place = await freshLocation('postgres');
  const first = await startOperator(place);
  const { keys } = await administer(place);
  for (let generation = 2; generation <= 130; generation++) {
    await keys.rotate(5000);
    clock.at += 5000;
    await keys.retire(generation - 1, true);
  }
  await first.close();
  const set = await callsTo(await startOperator(place, { keyGeneration: 130 })).generate(user);
  expect((await keys.list()).filter(({ state }) => state !== 'retired')).toMatchObject([
    { generation: 130, state: 'encrypts' },
  ]);
  // Three generations after the first 127.
  expect(sealing(set)).toBe(3);
});

test('if all generations are retired, a rotation brings the nodes back at once', async () => {
  clock.at = NOON;
  const place = await freshLocation('postgres');
  const node = callsTo(await startOperator(place));
  const { keys } = await administer(place);
  // Two administrators at once, or a statement by hand: each of the two generations is retired as the one that does not seal.
  const database = await openDatabase(place);
  open.push(database);
  await database.query('UPDATE tessera_keys SET retired_at = $1', [NOON]);
  await expect
    .poll(async () => (await node.call('/v2/token/generate', user)).http, { timeout: 60_000, interval: 50 })
    .toBe(503);
  expect(await keys.list()).toMatchObject([{ generation: 1, state: 'retired' }]);
  expect(await keys.rotate(DAY)).toMatchObject({ generation: 2, state: 'encrypts', activatesAt: NOON });
  await expect
    .poll(async () => (await node.call('/v2/token/generate', user)).http, { timeout: 60_000, interval: 50 })
    .toBe(200);
  expect(sealing(await node.generate(user))).toBe(2);
});

test('a higher generation is announced to all nodes, and seals a day later', async () => {
  clock.at = NOON;
  const place = await freshLocation('postgres');
  vi.useFakeTimers({ toFake: ['performance'] });
  const one = callsTo(await startOperator(place, { keyRotation: 0 }));
  await one.generate(user);
  const other = callsTo(await startOperator(place, { keyGeneration: 2 }));
  vi.advanceTimersByTime(1000);
  for (const { call, generate } of [one, other]) {
    const { json } = await call('/v2/key/bidstream', undefined);
    expect(json.body.keys.filter(({ id }: { id: number }) => id < 128)).toHaveLength(2);
    expect(sealing(await generate(user))).toBe(1);
  }
  clock.at += DAY;
  const set = await other.generate(user);
  expect(sealing(set)).toBe(2);
  expect((await one.refresh(set)).json.status).toBe('success');
});

test('a retired key opens nothing on any node within a second', async () => {
  clock.at = NOON;
  const place = await freshLocation('postgres');
  vi.useFakeTimers({ toFake: ['performance'] });
  const nodes = [callsTo(await startOperator(place)), callsTo(await startOperator(place))];
  const set = await nodes[0]!.generate(user);
  const { keys } = await administer(place);
  await keys.rotate(5000);
  await expect(keys.rotate(4999)).rejects.toThrow('inMs: expected from 5000 to 31622400000 ms');
  await expect(keys.rotate(5000)).rejects.toThrow('expected no announced generation, got 2');
  await expect(keys.retire(1, true)).rejects.toThrow('expected a generation that does not encrypt now, got 1');
  clock.at += 5000;
  await expect(keys.retire(1, false)).rejects.toThrow('expected a generation whose tokens have all expired, got 1');
  await expect(keys.retire(9, true)).rejects.toThrow('expected a stored generation, got 9');
  vi.advanceTimersByTime(1000);
  for (const { refresh } of nodes) expect((await refresh(set)).json.status).toBe('success');
  await keys.retire(1, true);
  vi.advanceTimersByTime(1000);
  for (const { refresh, call, generate } of nodes) {
    expect(await refresh(set)).toMatchObject({ http: 400, json: { status: 'invalid_token' } });
    const payload = { token: set.advertising_token, ...user };
    expect((await call('/v2/token/validate', payload)).json.message).toBe('Invalid token');
    const { json } = await call('/v2/key/bidstream', undefined);
    expect(json.body.keys.map(({ id }: { id: number }) => id % 128)).toEqual([2, 2]);
    expect((await refresh(await generate(user))).json.status).toBe('success');
  }
  expect(await keys.list()).toMatchObject([
    { generation: 1, state: 'retired', retiredAt: clock.at },
    { generation: 2, state: 'encrypts' },
  ]);
});

test('several nodes announce one generation, and the longest lifetime of a token decides when it is retired', async () => {
  clock.at = NOON;
  const place = await freshLocation('postgres');
  const long = { identityExpires: 86_400, refreshExpires: (90 * DAY) / 1000 };
  const nodes = (await Promise.all([startOperator(place), startOperator(place, long)])).map(callsTo);
  const set = await nodes[1]!.generate(user);
  const { keys } = await administer(place);
  for (const days of [29, 61, 89]) {
    clock.at = NOON + days * DAY;
    await Promise.all(nodes.map(({ generate }) => generate(user)));
    for (const { refresh } of nodes) expect((await refresh(set)).json.status).toBe('success');
  }
  expect((await keys.list()).map(({ generation, state }) => [generation, state])).toEqual([
    [1, 'decrypts'],
    [2, 'decrypts'],
    // Announced on day 61, since no node was called before.
    [3, 'encrypts'],
  ]);
});

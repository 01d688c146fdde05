import { describe, expect, test } from 'vitest';
import { memoryState } from '../../src/operator/state/memory-state.ts';
import { until } from '../support/clock.ts';
import { createTestService, DAY, NOON } from './fixtures.ts';

const PATH = '/v2/optout/status';
const LOGOUT = '/v2/token/logout';
const user = { email: 'leaver@example.com' };

const rawId = async (service: ReturnType<typeof createTestService>): Promise<string> =>
  (await service.call('/v3/identity/map', { email: [user.email] })).json.body.email[0].u;
const status = async (service: ReturnType<typeof createTestService>, ids: unknown[]) =>
  (await service.call(PATH, { advertising_ids: ids })).json.body.opted_out;

describe('an opt-out', () => {
  test('is honoured by generate, refresh and both versions of map, without end', async () => {
    const service = createTestService();
    const set = await service.generate(user);
    await service.call(LOGOUT, { email: ' LEAVER@example.com' });
    for (const later of [0, 3600_000, 400 * DAY]) {
      service.now = NOON + later;
      expect((await service.call('/v2/token/generate', user)).json).toEqual({ status: 'optout' });
      const v3 = await service.call('/v3/identity/map', { email: ['leaver@example.com', 'stayer@example.com'] });
      expect(v3.json.body.email[0]).toEqual({ e: 'optout' });
      expect(v3.json.body.email[1].u).toBeTypeOf('string');
      const v2 = await service.call('/v2/identity/map', { email: ['leaver@example.com'] });
      expect(v2.json.body).toEqual({
        mapped: [],
        unmapped: [{ identifier: 'leaver@example.com', reason: 'optout' }],
      });
      if (later < DAY) expect((await service.refresh(set)).json).toEqual({ status: 'optout' });
    }
  });

  test.each<[what: string, payload: unknown, reason: string]>([
    ['an empty payload', undefined, 'exactly one of'],
    ['two DII', { email: 'a@b.c', phone: '+12345678901' }, 'exactly one of'],
    ['an invalid DII', { email: 'nobody' }, 'Invalid Identifier'],
  ])('with %s is refused', async (_, payload, reason) => {
    const { http, json } = await createTestService().call(LOGOUT, payload);
    expect([http, json.status]).toEqual([400, 'invalid_token']);
    expect(json.message).toMatch(/^Invalid Token presented/);
    expect(json.message).toContain(reason);
  });
});

describe('the status of raw IDs', () => {
  test('lists those of opted-out users in the order of the request, duplicates twice, with whole seconds', async () => {
    const service = createTestService();
    const id = await rawId(service);
    const other = (await service.call('/v3/identity/map', { email: ['stayer@example.com'] })).json.body.email[0].u;
    expect(await status(service, [id, other])).toEqual([]);
    service.now = NOON + 1_234;
    await service.call(LOGOUT, user);
    service.now = NOON + 9_999;
    await service.call(LOGOUT, user);
    const row = { advertising_id: id, opted_out_since: NOON + 1000 };
    expect(await status(service, [other, id, 'no ID at all', id, 5, null])).toEqual([row, row]);
  });

  test.each<[what: string, payload: unknown, message: string]>([
    ['an empty payload', undefined, 'Invalid request body'],
    ['no member', {}, 'Required Parameter Missing: advertising_ids'],
    ['null', { advertising_ids: null }, 'Required Parameter Missing: advertising_ids'],
    ['a string', { advertising_ids: 'x' }, 'advertising_ids must be an array'],
    ['an object', { advertising_ids: {} }, 'advertising_ids must be an array'],
    [
      '5001 IDs',
      { advertising_ids: Array(5001).fill('x') },
      'Request payload is too large: expected at most 5000 raw IDs, got 5001',
    ],
  ])('%s is a client error', async (_, payload, message) => {
    const { http, json } = await createTestService().call(PATH, payload);
    expect([http, json]).toEqual([400, { status: 'client_error', message }]);
  });

  test('5000 IDs and an empty list are accepted', async () => {
    const service = createTestService();
    expect(await status(service, Array(5000).fill('x'))).toEqual([]);
    expect(await status(service, [])).toEqual([]);
  });
});

describe('an opt-out is found by every raw ID that the user had, has or gets', () => {
  const YEAR = 365 * DAY;

  test.each<[what: string, rotationPeriod: number, stepMs: number]>([
    ['yearly rotation, half a year at a time', 31_536_000, YEAR / 2],
    ['yearly rotation, three years at a time', 31_536_000, 3 * YEAR],
    ['rotation every 365 s, a minute at a time', 365, 60_000],
  ])('%s', async (_, rotationPeriod, stepMs) => {
    const service = createTestService({ rotationPeriod });
    const { json } = await service.call('/v3/identity/map', { email: [user.email] });
    const ids = new Set<string>([json.body.email[0].p, json.body.email[0].u].filter((id) => id !== null));
    for (let step = 0; step < 8; step++) {
      service.now += stepMs;
      ids.add(await rawId(service));
    }
    await service.call(LOGOUT, user);
    const since = Math.floor(service.now / 1000) * 1000;
    const rows = (await status(service, [...ids])) as { advertising_id: string; opted_out_since: number }[];
    expect(rows).toEqual([...ids].map((advertising_id) => ({ advertising_id, opted_out_since: since })));

    // An operator without the opt-out maps the user to the later raw IDs.
    const other = createTestService({ rotationPeriod });
    for (let step = 0; step < 8; step++) {
      service.now += stepMs;
      other.now = service.now;
      const later = await rawId(other);
      ids.add(later);
      expect(await status(service, [later])).toEqual([{ advertising_id: later, opted_out_since: since }]);
    }
    expect(await status(service, [...ids])).toHaveLength(ids.size);
    expect(ids.size).toBeGreaterThan(3);
  });
});

test('an opt-out is found by the previous raw ID that a mapping answer of the first day contains', async () => {
  const service = createTestService();
  const email = Array.from({ length: 20 }, (_, at) => `user${at}@example.com`);
  const rows = (await service.call('/v3/identity/map', { email })).json.body.email as { p: string | null }[];
  const index = rows.findIndex(({ p }) => p !== null);
  await service.call(LOGOUT, { email: email[index] });
  const row = { advertising_id: rows[index]!.p, opted_out_since: NOON };
  expect(await status(service, [rows[index]!.p])).toEqual([row]);
});

test('an opt-out is found although the clock has been set back to a time before the first day', async () => {
  const service = createTestService({ rotationPeriod: 365 });
  await service.operator.ready;
  service.now = NOON - 4_000_000;
  const id = await rawId(service);
  await service.call(LOGOUT, user);
  expect(await status(service, [id])).toEqual([{ advertising_id: id, opted_out_since: NOON - 4_000_000 }]);
});

test('a store that gives no answer for a user does not count as no opt-out at a refresh', async () => {
  const { optOuts, ...state } = memoryState();
  const { isAbsent: _, ...asked } = optOuts;
  let answers = true;
  const since: typeof optOuts.since = async (users) => (answers ? optOuts.since(users) : []);
  const service = createTestService({ state: { ...state, optOuts: { ...asked, since } } });
  const set = await service.generate(user);
  answers = false;
  expect(await service.refresh(set)).toMatchObject({ http: 500, json: { status: 'unknown' } });
});

test('opt-outs that wait for another are written together, each user once, and of more than 500 the others get 503', async () => {
  const { optOuts, ...state } = memoryState();
  const written: number[] = [];
  let release = (): void => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const put: typeof optOuts.put = async (given) => {
    written.push(given.length);
    await released;
    await optOuts.put(given);
  };
  const service = createTestService({ state: { ...state, optOuts: { ...optOuts, put } } });
  const logOut = (at: number) =>
    service.call(LOGOUT, { email: `leaver-${at}@example.com` }, { headers: { 'content-length': '1000' } });
  const first = logOut(0);
  await until(() => written.length === 1);
  const others = Array.from({ length: 501 }, (_, at) => logOut(at % 250));
  const refused = await Promise.race(others);
  expect([refused.http, refused.headers.get('retry-after')]).toEqual([503, '5']);
  release();
  const answers = await Promise.all([first, ...others]);
  expect(answers.filter(({ http }) => http === 200)).toHaveLength(501);
  expect(written).toEqual([1, 250]);
});

test('a raw ID from before a restart is found if the state outlives the process', async () => {
  const state = memoryState();
  const rotationPeriod = 365;
  const first = createTestService({ state, rotationPeriod });
  const id = await rawId(first);
  // No opt-out was recorded before the restart.
  const second = createTestService({ state, rotationPeriod, now: () => NOON + 4_000_000 });
  await second.call(LOGOUT, user, { at: NOON + 4_000_000 });
  const { json } = await second.call(PATH, { advertising_ids: [id] }, { at: NOON + 4_000_000 });
  expect(json.body.opted_out).toEqual([{ advertising_id: id, opted_out_since: NOON + 4_000_000 }]);
  expect(second.operator.inMemory).toBe(false);
});

test('after weeks without a call the status does not wait for the extension of all records, which continues', async () => {
  const rotationPeriod = 36_500;
  const state = memoryState();
  const { optOuts } = state;
  // The store extends only when the test lets it.
  let release = (): void => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  let isExtending = false;
  const put: typeof optOuts.put = async (records) => {
    if (isExtending) await released;
    return optOuts.put(records);
  };
  const service = createTestService({ state: { ...state, optOuts: { ...optOuts, put } }, rotationPeriod });
  const id = await rawId(service);
  await service.call(LOGOUT, user);
  const [before] = await optOuts.due(Number.POSITIVE_INFINITY, 1);

  isExtending = true;
  service.now = before!.extendAt + (rotationPeriod * 1000) / 2;
  const other = createTestService({ rotationPeriod, now: () => service.now });
  const current = (await other.call('/v3/identity/map', { email: [user.email] }, { at: service.now })).json.body
    .email[0].u;
  expect(await status(service, [id, current])).toHaveLength(2);
  release();
  await expect.poll(async () => (await optOuts.due(Number.POSITIVE_INFINITY, 1))[0]!.through).toBe(before!.through + 1);
});

test('an extension that fails is tried again at the next status, which answers nevertheless', async () => {
  const rotationPeriod = 36_500;
  const state = memoryState();
  const { optOuts } = state;
  let failures = 0;
  const due: typeof optOuts.due = async (at, limit) => {
    if (at > service.now && failures++ === 0) throw new Error('no answer');
    return optOuts.due(at, limit);
  };
  const service = createTestService({ state: { ...state, optOuts: { ...optOuts, due } }, rotationPeriod });
  const id = await rawId(service);
  await service.call(LOGOUT, user);
  const [before] = await optOuts.due(Number.POSITIVE_INFINITY, 1);
  service.now = before!.extendAt;
  expect(await status(service, [id])).toHaveLength(1);
  await expect.poll(() => failures).toBe(1);
  expect(await status(service, [id])).toHaveLength(1);
  await expect.poll(async () => (await optOuts.due(Number.POSITIVE_INFINITY, 1))[0]!.through).toBe(before!.through + 1);
});

import { describe, expect, test } from 'vitest';
import { memoryState } from '../../src/operator/state/state.ts';
import { createFixture, DAY, NOON } from './fixtures.ts';

const PATH = '/v2/optout/status';
const LOGOUT = '/v2/token/logout';
const user = { email: 'leaver@example.com' };

const rawId = async (one: ReturnType<typeof createFixture>): Promise<string> =>
  (await one.call('/v3/identity/map', { email: [user.email] })).json.body.email[0].u;
const status = async (one: ReturnType<typeof createFixture>, ids: unknown[]) =>
  (await one.call(PATH, { advertising_ids: ids })).json.body.opted_out;

describe('an opt-out', () => {
  test('is honoured by generate, refresh and both maps, from then on and for ever', async () => {
    const one = createFixture();
    const set = await one.generate(user);
    await one.call(LOGOUT, { email: ' LEAVER@example.com' });
    for (const later of [0, 3600_000, 400 * DAY]) {
      one.at = NOON + later;
      expect((await one.call('/v2/token/generate', user)).json).toEqual({ status: 'optout' });
      const v3 = await one.call('/v3/identity/map', { email: ['leaver@example.com', 'stayer@example.com'] });
      expect(v3.json.body.email[0]).toEqual({ e: 'optout' });
      expect(v3.json.body.email[1].u).toBeTypeOf('string');
      const v2 = await one.call('/v2/identity/map', { email: ['leaver@example.com'] });
      expect(v2.json.body).toEqual({
        mapped: [],
        unmapped: [{ identifier: 'leaver@example.com', reason: 'optout' }],
      });
      if (later < DAY) expect((await one.refresh(set)).json).toEqual({ status: 'optout' });
    }
  });

  test('is of one user alone, and of an email not of the same text as a phone', async () => {
    const one = createFixture();
    await one.call(LOGOUT, { phone: '+12345678902' });
    expect((await one.call('/v2/token/generate', { phone: '+12345678902' })).json.status).toBe('optout');
    expect((await one.call('/v2/token/generate', { phone: '+12345678903' })).json.status).toBe('success');
  });

  test.each<[what: string, payload: unknown, reason: string]>([
    ['nothing', undefined, 'exactly one of'],
    ['two DII', { email: 'a@b.c', phone: '+12345678901' }, 'exactly one of'],
    ['no valid DII', { email: 'nobody' }, 'Invalid Identifier'],
  ])('of %s is refused', async (_, payload, reason) => {
    const { http, json } = await createFixture().call(LOGOUT, payload);
    expect([http, json.status]).toEqual([400, 'invalid_token']);
    expect(json.message).toMatch(/^Invalid Token presented/);
    expect(json.message).toContain(reason);
  });
});

describe('the status of raw IDs', () => {
  test('tells those of opted-out users, in order, doubles twice, since when in whole seconds', async () => {
    const one = createFixture();
    const id = await rawId(one);
    const other = (await one.call('/v3/identity/map', { email: ['stayer@example.com'] })).json.body.email[0].u;
    expect(await status(one, [id, other])).toEqual([]);
    one.at = NOON + 1_234;
    await one.call(LOGOUT, user);
    one.at = NOON + 9_999;
    await one.call(LOGOUT, user);
    const row = { advertising_id: id, opted_out_since: NOON + 1000 };
    expect(await status(one, [other, id, 'no ID at all', id, 5, null])).toEqual([row, row]);
  });

  test.each<[what: string, payload: unknown, message: string]>([
    ['an empty payload', undefined, 'Invalid request body'],
    ['no list', {}, 'Required Parameter Missing: advertising_ids'],
    ['null', { advertising_ids: null }, 'Required Parameter Missing: advertising_ids'],
    ['a text', { advertising_ids: 'x' }, 'advertising_ids must be an array'],
    ['an object', { advertising_ids: {} }, 'advertising_ids must be an array'],
    ['5001 IDs', { advertising_ids: Array(5001).fill('x') }, 'Request payload is too large'],
  ])('%s is a client error', async (_, payload, message) => {
    const { http, json } = await createFixture().call(PATH, payload);
    expect([http, json]).toEqual([400, { status: 'client_error', message }]);
  });

  test('5000 IDs, and none, are answered', async () => {
    const one = createFixture();
    expect(await status(one, Array(5000).fill('x'))).toEqual([]);
    expect(await status(one, [])).toEqual([]);
  });
});

describe('a raw ID is found whenever the user had it', () => {
  const YEAR = 365 * DAY;

  test.each<[what: string, rotationPeriod: number, stepMs: number]>([
    ['yearly rotation, half a year at a time', 31_536_000, YEAR / 2],
    ['yearly rotation, three years at a time', 31_536_000, 3 * YEAR],
    ['rotation every 365 s, a minute at a time', 365, 60_000],
  ])('%s', async (_, rotationPeriod, stepMs) => {
    const one = createFixture({ rotationPeriod });
    const { json } = await one.call('/v3/identity/map', { email: [user.email] });
    const ids = new Set<string>([json.body.email[0].p, json.body.email[0].u].filter((id) => id !== null));
    for (let step = 0; step < 8; step++) {
      one.at += stepMs;
      ids.add(await rawId(one));
    }
    await one.call(LOGOUT, user);
    const since = Math.floor(one.at / 1000) * 1000;
    const told = (await status(one, [...ids])) as { advertising_id: string; opted_out_since: number }[];
    expect(told).toEqual([...ids].map((advertising_id) => ({ advertising_id, opted_out_since: since })));

    // What the user would get later is known to a twin of the operator who never heard of the opt-out.
    const twin = createFixture({ rotationPeriod });
    for (let step = 0; step < 8; step++) {
      one.at += stepMs;
      twin.at = one.at;
      const later = await rawId(twin);
      ids.add(later);
      expect(await status(one, [later])).toEqual([{ advertising_id: later, opted_out_since: since }]);
    }
    expect(await status(one, [...ids])).toHaveLength(ids.size);
    expect(ids.size).toBeGreaterThan(3);
  });
});

test('a raw ID from before a restart is found, where the state outlives the process', async () => {
  const state = memoryState();
  const rotationPeriod = 365;
  const first = createFixture({ state, rotationPeriod });
  const id = await rawId(first);
  // Nobody had opted out by then.
  const second = createFixture({ state, rotationPeriod, now: () => NOON + 4_000_000 });
  await second.call(LOGOUT, user, { at: NOON + 4_000_000 });
  const { json } = await second.call(PATH, { advertising_ids: [id] }, { at: NOON + 4_000_000 });
  expect(json.body.opted_out).toEqual([{ advertising_id: id, opted_out_since: NOON + 4_000_000 }]);
  expect(second.operator.inMemory).toBe(false);
});

/** The stored record: a damaged one reads as absent, and a valid one contains exactly the documented fields. */

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createSession, indexedDbStore, memoryStore } from '../../src/session/index.ts';
import { HOUR, MINUTE, names, recordEvents, until, useFakeClock } from '../support/fixtures.ts';
import {
  BASE_URL,
  createFixture,
  recordOf,
  restoreGlobals,
  setVisible,
  success,
  watchRejections,
  wireSet,
} from './fixtures.ts';

beforeEach(() => void useFakeClock());
afterEach(restoreGlobals);

describe('a damaged record', () => {
  const good = recordOf(1, Date.UTC(2030, 0, 15, 12));
  test.each<[string, unknown]>([
    ['a string', 'text'],
    ['a number', 5],
    ['an array', []],
    ['an empty object', {}],
    ['no generation', { ...good, generation: undefined }],
    ['a generation that is a string', { ...good, generation: '1' }],
    ['a generation that is NaN', { ...good, generation: Number.NaN }],
    ['a generation that is a bigint', { ...good, generation: 1n }],
    ['an infinite clock offset', { ...good, offsetMs: Number.POSITIVE_INFINITY }],
    ['a set that is a string', { ...good, set: 'text' }],
    ['an empty set', { ...good, set: {} }],
    ['a set without its key', { ...good, set: { ...good.set, responseKeyB64: undefined } }],
    ['a set with wire names', { ...good, set: wireSet(1) }],
    ['a set with times in seconds', { ...good, set: { ...good.set, expiresAt: 1_900_000_000 } }],
  ])('(%s) reads as absent, causes one error, and is overwritten', async (_, value) => {
    const fixture = createFixture();
    const store = memoryStore(value);
    const { session, events } = fixture.open({ store });
    await session.ready;
    await fixture.settle();
    expect(session.state).toMatchObject({ phase: 'empty', lastError: { code: 'storage_failed' } });
    expect(names(events)).toEqual(['error storage_failed', 'needsTokens empty']);
    await session.setTokens(success(2));
    expect(await store.read()).toMatchObject({ v: 2, set: { advertisingToken: 'advertising-2' } });
    expect(names(events).at(-1)).toBe('token set');
    fixture.close();
  });

  test('causes no second error when it is overwritten', async () => {
    const fixture = createFixture();
    const { session, events } = fixture.open({ store: memoryStore('nonsense') });
    await session.setTokens(success(2));
    await fixture.settle();
    expect(names(events).filter((event) => event === 'error storage_failed')).toHaveLength(1);
    fixture.close();
  });

  test('causes one error, however often the page becomes visible', async () => {
    const fixture = createFixture();
    const { session, events } = fixture.open({ store: memoryStore('nonsense') });
    await session.ready;
    for (let wake = 0; wake < 3; wake++) {
      setVisible(true);
      await fixture.settle();
    }
    expect(names(events).filter((event) => event === 'error storage_failed')).toHaveLength(1);
    fixture.close();
  });

  test.each([
    ['damaged', { v: 'nonsense' }],
    ['emptied', undefined],
  ])('a store that is %s while the page is open does not affect the page', async (_, stored) => {
    const fixture = createFixture();
    const { session, store, events } = fixture.openStored();
    await session.ready;
    await store.update(() => stored);
    setVisible(true);
    await fixture.settle();
    expect(session.advertisingToken).toBe('advertising-1');
    await fixture.advance(15 * MINUTE);
    expect(session.advertisingToken).toBe('advertising-2');
    expect(names(events).filter((event) => event !== 'error storage_failed')).toEqual(['token load', 'token refresh']);
    fixture.close();
  });

  test('in IndexedDB, with values that only the structured clone keeps, reads as absent', async () => {
    const name = 'a-damaged-record';
    const store = indexedDbStore(name);
    await store.update(() => ({ v: 1, generation: 1n, set: new Map() }));
    store.close?.();
    const session = createSession({ baseUrl: BASE_URL, name });
    const events = recordEvents(session);
    await session.ready;
    await until(() => events.length === 2);
    expect(names(events)).toEqual(['error storage_failed', 'needsTokens empty']);
    session.close();
  });

  test('of any content: nothing is thrown, and a set can be supplied', async () => {
    const field = fc.constantFrom(
      'v',
      'generation',
      'offsetMs',
      'baseUrl',
      'set',
      'receivedAt',
      'fingerprints',
      'retry',
      'clearedAt',
      'ended',
      'optedOut',
    );
    const value = fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true, withTypedArray: true });
    const stored = fc.oneof(
      value,
      fc.dictionary(field, value, { noNullPrototype: true }),
      fc.dictionary(field, value, { noNullPrototype: true }).map((changed) => ({ ...good, ...changed })),
      fc
        .dictionary(fc.constantFrom(...Object.keys(good.set)), value, { noNullPrototype: true })
        .map((changed) => ({ ...good, set: { ...good.set, ...changed } })),
    );
    const { seen, stop } = watchRejections();
    await fc.assert(
      fc.asyncProperty(stored, async (initial) => {
        const fixture = createFixture();
        const { session, events } = fixture.open({ store: memoryStore(initial) });
        await session.ready;
        await fixture.settle();
        expect(session.state.phase).toMatch(/^(empty|fresh|due|stale|ended|optedOut)$/);
        expect(['undefined', 'string']).toContain(typeof session.advertisingToken);
        await session.setTokens(success(3));
        await fixture.settle();
        if (!(initial as { optedOut?: unknown } | undefined)?.optedOut)
          expect(session.state.refreshAt).toBe(wireSet(3).refresh_from);
        const others = names(events).filter((event) => event.startsWith('error') && event !== 'error storage_failed');
        expect(others).toEqual([]);
        fixture.close();
      }),
      { numRuns: 150 },
    );
    stop();
    expect(seen).toEqual([]);
  });
});

test('the record contains the set, generation, time of receipt, clock offset, operator and fingerprints, and nothing else', async () => {
  const fixture = createFixture();
  const { session, store } = fixture.open();
  await session.setTokens(success(1));
  expect(await store.read()).toEqual(recordOf(1));
  await session.setTokens(success(2));
  const fingerprints = [...recordOf(2).fingerprints, ...recordOf(1).fingerprints];
  expect(await store.read()).toMatchObject({ generation: 2, fingerprints });
  expect(fingerprints[0]).toHaveLength(24);
  await fixture.advance(HOUR / 4);
  expect(await store.read()).toMatchObject({
    generation: 2,
    set: { advertisingToken: 'advertising-3' },
    // Fingerprints of the sets that the host supplied, not of the refreshed one.
    fingerprints,
    receivedAt: Date.now(),
  });
  await session.clear();
  expect(await store.read()).toMatchObject({
    generation: 3,
    fingerprints,
    clearedAt: Date.now(),
  });
  expect(await store.read()).not.toHaveProperty('set.refreshToken');
  await session.setTokens({ status: 'optout' });
  expect(await store.read()).toEqual({
    v: 2,
    generation: 4,
    baseUrl: BASE_URL,
    offsetMs: 0,
    optedOut: true,
    clearedAt: Date.now(),
  });
  fixture.close();
});

/**
 * Records of version 1, which this package wrote before: this version reads them, and a tab that still runs version 1 is not
 * harmed by what this version writes.
 */

import { describe, expect, test } from 'vitest';
import { memoryStore } from '../../src/session/index.ts';
import { MINUTE, names, START } from '../support/fixtures.ts';
import { BASE_URL, fixtureForEachTest, offline, recordOf, success } from './fixtures.ts';

const fixture = fixtureForEachTest();

const fingerprintOf = (n: number) => recordOf(n).fingerprints[0];

/** A record as version 1 wrote it, with set number 1. */
const version1 = (more: object = {}) => {
  const { fingerprints: _, ...record } = recordOf(1, START);
  return { ...record, v: 1, fingerprint: `${fingerprintOf(1)}${fingerprintOf(7)}`, ...more };
};

/** What version 1 made of a stored record: the parser of that version, for records of its own operator. */
const readByVersion1 = (stored: unknown) => {
  const record = stored as ReturnType<typeof version1>;
  const set = record.set && record.v === 1 ? record.set : undefined;
  record.fingerprint?.trim();
  if (!Number.isFinite(record.generation + record.offsetMs)) throw new TypeError('damaged');
  return { ...record, set };
};

describe('a record of version 1', () => {
  test('keeps its set in force, and the next write raises it to version 2', async () => {
    const store = memoryStore(version1());
    const { session, events } = fixture.open({ store });
    await session.ready;
    expect(session.advertisingToken).toBe('advertising-1');
    await fixture.advance(15 * MINUTE);
    expect(names(events)).toEqual(['token load', 'token refresh']);
    expect(await store.read()).toMatchObject({
      v: 2,
      generation: 1,
      fingerprints: [fingerprintOf(1), fingerprintOf(7)],
      set: { advertisingToken: 'advertising-2' },
    });
    expect(await store.read()).not.toHaveProperty('fingerprint');
  });

  test.each([1, 7])('still identifies set number %d that a cached page supplies again', async (n) => {
    const { session } = fixture.open({
      store: memoryStore(version1({ set: undefined, clearedAt: START })),
      tokens: success(n),
    });
    await session.ready;
    await fixture.settle();
    expect(session.advertisingToken).toBeUndefined();
  });

  test('keeps its tombstone', async () => {
    const { session } = fixture.open({ store: memoryStore(version1({ set: undefined, optedOut: true })) });
    await session.ready;
    expect(session.state.phase).toBe('optedOut');
  });

  test('keeps its back-off: attempts, pause and budget', async () => {
    fixture.serve(offline);
    const run = { tries: 7, steps: 6, refusals: 0, triedAt: START, waitMs: 170_000, leastMs: 180_000 };
    const { session } = fixture.open({
      store: memoryStore(version1({ run, set: recordOf(1, START - 20 * MINUTE).set })),
    });
    await session.ready;
    expect(session.state.next).toEqual({ at: START + 180_000, action: 'refresh', reason: 'budget' });
    await fixture.advance(179_000);
    expect(fixture.sent).toEqual([]);
    await fixture.advance(2_000);
    expect(fixture.sent).toHaveLength(1);
  });

  test('keeps the lease of the tab whose attempt runs', async () => {
    const run = { tries: 1, steps: 0, refusals: 0, triedAt: START - 1_000, waitMs: 0, leastMs: 0 };
    const { session } = fixture.open({
      store: memoryStore(version1({ run, set: recordOf(1, START - 20 * MINUTE).set })),
    });
    await session.ready;
    await fixture.settle();
    expect(fixture.sent).toEqual([]);
    expect(session.state.next).toMatchObject({ reason: 'other_tab' });
    await fixture.advance(13_000);
    expect(fixture.sent).toHaveLength(1);
  });
});

describe('a tab that still runs version 1', () => {
  test.each([
    ['a set', (session: ReturnType<typeof fixture.open>['session']) => session.setTokens(success(2))],
    ['a logout', (session: ReturnType<typeof fixture.open>['session']) => session.clear()],
    ['an opt-out', (session: ReturnType<typeof fixture.open>['session']) => session.setTokens({ status: 'optout' })],
  ])('reads a record of this version without an error and without a set: %s', async (_, call) => {
    const { session, store } = fixture.open({ store: memoryStore(recordOf(1)) });
    await call(session);
    const read = readByVersion1(await store.read());
    expect(read.set).toBeUndefined();
    expect(read.generation).toBe(2);
    expect(read.baseUrl).toBe(BASE_URL);
  });

  test('and writes a set over it is followed by this version', async () => {
    const store = memoryStore(recordOf(1));
    const { session } = fixture.open({ store });
    await session.ready;
    await store.update(() => ({ ...version1(), generation: 2, set: recordOf(5).set }));
    window.dispatchEvent(new Event('pageshow'));
    await fixture.settle();
    expect(session.advertisingToken).toBe('advertising-5');
  });
});

/**
 * Tabs of two versions of the runtime over one store: this one, and one to come whose records are of the next form. That
 * one is this code with a store that writes `v: 2` and understands both.
 */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { memoryStore, type Session, type SessionOptions, type Store } from '../../src/session/index.ts';
import { HOUR, MINUTE, names, START, until, useFakeClock } from '../support/fixtures.ts';
import {
  BASE_URL,
  createFixture,
  offline,
  recordOf,
  restoreGlobals,
  setVisible,
  success,
  watchRejections,
} from './fixtures.ts';

let testNumber = 0;
let fixture: ReturnType<typeof createFixture>;
beforeEach(() => {
  useFakeClock();
  fixture = createFixture();
});
afterEach(() => {
  fixture.close();
  restoreGlobals();
});

type Stored = { v: number; generation: number; set?: { advertisingToken: string } } | undefined;
const isOf = (v: number, stored: unknown) => (stored as Stored)?.v === v;

/** The store as a version to come uses it. */
const inNextForm = (inner: Store): Store => {
  const understood = (stored: unknown) => (isOf(2, stored) ? { ...(stored as object), v: 1 } : stored);
  return {
    ...inner,
    read: async () => understood(await inner.read()),
    update: async (change) => {
      const update = (stored: unknown) => {
        const before = understood(stored);
        const after = change(before);
        return after === before ? stored : after && { ...after, v: 2 };
      };
      return understood(await inner.update(update));
    },
  };
};

/** Two tabs over one store, and everything that was written there. */
const twoVersions = async (stored?: unknown, ofOld: Partial<SessionOptions> = {}) => {
  const name = `versions-${testNumber++}`;
  const inner = memoryStore(stored);
  const written: Stored[] = [];
  const store: Store = {
    ...inner,
    kind: 'shared',
    update: (change) =>
      inner.update((before) => {
        const after = change(before);
        if (after !== before) written.push(after as Stored);
        return after;
      }),
  };
  const next = fixture.open({ name, store: inNextForm(store) });
  const old = fixture.open({ ...ofOld, name, store });
  await Promise.all([next.session.ready, old.session.ready]);
  await fixture.settle();
  return { old, next, written, stored: async () => (await inner.read()) as Stored };
};

/** Let hours pass. No more than a quarter at once: answers are sealed by real threads, which no clock waits for. */
const hours = async (count: number) => {
  for (let quarter = 0; quarter < 4 * count; quarter++) await fixture.advance(15 * MINUTE);
};

/** What a promise of a session comes to: none may hang. */
const codeOf = async (work: Promise<unknown>): Promise<unknown> => {
  const code = work.then(
    () => 'done',
    (error: { code: string }) => error.code,
  );
  await fixture.advance(12_000);
  return Promise.race([code, 'hangs']);
};

describe('a newer version has written', () => {
  test('for the older one there is no set, however often it looks: it says so once, and throws nothing', async () => {
    const { seen, stop } = watchRejections();
    const { old, next } = await twoVersions({ ...recordOf(1), v: 2 });
    for (let hour = 0; hour < 5; hour++) {
      await hours(1);
      setVisible(true);
      expect(old.session.state.phase).toBe('empty');
      expect(old.session.advertisingToken).toBeUndefined();
    }
    await fixture.settle();
    stop();
    expect(seen).toEqual([]);
    expect(names(old.events)).toEqual(['needsTokens empty']);
    expect(new Set(names(next.events))).toEqual(new Set(['token load', 'token refresh']));
  });

  test('every promise of the older one settles, and its page is served by what it supplies', async () => {
    const { old } = await twoVersions({ ...recordOf(1), v: 2 });
    const { session } = old;
    expect(await codeOf(session.getToken())).toBe('no_token');
    expect(await codeOf(session.refresh())).toBe('no_token');
    expect(await codeOf(session.setTokens(success(5)))).toBe('done');
    expect(session.advertisingToken).toBe('advertising-5');
    expect(await codeOf(session.refresh())).toBe('done');
    expect(session.advertisingToken).toBe('advertising-6');
    expect(await codeOf(session.clear())).toBe('done');
    expect(session.state).toMatchObject({ phase: 'empty', persistence: 'shared' });
  });

  test('a page of the older one that loads, looks, and has its timer run leaves that record as it is', async () => {
    const { old, next, written, stored } = await twoVersions({ ...recordOf(1), v: 2 });
    next.session.close();
    const before = await stored();
    setVisible(false);
    setVisible(true);
    await hours(2);
    await codeOf(old.session.getToken());
    await codeOf(old.session.refresh());
    expect(await stored()).toBe(before);
    expect(written).toEqual([]);
    expect(fixture.sent).toEqual([]);
  });
});

describe('side by side for hours, while the newer one rotates', () => {
  test('one call for each rotation, and as many writes as it takes the newer one alone', async () => {
    const { seen, stop } = watchRejections();
    const { old, next, written } = await twoVersions({ ...recordOf(1), v: 2 });
    await hours(3);
    stop();
    expect(next.session.advertisingToken).toBe(`advertising-${1 + fixture.sent.length}`);
    expect(fixture.sent.length).toBe(12);
    // A try, and what came of it.
    expect(written.map((stored) => stored?.v)).toEqual(Array.from({ length: 24 }, () => 2));
    expect(names(old.events)).toEqual(['needsTokens empty']);
    expect(seen).toEqual([]);
  });

  test('where the older one asks its publisher for sets, both have a token, and neither answers the other for ever', async () => {
    const provide = vi.fn(async () => success(50 + provide.mock.calls.length));
    const { old, next, written } = await twoVersions({ ...recordOf(1), v: 2 }, { provide });
    await hours(2);
    expect(old.session.advertisingToken).toBeDefined();
    expect(next.session.advertisingToken).toBeDefined();
    expect(provide).toHaveBeenCalled();
    // A rotation each quarter of an hour, by one of them or by both, and at most one answer to it.
    expect(fixture.sent.length).toBeLessThanOrEqual(16);
    expect(provide.mock.calls.length).toBeLessThanOrEqual(1 + fixture.sent.length);
    // A try, what came of it, and the answer.
    expect(written.length).toBeLessThanOrEqual(1 + 3 * fixture.sent.length);
    expect(names(old.events).filter((event) => event.startsWith('error'))).toEqual([]);
    expect(names(next.events).filter((event) => event.startsWith('error'))).toEqual([]);
  });
});

describe('what a host does explicitly', () => {
  const acts: [string, (session: Session) => Promise<void>, string | undefined, string][] = [
    ['a set', (session) => session.setTokens(success(9)), 'advertising-9', 'fresh'],
    ['a logout', (session) => session.clear(), undefined, 'empty'],
    ['an opt-out', (session) => session.setTokens({ status: 'optout' }), undefined, 'optedOut'],
  ];

  test.each(acts)('in the older one reaches the newer one, over its record: %s', async (_, act, token, phase) => {
    const { old, next, stored } = await twoVersions();
    await old.session.setTokens(success(1));
    await until(() => next.session.advertisingToken === 'advertising-1');
    for (const n of [2, 3]) {
      await fixture.advance(MINUTE);
      await next.session.setTokens(success(n));
    }
    expect(await stored()).toMatchObject({ v: 2 });
    await fixture.advance(MINUTE);
    await act(old.session);
    await until(() => next.session.state.phase === phase && next.session.advertisingToken === token);
    expect(await stored()).toMatchObject({ v: 1 });
    expect(old.session.advertisingToken).toBe(token);
    expect(names(next.events).filter((event) => event.startsWith('error'))).toEqual([]);
  });

  test.each(acts)(
    'in the newer one ends what the older one held, and no refresh brings it back: %s',
    async (_, act, token, phase) => {
      const { old, next, stored } = await twoVersions(recordOf(1));
      expect(old.session.advertisingToken).toBe('advertising-1');
      await fixture.advance(MINUTE);
      await act(next.session);
      await fixture.settle();
      expect(old.session.advertisingToken).toBeUndefined();
      await hours(1);
      expect(await stored()).toMatchObject({ v: 2 });
      expect(next.session.state.phase).toBe(phase);
      expect(!!next.session.advertisingToken).toBe(!!token);
      expect(names(old.events).filter((event) => event.startsWith('error'))).toEqual([]);
    },
  );
});

test('a set that the older one holds is not refreshed over the record of the newer one', async () => {
  const { old, next, written, stored } = await twoVersions(recordOf(1));
  await fixture.advance(MINUTE);
  await next.session.setTokens(success(20));
  next.session.close();
  const before = await stored();
  setVisible(false);
  setVisible(true);
  await fixture.advance(20 * MINUTE);
  await codeOf(old.session.refresh());
  expect(await stored()).toBe(before);
  expect(written.filter((after) => isOf(1, after))).toEqual([]);
});

test('a clock that is set back in the older one leaves the record of the newer one as it is', async () => {
  vi.setSystemTime(START);
  const { old, next, stored } = await twoVersions(recordOf(1));
  await fixture.advance(MINUTE);
  await next.session.setTokens(success(20));
  next.session.close();
  await fixture.settle();
  const before = await stored();
  vi.setSystemTime(Date.now() - HOUR);
  void old.session.state;
  setVisible(true);
  await fixture.settle();
  expect(await stored()).toBe(before);
});

test.each<[string, object, string]>([
  ['a logout', { fingerprint: recordOf(1).fingerprint }, 'empty'],
  ['an opt-out', { optedOut: true }, 'optedOut'],
])('a page of the older one that was rendered with a set does not undo %s in the newer one', async (_, left, phase) => {
  const stored = { v: 2, generation: 3, baseUrl: BASE_URL, offsetMs: 0, clearedAt: START, ...left };
  fixture.serve(offline);
  const { old, next } = await twoVersions(stored, { tokens: success(1) });
  for (const { session } of [old, next]) {
    expect(session.state.phase).toBe(phase);
    expect(session.advertisingToken).toBeUndefined();
  }
});

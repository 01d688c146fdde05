/**
 * Tabs of two versions of the runtime over one store: the current one, and a simulated next one with a newer record
 * format. The next version is the current code over a store that writes `v: 3` and reads both formats.
 */

import { describe, expect, test, vi } from 'vitest';
import { memoryStore, type Session, type SessionOptions, type Store } from '../../src/session/index.ts';
import { MINUTE, names, until } from '../support/clock.ts';
import { fixtureForEachTest, recordOf, setVisible, success, watchRejections } from './fixtures.ts';

let testNumber = 0;
const fixture = fixtureForEachTest();

type Stored = { v: number; generation: number; set?: { advertisingToken: string } } | undefined;
const isOf = (v: number, stored: unknown) => (stored as Stored)?.v === v;

const inNextFormat = (inner: Store): Store => {
  const readBoth = (stored: unknown) => (isOf(3, stored) ? { ...(stored as object), v: 2 } : stored);
  return {
    ...inner,
    read: async () => readBoth(await inner.read()),
    update: async (change) => {
      const update = (stored: unknown) => {
        const before = readBoth(stored);
        const after = change(before);
        return after === before ? stored : after && { ...after, v: 3 };
      };
      return readBoth(await inner.update(update));
    },
  };
};

/** Open a tab of each version over one store, and collect everything that is written to it. */
const twoVersions = async (stored?: unknown, oldOptions: Partial<SessionOptions> = {}) => {
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
  const next = fixture.open({ name, store: inNextFormat(store) });
  const old = fixture.open({ ...oldOptions, name, store });
  await Promise.all([next.session.ready, old.session.ready]);
  await fixture.settle();
  return { old, next, written, stored: async () => (await inner.read()) as Stored };
};

/** Advance by hours, a quarter at a time: Web Crypto runs on real threads, which a fake clock does not wait for. */
const advanceHours = async (count: number) => {
  for (let quarter = 0; quarter < 4 * count; quarter++) await fixture.advance(15 * MINUTE);
};

const codeOf = async (work: Promise<unknown>): Promise<unknown> => {
  const code = work.then(
    () => 'done',
    (error: { code: string }) => error.code,
  );
  await fixture.advance(12_000);
  return Promise.race([code, 'hangs']);
};

describe('after the newer version has written', () => {
  test('the older one has no set, emits one `needsTokens`, and throws nothing', async () => {
    const { seen, stop } = watchRejections();
    const { old, next } = await twoVersions({ ...recordOf(1), v: 3 });
    for (let hour = 0; hour < 5; hour++) {
      await advanceHours(1);
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

  test('the older one does not change the record by loading, reading or timers', async () => {
    const { old, next, written, stored } = await twoVersions({ ...recordOf(1), v: 3 });
    next.session.close();
    const before = await stored();
    setVisible(false);
    setVisible(true);
    await advanceHours(2);
    await codeOf(old.session.getToken());
    await codeOf(old.session.refresh());
    expect(await stored()).toBe(before);
    expect(written).toEqual([]);
    expect(fixture.sent).toEqual([]);
  });
});

test('open for hours, with `provide` in the older one, both have a token, and they do not overwrite each other in a loop', async () => {
  const provide = vi.fn(async () => success(50 + provide.mock.calls.length));
  const { old, next, written } = await twoVersions({ ...recordOf(1), v: 3 }, { provide });
  await advanceHours(2);
  expect(old.session.advertisingToken).toBeDefined();
  expect(next.session.advertisingToken).toBeDefined();
  expect(provide).toHaveBeenCalled();
  // One rotation each quarter of an hour by each of them at most, and at most one call of `provide` for each.
  expect(fixture.sent.length).toBeLessThanOrEqual(16);
  expect(provide.mock.calls.length).toBeLessThanOrEqual(1 + fixture.sent.length);
  // The start and the outcome of each attempt, and the answer of `provide`.
  expect(written.length).toBeLessThanOrEqual(1 + 3 * fixture.sent.length);
  expect(names(old.events).filter((event) => event.startsWith('error'))).toEqual([]);
  expect(names(next.events).filter((event) => event.startsWith('error'))).toEqual([]);
});

describe('an explicit call', () => {
  const calls: [string, (session: Session) => Promise<void>, string | undefined, string][] = [
    ['a set', (session) => session.setTokens(success(9)), 'advertising-9', 'fresh'],
    ['a logout', (session) => session.clear(), undefined, 'empty'],
    ['an opt-out', (session) => session.setTokens({ status: 'optout' }), undefined, 'optedOut'],
  ];

  test.each(calls)(
    'in the older one overwrites the record of the newer one, which adopts it: %s',
    async (_, call, token, phase) => {
      const { old, next, stored } = await twoVersions();
      await old.session.setTokens(success(1));
      await until(() => next.session.advertisingToken === 'advertising-1');
      for (const n of [2, 3]) {
        await fixture.advance(MINUTE);
        await next.session.setTokens(success(n));
      }
      expect(await stored()).toMatchObject({ v: 3 });
      await fixture.advance(MINUTE);
      await call(old.session);
      await until(() => next.session.state.phase === phase && next.session.advertisingToken === token);
      expect(await stored()).toMatchObject({ v: 2 });
      expect(old.session.advertisingToken).toBe(token);
      expect(names(next.events).filter((event) => event.startsWith('error'))).toEqual([]);
    },
  );

  test.each(calls)(
    'in the newer one ends the set of the older one, and no refresh restores it: %s',
    async (_, call, token, phase) => {
      const { old, next, stored } = await twoVersions(recordOf(1));
      expect(old.session.advertisingToken).toBe('advertising-1');
      await fixture.advance(MINUTE);
      await call(next.session);
      await fixture.settle();
      expect(old.session.advertisingToken).toBeUndefined();
      await advanceHours(1);
      expect(await stored()).toMatchObject({ v: 3 });
      expect(next.session.state.phase).toBe(phase);
      expect(!!next.session.advertisingToken).toBe(!!token);
      expect(names(old.events).filter((event) => event.startsWith('error'))).toEqual([]);
    },
  );
});

test('the older one does not refresh a set that it holds over the record of the newer one', async () => {
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
  expect(written.filter((after) => isOf(2, after))).toEqual([]);
});

/** Web Locks: one tab refreshes, the others wait for it, and a lock that is denied or never released delays no refresh. */

import { describe, expect, test, vi } from 'vitest';
import { memoryStore, type Session } from '../../src/session/index.ts';
import { loaded, MINUTE, names, START, until } from '../support/clock.ts';
import {
  dispatch,
  fakeLocks,
  fixtureForEachTest,
  hangs,
  openLoaded,
  openTwoTabs,
  recordOf,
  setVisible,
  success,
} from './fixtures.ts';

let testNumber = 0;
const fixture = fixtureForEachTest();

/** A record whose set another tab began to refresh, so many ms after the start of the test, as the holder of the lock of its lease. */
const leasedAt = (ms: number) => ({ ...recordOf(1), lease: { id: 1, at: START + ms, isLocked: true } });

const lockedElsewhere = () => {
  const name = `tabs-${testNumber++}`;
  const locks = fakeLocks();
  locks.held.add(`${name}1`);
  return { locks, name };
};

describe('with Web Locks', () => {
  test('one of two tabs refreshes, and the other adopts the new set', async () => {
    const locks = fakeLocks();
    const { fixture, a, b } = await openTwoTabs();
    await fixture.advance(15 * MINUTE);
    await until(() => a.session.advertisingToken === 'advertising-2' && b.session.advertisingToken === 'advertising-2');
    await fixture.settle();
    expect(fixture.sent).toHaveLength(1);
    expect([...names(a.events), ...names(b.events)].sort()).toEqual([
      'token load',
      'token load',
      'token refresh',
      'token tab',
    ]);
    expect(locks.asked.every(([, options]) => (options as { ifAvailable?: boolean }).ifAvailable)).toBe(true);
    expect(locks.held.size).toBe(0);
  });

  test('while another tab is refreshing nothing is sent, and its message ends the waiting', async () => {
    const { name } = lockedElsewhere();
    const store = memoryStore(leasedAt(15 * MINUTE));
    const { session, events } = fixture.open({ store, name });
    await fixture.advance(15 * MINUTE + 5_000);
    expect(session.state.next).toMatchObject({ action: 'refresh', reason: 'other_tab' });
    await store.update(() => recordOf(2));
    const other = new BroadcastChannel(name);
    other.postMessage(0);
    await until(() => session.advertisingToken === 'advertising-2');
    other.close();
    await fixture.settle();
    expect(names(events)).toEqual(['token load', 'token tab']);
    expect(fixture.sent).toEqual([]);
  });

  test('if the other tab sends no message, the session refreshes on its own after 12 s', async () => {
    const { name } = lockedElsewhere();
    const { session } = fixture.open({ store: memoryStore(leasedAt(15 * MINUTE)), name });
    await fixture.advance(15 * MINUTE + 30_000);
    expect(fixture.sent.map(({ at }) => at - START)).toEqual([15 * MINUTE + 12_000]);
    expect(session.advertisingToken).toBe('advertising-2');
  });

  test('a tab that has disappeared during its refresh delays nothing: its lock is free', async () => {
    fakeLocks();
    const { session } = fixture.open({ store: memoryStore(leasedAt(15 * MINUTE - 1)) });
    await fixture.advance(15 * MINUTE);
    expect(fixture.sent).toHaveLength(1);
    expect(session.advertisingToken).toBe('advertising-2');
  });

  test('refresh() of a fresh set that another tab is refreshing rejects after its own limit of 10 s, and asks nobody', async () => {
    const { name } = lockedElsewhere();
    const { session, ...fixture } = await openLoaded({ name, store: memoryStore(leasedAt(0)) });
    const refreshed = session.refresh().catch((error: unknown) => error);
    let ended = false;
    void refreshed.then(() => (ended = true));
    await fixture.advance(9_900);
    expect(ended).toBe(false);
    await fixture.advance(200);
    expect(await refreshed).toMatchObject({ code: 'timeout' });
    expect(fixture.sent).toEqual([]);
  });

  test.each([
    ['a visible', true, 8_000],
    ['a hidden', false, 10_000],
  ])(
    'refresh() of %s page resolves if the other tab has stored a newer set, even if its message was lost',
    async (_, isVisible, waitMs) => {
      const { name } = lockedElsewhere();
      const store = memoryStore(leasedAt(0));
      const { session, ...fixture } = await openLoaded({ name, store });
      setVisible(isVisible);
      const refreshed = session.refresh();
      await fixture.advance(5_000);
      await store.update(() => recordOf(2));
      await fixture.advance(waitMs);
      await refreshed;
      expect(session.advertisingToken).toBe('advertising-2');
      expect(fixture.sent).toEqual([]);
    },
  );

  test('a message of a third tab does not end the wait of refresh() for the tab that is refreshing', async () => {
    const { locks, name } = lockedElsewhere();
    const store = memoryStore(leasedAt(0));
    const { session, ...fixture } = await openLoaded({ name, store });
    let ended = false;
    const refreshed = session.refresh().finally(() => (ended = true));
    await fixture.advance(1_000);
    const asked = locks.asked.length;
    fixture.open({ name, store: memoryStore(recordOf(1)) });
    await fixture.advance(5_000);
    expect(ended).toBe(false);
    expect(locks.asked).toHaveLength(asked);
    await store.update(() => recordOf(2));
    await fixture.advance(10_000);
    await refreshed;
    expect(session.advertisingToken).toBe('advertising-2');
  });

  test.each([
    ['rejected (sandboxed frame)', () => Promise.reject(new DOMException('denied', 'SecurityError'))],
    [
      'denied by an exception',
      () => {
        throw new DOMException('denied', 'SecurityError');
      },
    ],
  ])('a lock request that is %s: the session refreshes without a lock', async (_, request) => {
    Object.defineProperty(navigator, 'locks', { configurable: true, value: { request } });
    const { session, events } = fixture.openStored();
    await fixture.advance(15 * MINUTE);
    expect(session.advertisingToken).toBe('advertising-2');
    expect(names(events)).toEqual(['token load', 'token refresh']);
  });

  test.each<[string, (session: Session) => unknown]>([
    ['the page is left', () => dispatch('pagehide')],
    ['the user logs out', (session) => session.clear()],
    ['it is closed', (session) => session.close()],
  ])('an attempt that has not begun when %s takes no lock', async (_, giveUp) => {
    const locks = fakeLocks();
    fixture.serve(hangs);
    const inner = memoryStore();
    let isSlow = false;
    const writes: (() => void)[] = [];
    const update: typeof inner.update = async (change) => {
      if (isSlow) await new Promise<void>((resolve) => writes.push(resolve));
      return inner.update(change);
    };
    const { session } = await loaded(
      fixture.open({ store: { ...inner, update }, provide: () => new Promise(() => {}) }),
    );
    await fixture.settle();
    isSlow = true;
    // The attempt of `provide` is void, but its end is still being written when the refresh of this set, which is due, could begin.
    void session.setTokens(success(1, START - 20 * MINUTE));
    await until(() => writes.length === 1);
    writes[0]!();
    await until(() => writes.length === 2);
    void giveUp(session);
    isSlow = false;
    writes[1]!();
    await fixture.settle();
    expect(locks.held.size).toBe(0);
    expect(fixture.sent).toEqual([]);
  });

  test('close() during a refresh releases the lock', async () => {
    const locks = fakeLocks();
    fixture.serve(() => new Promise(() => {}));
    const { session } = fixture.openStored();
    await fixture.advance(15 * MINUTE);
    expect(locks.held.size).toBe(1);
    session.close();
    await fixture.settle();
    expect(locks.held.size).toBe(0);
  });
});

test('a set supplied while a refresh waits for the lock takes effect, and the refresh is not sent', async () => {
  let grant = () => {};
  const request = async (_: string, __: unknown, work: (lock: unknown) => unknown) => {
    await new Promise<void>((resolve) => (grant = resolve));
    return work({});
  };
  Object.defineProperty(navigator, 'locks', { configurable: true, value: { request } });
  const { session, store, events, sent, advance, settle } = await openLoaded();
  await advance(15 * MINUTE);
  const done = session.setTokens(success(5));
  grant();
  await done;
  await settle();
  Reflect.deleteProperty(navigator, 'locks');
  expect(names(events)).toEqual(['token load', 'token set']);
  expect(sent).toEqual([]);
  expect(await store.read()).not.toHaveProperty('retry.attempts');
});

test('a lock manager that never answers delays the refresh by less than 3 s', async () => {
  Object.defineProperty(navigator, 'locks', { configurable: true, value: { request: () => new Promise(() => {}) } });
  const { session, advance, close } = await openLoaded();
  await advance(15 * MINUTE + 3_000);
  expect(session.advertisingToken).toBe('advertising-2');
  close();
  Reflect.deleteProperty(navigator, 'locks');
});

test('a claim that waited for the store while the device slept leaves the lease of another tab alone', async () => {
  const name = `tabs-${testNumber++}`;
  const stored = recordOf(1);
  const shared = memoryStore(stored);
  const lease = { id: 2, at: START + 31 * MINUTE, isLocked: false };
  let isFirst = true;
  const update: typeof shared.update = async (change) => {
    if (isFirst) {
      isFirst = false;
      vi.setSystemTime(lease.at);
      await shared.update(() => ({ ...stored, lease }));
    }
    return shared.update(change);
  };
  const { session } = fixture.open({ store: { ...shared, update }, name });
  await fixture.advance(15 * MINUTE);
  await until(() => session.state.next?.reason === 'other_tab');
  expect(await shared.read()).toMatchObject({ lease });
  expect(fixture.sent).toEqual([]);
});

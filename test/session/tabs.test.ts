/**
 * Two tabs of one browser profile: two sessions of one name over one store, told of each other by a real
 * BroadcastChannel. Locks are faked where a test is about them: Node has none.
 */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { indexedDbStore, memoryStore } from '../../src/session/index.ts';
import { HOUR, MINUTE, names, START, until, useFakeClock } from '../support/fixtures.ts';
import {
  answersPlain,
  answersSealed,
  createFixture,
  offline,
  recordOf,
  restoreGlobals,
  rotate,
  setVisible,
  success,
} from './fixtures.ts';

let testNumber = 0;
beforeEach(() => void useFakeClock());
afterEach(restoreGlobals);

/** Two tabs, both loaded; set 1 is in force in both. */
const twoTabs = async (given: object = {}) => {
  const fixture = createFixture();
  const name = `tabs-${testNumber++}`;
  const store = memoryStore(recordOf(1));
  const a = fixture.open({ store, name, ...given });
  const b = fixture.open({ store, name, ...given });
  await Promise.all([a.session.ready, b.session.ready]);
  await fixture.settle();
  return { fixture, store, a, b };
};

/** Minimal `navigator.locks`: exclusive, `ifAvailable` only. */
const fakeLocks = () => {
  const held = new Set<string>();
  const asked: unknown[][] = [];
  const request = async (name: string, options: unknown, work: (lock: unknown) => unknown) => {
    asked.push([name, options]);
    if (held.has(name)) return work(null);
    held.add(name);
    try {
      return await work({ name });
    } finally {
      held.delete(name);
    }
  };
  Object.defineProperty(navigator, 'locks', { configurable: true, value: { request } });
  return { held, asked };
};
afterEach(() => void Reflect.deleteProperty(navigator, 'locks'));

describe('what one tab does, the other adopts', () => {
  test('a new set', async () => {
    const { fixture, a, b } = await twoTabs();
    await a.session.setTokens(success(5));
    await until(() => b.session.advertisingToken === 'advertising-5');
    await fixture.settle();
    expect(names(a.events)).toEqual(['token load', 'token set']);
    expect(names(b.events)).toEqual(['token load', 'token tab']);
    fixture.close();
  });

  test('a logout', async () => {
    const { fixture, a, b } = await twoTabs();
    await a.session.clear();
    await until(() => !b.session.advertisingToken);
    await fixture.advance(2 * HOUR);
    expect(b.session.state.phase).toBe('empty');
    expect(fixture.sent).toEqual([]);
    expect(names(b.events)).not.toContain('expired advertising');
    fixture.close();
  });

  test('an opt-out', async () => {
    const { fixture, a, b } = await twoTabs();
    await a.session.setTokens({ status: 'optout' });
    await until(() => b.events.length > 1);
    expect(names(b.events)).toEqual(['token load', 'optout']);
    expect(b.session.state.phase).toBe('optedOut');
    fixture.close();
  });

  test('a rotation', async () => {
    const { fixture, a, b } = await twoTabs();
    await a.session.refresh();
    await until(() => b.session.advertisingToken === 'advertising-2');
    await fixture.settle();
    expect(names(b.events)).toEqual(['token load', 'token tab']);
    expect(fixture.sent).toHaveLength(1);
    fixture.close();
  });

  test('that the service has ended the set, so it is not asked twice', async () => {
    const { fixture, a, b } = await twoTabs();
    fixture.serve(answersPlain(400, { status: 'expired_token' }));
    await a.session.refresh().catch(() => {});
    await until(() => b.session.state.phase === 'ended');
    await fixture.advance(20 * MINUTE);
    expect(names(b.events)).toEqual(['token load', 'needsTokens ended', 'expired refresh']);
    expect(fixture.sent).toHaveLength(1);
    fixture.close();
  });

  test('a logout that comes while the other’s refresh is under way: nobody comes back', async () => {
    const { fixture, store, a, b } = await twoTabs();
    let answer = (_: Response) => {};
    fixture.serve(() => new Promise((resolve) => (answer = resolve)));
    b.session.refresh().catch(() => {});
    await until(() => fixture.sent.length);
    await a.session.clear();
    answer(await rotate(fixture.sent[0]!));
    await until(() => !b.session.advertisingToken);
    await fixture.settle();
    expect([a.session.advertisingToken, b.session.advertisingToken]).toEqual([undefined, undefined]);
    expect(await store.read()).not.toHaveProperty('set.refreshToken');
    expect(names(b.events)).toEqual(['token load']);
    fixture.close();
  });

  test('a set for another user that comes while the other’s refresh is under way wins', async () => {
    const { fixture, store, a, b } = await twoTabs();
    let answer = (_: Response) => {};
    fixture.serve(() => new Promise((resolve) => (answer = resolve)));
    b.session.refresh().catch(() => {});
    await until(() => fixture.sent.length);
    await a.session.setTokens(success(9));
    answer(await answersSealed({ status: 'optout' })(fixture.sent[0]!));
    await until(() => b.session.advertisingToken === 'advertising-9');
    await fixture.settle();
    expect([a.session.advertisingToken, b.session.advertisingToken]).toEqual(['advertising-9', 'advertising-9']);
    expect(await store.read()).toMatchObject({ set: { advertisingToken: 'advertising-9' } });
    expect(names(b.events)).toEqual(['token load', 'token tab']);
    fixture.close();
  });

  test('a logout and the same set again, while the other’s refresh is under way: the late answer does not count', async () => {
    const { fixture, store, a, b } = await twoTabs();
    let answer = (_: Response) => {};
    fixture.serve(() => new Promise((resolve) => (answer = resolve)));
    b.session.refresh().catch(() => {});
    await until(() => fixture.sent.length);
    // The news does not get through, so the other tab has no reason to give up.
    vi.spyOn(BroadcastChannel.prototype, 'postMessage').mockImplementation(() => {});
    await a.session.clear();
    await a.session.setTokens(success(1, START));
    answer(await answersSealed({ status: 'optout' })(fixture.sent[0]!));
    await until(() => b.session.state.waitingFor === undefined);
    await fixture.settle();
    expect(await store.read()).toMatchObject({ generation: 3, set: { advertisingToken: 'advertising-1' } });
    expect([a.session.advertisingToken, b.session.advertisingToken]).toEqual(['advertising-1', 'advertising-1']);
    expect(names(b.events)).toEqual(['token load']);
    fixture.close();
  });

  test('over IndexedDB as over memory', async () => {
    const fixture = createFixture();
    const name = `tabs-${testNumber++}`;
    const a = fixture.open({ name, store: indexedDbStore(name) });
    const b = fixture.open({ name, store: indexedDbStore(name) });
    await Promise.all([a.session.ready, b.session.ready]);
    await a.session.setTokens(success(1));
    await until(() => b.session.advertisingToken === 'advertising-1');
    await b.session.clear();
    await until(() => !a.session.advertisingToken);
    expect(names(a.events)).toEqual(['needsTokens empty', 'token set']);
    fixture.close();
  });
});

test('a session of another name hears nothing', async () => {
  const fixture = createFixture();
  const a = fixture.open({ name: `tabs-${testNumber++}` });
  const other = fixture.open({ name: `tabs-${testNumber++}` });
  await Promise.all([a.session.ready, other.session.ready]);
  await a.session.setTokens(success(1));
  await fixture.settle();
  expect(other.session.advertisingToken).toBeUndefined();
  expect(names(other.events)).toEqual(['needsTokens empty']);
  fixture.close();
});

test('a tab that missed the news (frozen, no channel) finds it when it is seen again', async () => {
  vi.stubGlobal('BroadcastChannel', undefined);
  const { fixture, a, b } = await twoTabs();
  await a.session.setTokens(success(5));
  await fixture.settle();
  expect(b.session.advertisingToken).toBe('advertising-1');
  setVisible(true);
  await until(() => b.session.advertisingToken === 'advertising-5');
  expect(names(b.events)).toEqual(['token load', 'token tab']);
  fixture.close();
});

test('a tab that missed a rotation takes it from the store when its own is due, and asks nobody', async () => {
  vi.stubGlobal('BroadcastChannel', undefined);
  const { fixture, store, b, a } = await twoTabs();
  a.session.close();
  await store.update(() => recordOf(2, START + 10 * MINUTE));
  await fixture.advance(15 * MINUTE);
  expect(b.session.advertisingToken).toBe('advertising-2');
  expect(names(b.events)).toEqual(['token load', 'token tab']);
  expect(fixture.sent).toEqual([]);
  fixture.close();
});

test('another tab stored a newer set before this one’s opt-out answer arrived: the newer set stays', async () => {
  const store = memoryStore(recordOf(1));
  const fixture = createFixture(async (sent) => {
    await store.update(() => ({ ...recordOf(4), generation: 2 }));
    return answersSealed({ status: 'optout' })(sent);
  });
  const { session, events } = fixture.open({ store });
  await fixture.advance(15 * MINUTE);
  expect(session.advertisingToken).toBe('advertising-4');
  expect(names(events)).toEqual(['token load', 'token tab']);
  fixture.close();
});

describe('with locks', () => {
  test('one of two tabs refreshes, the other adopts', async () => {
    const locks = fakeLocks();
    const { fixture, a, b } = await twoTabs();
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
    fixture.close();
  });

  test('while another tab is at it nothing is sent, and its news ends the waiting', async () => {
    const locks = fakeLocks();
    const fixture = createFixture();
    const name = `tabs-${testNumber++}`;
    const store = memoryStore(recordOf(1));
    const { session, events } = fixture.open({ store, name });
    locks.held.add(name);
    await fixture.advance(15 * MINUTE);
    expect(fixture.sent).toEqual([]);
    await store.update(() => recordOf(2));
    const other = new BroadcastChannel(name);
    other.postMessage(0);
    await until(() => session.advertisingToken === 'advertising-2');
    other.close();
    await fixture.settle();
    expect(names(events)).toEqual(['token load', 'token tab']);
    expect(fixture.sent).toEqual([]);
    fixture.close();
  });

  test('where the other tab never tells, the store is read after 12 s, and the page goes on by itself', async () => {
    const locks = fakeLocks();
    const fixture = createFixture();
    const name = `tabs-${testNumber++}`;
    const { session } = fixture.open({ store: memoryStore(recordOf(1)), name });
    locks.held.add(name);
    await fixture.advance(15 * MINUTE + 1000);
    locks.held.delete(name);
    await fixture.advance(10_000);
    expect(fixture.sent).toEqual([]);
    await fixture.advance(30_000);
    expect(session.advertisingToken).toBe('advertising-2');
    fixture.close();
  });

  test('a lock that is never given back is no storm of tries', async () => {
    const locks = fakeLocks();
    const fixture = createFixture();
    const name = `tabs-${testNumber++}`;
    const { session, events } = fixture.open({ store: memoryStore(recordOf(1)), name });
    locks.held.add(name);
    await fixture.advance(40 * MINUTE);
    // One look every 12 s, for 25 minutes.
    expect(locks.asked.length).toBeLessThanOrEqual(126);
    expect(fixture.sent).toEqual([]);
    expect(session.advertisingToken).toBe('advertising-1');
    expect(names(events)).toEqual(['token load']);
    fixture.close();
  });

  test.each([
    ['refused (a sandboxed frame)', () => Promise.reject(new DOMException('denied', 'SecurityError'))],
    [
      'refused on the spot',
      () => {
        throw new DOMException('denied', 'SecurityError');
      },
    ],
  ])('locks that are %s: the page goes on alone', async (_, request) => {
    Object.defineProperty(navigator, 'locks', { configurable: true, value: { request } });
    const fixture = createFixture();
    const { session, events } = fixture.openStored();
    await fixture.advance(15 * MINUTE);
    expect(session.advertisingToken).toBe('advertising-2');
    expect(names(events)).toEqual(['token load', 'token refresh']);
    fixture.close();
  });

  test('a refresh that fails under the lock is sent once, not again without it', async () => {
    fakeLocks();
    const fixture = createFixture(offline);
    const { session } = fixture.openStored();
    await session.ready;
    await expect(session.refresh()).rejects.toMatchObject({ code: 'network' });
    expect(fixture.sent).toHaveLength(1);
    fixture.close();
  });

  test('close in the middle of a refresh gives the lock back', async () => {
    const locks = fakeLocks();
    const fixture = createFixture(() => new Promise(() => {}));
    const { session } = fixture.openStored();
    await fixture.advance(15 * MINUTE);
    expect(locks.held.size).toBe(1);
    session.close();
    await fixture.settle();
    expect(locks.held.size).toBe(0);
  });
});

/** Pages that are frozen, kept in the back/forward cache, restored, or there twice: what they know, and what they hold on to. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { memoryStore, type Store } from '../../src/session/index.ts';
import { HOUR, MINUTE, names, START, until, useFakeClock } from '../support/fixtures.ts';
import {
  createFixture,
  hangs,
  recordOf,
  restoreGlobals,
  rotate,
  sealedFor,
  setVisible,
  success,
  watchRejections,
} from './fixtures.ts';

let testNumber = 0;
beforeEach(() => void useFakeClock());
afterEach(restoreGlobals);

const say = (event: string) =>
  (/^(freeze|resume)$/.test(event) ? document : window).dispatchEvent(new Event(event, { bubbles: true }));

/** A page with set 1 in force, over a store that can be looked into. */
const openPage = async (given: object = {}) => {
  const fixture = createFixture();
  const store = { ...memoryStore(recordOf(1)), close: vi.fn() } satisfies Store;
  const { session, events } = fixture.open({ store, name: `life-${testNumber++}`, ...given });
  await session.ready;
  await fixture.settle();
  return { ...fixture, store, session, events };
};

describe.each([
  ['kept in the back/forward cache', 'pagehide', 'pageshow'],
  ['frozen', 'freeze', 'resume'],
])('a page that is %s', (_, leave, back) => {
  test('gives no token until it has read again, and tells nothing where nothing has happened', async () => {
    const { session, events, settle, close } = await openPage();
    say(leave);
    expect(session.advertisingToken).toBeUndefined();
    expect(session.state).toMatchObject({ waitingFor: 'storage', phase: 'empty' });
    say(back);
    expect(session.advertisingToken).toBeUndefined();
    expect(await session.getToken()).toBe('advertising-1');
    await settle();
    expect(session.state).toMatchObject({ phase: 'fresh', waitingFor: undefined });
    expect(names(events)).toEqual(['token load']);
    close();
  });

  test('never shows a token whose user was logged out meanwhile, nor one who was replaced', async () => {
    const { session, store, events, settle, close } = await openPage();
    const seen = new Set<string | undefined>();
    session.subscribe(() => seen.add(session.advertisingToken));
    say(leave);
    await settle();
    await store.update(() => ({ ...recordOf(7), generation: 3 }));
    say(back);
    seen.add(session.advertisingToken);
    await settle();
    expect(session.advertisingToken).toBe('advertising-7');
    expect([...seen]).not.toContain('advertising-1');
    expect(names(events)).toEqual(['token load', 'token tab']);
    say(leave);
    await store.update(() => ({
      v: 1,
      generation: 4,
      baseUrl: recordOf(1).baseUrl,
      offsetMs: 0,
      clearedAt: Date.now(),
    }));
    say(back);
    await settle();
    expect(session.state.phase).toBe('empty');
    expect(names(events)).toEqual(['token load', 'token tab']);
    close();
  });

  test('reads again also where it stays hidden', async () => {
    const { session, settle, close } = await openPage();
    setVisible(false);
    say(leave);
    say(back);
    await settle();
    expect(session.advertisingToken).toBe('advertising-1');
    close();
  });

  test('does not believe a read from before', async () => {
    let answer = () => {};
    const inner = memoryStore(recordOf(1));
    let isSlow = false;
    const read = async () => {
      const value = await inner.read();
      if (isSlow) await new Promise<void>((resolve) => (answer = resolve));
      return value;
    };
    const { session, settle, close } = await openPage({ store: { ...inner, read } });
    isSlow = true;
    setVisible(true);
    await settle();
    say(leave);
    await inner.update(() => ({ ...recordOf(9), generation: 2 }));
    const fromBefore = answer;
    say(back);
    fromBefore();
    await until(() => answer !== fromBefore);
    await settle();
    expect(session.advertisingToken).toBeUndefined();
    answer();
    await until(() => session.advertisingToken === 'advertising-9');
    close();
  });

  test('gives up its refresh, closes channel and connection, and has no timer', async () => {
    const closed = vi.spyOn(BroadcastChannel.prototype, 'close');
    const { session, store, sent, serve, advance, settle, close } = await openPage();
    serve(hangs);
    await advance(15 * MINUTE);
    expect(sent).toHaveLength(1);
    say(leave);
    expect(sent[0]?.init.signal?.aborted).toBe(true);
    await settle();
    expect(closed).toHaveBeenCalledOnce();
    expect(store.close).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
    serve(rotate);
    say(back);
    await advance(15_000);
    expect(session.advertisingToken).toBe('advertising-2');
    close();
  });

  test('hears of the others again when it is back', async () => {
    const { session, store, settle, open, close } = await openPage({ name: 'life-again' });
    say(leave);
    await settle();
    say(back);
    await until(() => session.advertisingToken);
    const other = open({ store, name: 'life-again' });
    await other.session.clear();
    await until(() => !session.advertisingToken);
    close();
  });

  test('writes what it was told before it left, and the others hear of it', async () => {
    const { session, store, open, settle, close } = await openPage({ name: 'life-logout' });
    const other = open({ store, name: 'life-logout' });
    await other.session.ready;
    void session.clear();
    // The other tab is of another page: it hears no event of this one. The write is still under way.
    session.close();
    say(leave);
    say(back);
    await until(() => !other.session.advertisingToken);
    await settle();
    expect(await store.read()).not.toHaveProperty('set.refreshToken');
    close();
  });

  test('whose store fails when it is back has no token: nobody can say that its user is still there', async () => {
    const inner = memoryStore(recordOf(1));
    const store: Store = { ...inner };
    const provide = vi.fn(async () => success(4));
    const { session, events, advance, close } = await openPage({ store, provide });
    say(leave);
    store.read = store.update = () => new Promise(() => {});
    say(back);
    await advance(1_499);
    expect(session.advertisingToken).toBeUndefined();
    await advance(5_000);
    expect(session.advertisingToken).toBe('advertising-4');
    expect(names(events)).toEqual(['token load', 'error storage_failed', 'token set']);
    close();
  });

  test('a set that is supplied while it is away is written, and shown when it is back', async () => {
    const { session, store, settle, close } = await openPage();
    say(leave);
    const done = session.setTokens(success(6));
    expect(session.advertisingToken).toBeUndefined();
    await done;
    expect(await store.read()).toMatchObject({ set: { advertisingToken: 'advertising-6' } });
    say(back);
    await settle();
    expect(session.advertisingToken).toBe('advertising-6');
    close();
  });
});

test('a page that was away in the middle of a use of the store gives it another chance, and erases nothing', async () => {
  const inner = memoryStore(recordOf(1));
  const store: Store = { ...inner };
  const { session, events, advance, settle, close } = await openPage({ store });
  store.read = () => new Promise(() => {});
  setVisible(true);
  await settle();
  say('pagehide');
  store.read = inner.read;
  await advance(5 * MINUTE);
  say('pageshow');
  await advance(2_000);
  expect(session.advertisingToken).toBe('advertising-1');
  expect(session.state.persistence).toBe('memory');
  expect(names(events)).toEqual(['token load']);
  expect(await inner.read()).toMatchObject({ set: { advertisingToken: 'advertising-1' } });
  close();
});

test('a set that comes while a refresh asks for the lock is told, and not sent', async () => {
  let give = () => {};
  const request = async (_: string, __: unknown, work: (lock: unknown) => unknown) => {
    await new Promise<void>((resolve) => (give = resolve));
    return work({});
  };
  Object.defineProperty(navigator, 'locks', { configurable: true, value: { request } });
  const { session, store, events, sent, advance, settle, close } = await openPage();
  await advance(15 * MINUTE);
  const done = session.setTokens(success(5));
  give();
  await done;
  await settle();
  Reflect.deleteProperty(navigator, 'locks');
  expect(names(events)).toEqual(['token load', 'token set']);
  expect(sent).toEqual([]);
  expect(await store.read()).not.toHaveProperty('run.tries');
  close();
});

test('a page that is opened calls upon the others: one that is in the middle of making the database is evicted by that', async () => {
  const { session, store, open, close } = await openPage({ name: 'life-called' });
  await store.update(() => ({ ...recordOf(3), generation: 2 }));
  open({ store, name: 'life-called' });
  await until(() => session.advertisingToken === 'advertising-3');
  close();
});

test('100 times to the front and to the back, with nothing new: no event', async () => {
  const { session, events, settle, sent, close } = await openPage();
  for (let n = 0; n < 100; n++) {
    setVisible(false);
    setVisible(true);
    window.dispatchEvent(new Event('focus'));
  }
  await settle();
  expect(session.advertisingToken).toBe('advertising-1');
  expect(names(events)).toEqual(['token load']);
  expect(sent).toEqual([]);
  close();
});

test('opened and closed 100 times: no timer, listener, channel or connection is left', async () => {
  const { seen, stop } = watchRejections();
  const opened = vi.fn();
  class Channel extends BroadcastChannel {
    constructor(name: string) {
      super(name);
      opened(1);
    }
    override close() {
      opened(-1);
      super.close();
    }
  }
  vi.stubGlobal('BroadcastChannel', Channel);
  const listeners = new Set<string>();
  const add = window.addEventListener.bind(window);
  const remove = window.removeEventListener.bind(window);
  let left = 0;
  vi.spyOn(window, 'addEventListener').mockImplementation(((...given: Parameters<typeof add>) => {
    listeners.add(given[0]);
    left++;
    add(...given);
  }) as never);
  vi.spyOn(window, 'removeEventListener').mockImplementation(((...given: Parameters<typeof remove>) => {
    left--;
    remove(...given);
  }) as never);
  const fixture = createFixture(hangs);
  const store = memoryStore(recordOf(1, START - 20 * MINUTE));
  for (let n = 0; n < 100; n++) {
    const { session } = fixture.open({ store, name: 'life-100' });
    if (n % 3) await session.ready;
    if (n % 2) void session.refresh();
    session.close();
  }
  await fixture.settle();
  expect(vi.getTimerCount()).toBe(0);
  expect(left).toBe(0);
  expect(listeners.size).toBeGreaterThan(3);
  expect(opened.mock.calls.flat().reduce((sum, one) => sum + one, 0)).toBe(0);
  stop();
  expect(seen).toEqual([]);
});

describe('the clock of the device', () => {
  test('is set back while the page is open: nothing is late, and a page that is opened then knows the time too', async () => {
    const { session, store, sent, advance, open, close } = await openPage();
    await advance(10 * MINUTE);
    vi.setSystemTime(Date.now() - 2 * HOUR);
    await advance(1);
    setVisible(true);
    await advance(1);
    expect(session.state.clockOffsetMs).toBeGreaterThan(2 * HOUR - MINUTE);
    expect(sent).toEqual([]);
    const next = open({ store });
    await next.session.ready;
    expect(next.session.state).toMatchObject({ phase: 'fresh', clockOffsetMs: session.state.clockOffsetMs });
    await advance(6 * MINUTE);
    expect(sent).toHaveLength(1);
    close();
  });

  test('was set back while no page was open: no token before the service has been asked', async () => {
    const fixture = createFixture();
    const store = memoryStore(recordOf(1, START + 2 * HOUR));
    const { session, events } = fixture.open({ store });
    await session.ready;
    expect(session.advertisingToken).toBeUndefined();
    await until(() => session.advertisingToken);
    expect(names(events)).toEqual(['token refresh']);
    expect(fixture.sent).toHaveLength(1);
    fixture.close();
  });

  test.each([1, 24, 40 * 24])('leaps ahead by %d h: one refresh, no loop, nothing deleted', async (hours) => {
    const { session, store, sent, advance, close } = await openPage();
    vi.setSystemTime(Date.now() + hours * HOUR);
    await advance(2 * MINUTE);
    expect(sent).toHaveLength(1);
    expect(session.advertisingToken).toBe('advertising-2');
    expect(await store.read()).toMatchObject({ set: { advertisingToken: 'advertising-2' } });
    close();
  });

  test('runs an hour ahead of a service whose Date cannot be read: a set is good for what it is good for, not for ms', async () => {
    const fixture = createFixture(
      ({ n }) => new Response(sealedFor(n, JSON.stringify(success(n + 1, Date.now() - HOUR)))),
    );
    fixture.open({ store: memoryStore(recordOf(1, START - HOUR)) });
    for (let minute = 0; minute < 360; minute++) await fixture.advance(MINUTE);
    expect(fixture.sent.length).toBeGreaterThan(5);
    expect(fixture.sent.length).toBeLessThanOrEqual(25);
    fixture.close();
  });

  test('is right, but the device sleeps in the middle of a refresh: an expired token is not taken for a good one', async () => {
    let answer = (_: Response) => {};
    const fixture = createFixture(() => new Promise((resolve) => (answer = resolve)));
    const { session, events } = fixture.open({ store: memoryStore(recordOf(1)) });
    await fixture.advance(15 * MINUTE);
    const late = await rotate(fixture.sent[0]!);
    vi.setSystemTime(Date.now() + 8 * HOUR);
    answer(late);
    await fixture.settle();
    expect(session.advertisingToken).toBeUndefined();
    expect(session.state.clockOffsetMs).toBeUndefined();
    expect(names(events)).not.toContain('token refresh');
    fixture.close();
  });
});

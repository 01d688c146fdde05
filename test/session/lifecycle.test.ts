/** Pages that are hidden, frozen, or kept in the back/forward cache: what they read again when they return. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { memoryStore, type Store } from '../../src/session/index.ts';
import { loaded, MINUTE, names, START, until, useFakeClock } from '../support/clock.ts';
import {
  createFixture,
  dispatch,
  hangs,
  openLoaded,
  recordOf,
  restoreGlobals,
  rotate,
  setVisible,
  showSilently,
  success,
} from './fixtures.ts';

beforeEach(() => void useFakeClock());
afterEach(restoreGlobals);

describe.each([
  ['kept in the back/forward cache', 'pagehide', 'pageshow'],
  ['frozen', 'freeze', 'resume'],
])('a page that is %s', (_, leave, comeBack) => {
  test('returns no token until it has read the store again, and emits no event if nothing changed', async () => {
    const { session, events, settle } = await openLoaded();
    dispatch(leave);
    expect(session.advertisingToken).toBeUndefined();
    expect(session.state).toMatchObject({ waitingFor: 'storage', phase: 'empty' });
    dispatch(comeBack);
    expect(session.advertisingToken).toBeUndefined();
    expect(await session.getToken()).toBe('advertising-1');
    await settle();
    expect(session.state).toMatchObject({ phase: 'fresh', waitingFor: undefined });
    expect(names(events)).toEqual(['token load']);
  });

  test('never returns its old token after another tab replaced the user or logged out', async () => {
    const { session, store, events, settle } = await openLoaded();
    const seen = new Set<string | undefined>();
    session.subscribe(() => seen.add(session.advertisingToken));
    dispatch(leave);
    await settle();
    await store.update(() => ({ ...recordOf(7), generation: 3 }));
    dispatch(comeBack);
    seen.add(session.advertisingToken);
    await settle();
    expect(session.advertisingToken).toBe('advertising-7');
    expect([...seen]).not.toContain('advertising-1');
    expect(names(events)).toEqual(['token load', 'token tab']);
    dispatch(leave);
    await store.update(() => ({
      v: 2,
      generation: 4,
      baseUrl: recordOf(1).baseUrl,
      offsetMs: 0,
      changedAt: Date.now(),
    }));
    dispatch(comeBack);
    await settle();
    expect(session.state.phase).toBe('empty');
    expect(names(events)).toEqual(['token load', 'token tab']);
  });

  test('reads the store again even if it stays hidden', async () => {
    const { session, settle } = await openLoaded();
    setVisible(false);
    dispatch(leave);
    dispatch(comeBack);
    await settle();
    expect(session.advertisingToken).toBe('advertising-1');
  });

  test('ignores the result of a read that started before it left', async () => {
    let answer = () => {};
    const inner = memoryStore(recordOf(1));
    let isSlow = false;
    const read = async () => {
      const value = await inner.read();
      if (isSlow) await new Promise<void>((resolve) => (answer = resolve));
      return value;
    };
    const { session, settle } = await openLoaded({ store: { ...inner, read } });
    isSlow = true;
    setVisible(true);
    await settle();
    dispatch(leave);
    await inner.update(() => ({ ...recordOf(9), generation: 2 }));
    const finishOldRead = answer;
    dispatch(comeBack);
    finishOldRead();
    await until(() => answer !== finishOldRead);
    await settle();
    expect(session.advertisingToken).toBeUndefined();
    answer();
    await until(() => session.advertisingToken === 'advertising-9');
  });

  test('aborts its refresh, closes its channel and its database connection, and has no timer', async () => {
    const closed = vi.spyOn(BroadcastChannel.prototype, 'close');
    const { session, store, sent, serve, advance, settle } = await openLoaded();
    serve(hangs);
    await advance(15 * MINUTE);
    expect(sent).toHaveLength(1);
    dispatch(leave);
    expect(sent[0]?.init.signal?.aborted).toBe(true);
    await settle();
    expect(closed).toHaveBeenCalledOnce();
    expect(store.close).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
    serve(rotate);
    dispatch(comeBack);
    await advance(15_000);
    expect(session.advertisingToken).toBe('advertising-2');
  });

  test('shows no stored token while its store is late when it returns: the user may have logged out in another tab', async () => {
    const inner = memoryStore(recordOf(1));
    const store: Store = { ...inner };
    const provide = vi.fn(async () => success(4));
    const { session, events, advance } = await openLoaded({ store, provide });
    dispatch(leave);
    store.read = store.update = () => new Promise(() => {});
    dispatch(comeBack);
    await advance(1_499);
    expect(session.advertisingToken).toBeUndefined();
    await advance(5_000);
    expect(session.advertisingToken).toBe('advertising-4');
    expect(names(events)).toEqual(['token load', 'token provide']);
  });

  test('writes a set supplied while it is away, and returns its token when it comes back', async () => {
    const { session, store, settle } = await openLoaded();
    dispatch(leave);
    const done = session.setTokens(success(6));
    expect(session.advertisingToken).toBeUndefined();
    await done;
    expect(await store.read()).toMatchObject({ set: { advertisingToken: 'advertising-6' } });
    dispatch(comeBack);
    await settle();
    expect(session.advertisingToken).toBe('advertising-6');
  });
});

describe('a page that stays after `pagehide`', () => {
  test.each([
    [
      '`pageshow` without a restored page',
      () => window.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: false })),
    ],
    ['a change of its visibility', () => dispatch('visibilitychange')],
    ['a focus', () => window.dispatchEvent(new Event('focus'))],
  ])('continues at %s: it reads the store, refreshes when due, and hears other tabs', async (_, show) => {
    const { session, store, serve, open, advance, settle } = await openLoaded({ name: 'stays' });
    dispatch('pagehide');
    await settle();
    show();
    await settle();
    expect(session.advertisingToken).toBe('advertising-1');
    serve(rotate);
    await advance(16 * MINUTE);
    expect(session.advertisingToken).toBe('advertising-2');
    await open({ store, name: 'stays' }).session.clear();
    await until(() => !session.advertisingToken);
  });

  test('that is left again at last stays disconnected, also if it was hidden and shown without an event before', async () => {
    const closed = vi.spyOn(BroadcastChannel.prototype, 'close');
    const { session, advance, settle } = await openLoaded();
    setVisible(false);
    await advance(5_000);
    showSilently();
    dispatch('pagehide');
    await settle();
    await advance(10_000);
    dispatch('pagehide');
    await settle();
    expect(closed).toHaveBeenCalledOnce();
    expect(session.advertisingToken).toBeUndefined();
  });

  test('continues when it calls the session, unless it has only just been left', async () => {
    const closed = vi.spyOn(BroadcastChannel.prototype, 'close');
    const { session, advance, settle } = await openLoaded();
    dispatch('pagehide');
    expect(session.advertisingToken).toBeUndefined();
    await settle();
    expect(closed).toHaveBeenCalledOnce();
    await advance(3_000);
    expect(await session.getToken()).toBe('advertising-1');
  });
});

test('a page that is shown again without an event returns no token until it has read the store', async () => {
  const { session, store, settle } = await openLoaded();
  setVisible(false);
  vi.setSystemTime(START + MINUTE);
  // The user logged out in another tab, whose message was missed.
  await store.update(() => ({ ...recordOf(1, START), set: undefined, generation: 2, changedAt: START }));
  showSilently();
  expect(session.advertisingToken).toBeUndefined();
  await settle();
  expect(session.state).toMatchObject({ phase: 'empty', generation: 2 });
});

test('a change announced while a page was leaving does not replace the read when it returns', async () => {
  const fixture = createFixture();
  const inner = memoryStore(recordOf(1));
  let finish = () => {};
  const store: Store = {
    ...inner,
    update: async (change) => {
      await new Promise<void>((resolve) => (finish = resolve));
      return inner.update(change);
    },
  };
  const { session } = await loaded(fixture.open({ name: 'leaves', store }));
  void session.setTokens(success(4));
  await fixture.settle();
  const other = new BroadcastChannel('leaves');
  dispatch('pagehide');
  other.postMessage(1);
  await fixture.settle();
  finish();
  await fixture.settle();
  await inner.update((record) => ({ ...(record as object), generation: 9, set: undefined, changedAt: Date.now() }));
  dispatch('pageshow');
  expect(session.advertisingToken).toBeUndefined();
  other.close();
  await fixture.settle();
  expect(session.advertisingToken).toBeUndefined();
});

test('a page whose call is confirmed only after it has come back returns no token before it has read the store again', async () => {
  const inner = memoryStore(recordOf(1));
  let confirm = () => {};
  let answer = () => {};
  const store: Store = { ...inner };
  const { session, settle } = await openLoaded({ store });
  store.update = async (change) => {
    await inner.update(change);
    await new Promise<void>((resolve) => (confirm = resolve));
  };
  store.read = async () => {
    await new Promise<void>((resolve) => (answer = resolve));
    return inner.read();
  };
  dispatch('pagehide');
  void session.setTokens(success(4));
  await settle();
  await inner.update((record) => ({ ...(record as object), generation: 9, set: undefined, changedAt: Date.now() }));
  dispatch('pageshow');
  confirm();
  await settle();
  expect(session.advertisingToken).toBeUndefined();
  answer();
  await settle();
  expect(session.state).toMatchObject({ phase: 'empty', waitingFor: undefined });
});

test('a page that reads the token while its store is being read again is told when the token is there: a caller that saw none would otherwise never look again', async () => {
  const { session, ...fixture } = await openLoaded();
  const seen: unknown[] = [];
  session.subscribe(() => seen.push(session.advertisingToken));
  setVisible(false);
  await fixture.advance(3_000);
  setVisible(true);
  expect(session.advertisingToken).toBeUndefined();
  await fixture.settle();
  expect(seen.at(-1)).toBe('advertising-1');
});

test('`state` is one object while a refresh is due and its timer is late', async () => {
  const { session } = await openLoaded();
  // A long task of the page: time passes, and no timer runs.
  vi.setSystemTime(Date.now() + 15 * MINUTE);
  vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 15 * MINUTE);
  const first = session.state;
  vi.setSystemTime(Date.now() + 10);
  expect(first.next).toEqual({ action: 'refresh', reason: 'in_progress' });
  expect(session.state).toBe(first);
});

/** Pages that are hidden, frozen, or kept in the back/forward cache: what they read again when they return. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { memoryStore, type Store } from '../../src/session/index.ts';
import { MINUTE, names, START, until, useFakeClock } from '../support/fixtures.ts';
import {
  createFixture,
  dispatch,
  hangs,
  openLoaded,
  recordOf,
  restoreGlobals,
  rotate,
  setVisible,
  success,
} from './fixtures.ts';

beforeEach(() => void useFakeClock());
afterEach(restoreGlobals);

describe.each([
  ['kept in the back/forward cache', 'pagehide', 'pageshow'],
  ['frozen', 'freeze', 'resume'],
])('a page that is %s', (_, leave, back) => {
  test('gives no token until it has read again, and tells nothing where nothing has happened', async () => {
    const { session, events, settle, close } = await openLoaded();
    dispatch(leave);
    expect(session.advertisingToken).toBeUndefined();
    expect(session.state).toMatchObject({ waitingFor: 'storage', phase: 'empty' });
    dispatch(back);
    expect(session.advertisingToken).toBeUndefined();
    expect(await session.getToken()).toBe('advertising-1');
    await settle();
    expect(session.state).toMatchObject({ phase: 'fresh', waitingFor: undefined });
    expect(names(events)).toEqual(['token load']);
    close();
  });

  test('never shows a token whose user was logged out meanwhile, nor one who was replaced', async () => {
    const { session, store, events, settle, close } = await openLoaded();
    const seen = new Set<string | undefined>();
    session.subscribe(() => seen.add(session.advertisingToken));
    dispatch(leave);
    await settle();
    await store.update(() => ({ ...recordOf(7), generation: 3 }));
    dispatch(back);
    seen.add(session.advertisingToken);
    await settle();
    expect(session.advertisingToken).toBe('advertising-7');
    expect([...seen]).not.toContain('advertising-1');
    expect(names(events)).toEqual(['token load', 'token tab']);
    dispatch(leave);
    await store.update(() => ({
      v: 1,
      generation: 4,
      baseUrl: recordOf(1).baseUrl,
      offsetMs: 0,
      clearedAt: Date.now(),
    }));
    dispatch(back);
    await settle();
    expect(session.state.phase).toBe('empty');
    expect(names(events)).toEqual(['token load', 'token tab']);
    close();
  });

  test('reads again also where it stays hidden', async () => {
    const { session, settle, close } = await openLoaded();
    setVisible(false);
    dispatch(leave);
    dispatch(back);
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
    const { session, settle, close } = await openLoaded({ store: { ...inner, read } });
    isSlow = true;
    setVisible(true);
    await settle();
    dispatch(leave);
    await inner.update(() => ({ ...recordOf(9), generation: 2 }));
    const fromBefore = answer;
    dispatch(back);
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
    const { session, store, sent, serve, advance, settle, close } = await openLoaded();
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
    dispatch(back);
    await advance(15_000);
    expect(session.advertisingToken).toBe('advertising-2');
    close();
  });

  test('hears of the others again when it is back', async () => {
    const { session, store, settle, open, close } = await openLoaded({ name: 'life-again' });
    dispatch(leave);
    await settle();
    dispatch(back);
    await until(() => session.advertisingToken);
    const other = open({ store, name: 'life-again' });
    await other.session.clear();
    await until(() => !session.advertisingToken);
    close();
  });

  test('writes what it was told before it left, and the others hear of it', async () => {
    const { session, store, open, settle, close } = await openLoaded({ name: 'life-logout' });
    const other = open({ store, name: 'life-logout' });
    await other.session.ready;
    void session.clear();
    // The other tab is of another page: it hears no event of this one. The write is still under way.
    session.close();
    dispatch(leave);
    dispatch(back);
    await until(() => !other.session.advertisingToken);
    await settle();
    expect(await store.read()).not.toHaveProperty('set.refreshToken');
    close();
  });

  test('whose store fails when it is back has no token: nobody can say that its user is still there', async () => {
    const inner = memoryStore(recordOf(1));
    const store: Store = { ...inner };
    const provide = vi.fn(async () => success(4));
    const { session, events, advance, close } = await openLoaded({ store, provide });
    dispatch(leave);
    store.read = store.update = () => new Promise(() => {});
    dispatch(back);
    await advance(1_499);
    expect(session.advertisingToken).toBeUndefined();
    await advance(5_000);
    expect(session.advertisingToken).toBe('advertising-4');
    expect(names(events)).toEqual(['token load', 'error storage_failed', 'token set']);
    close();
  });

  test('a set that is supplied while it is away is written, and shown when it is back', async () => {
    const { session, store, settle, close } = await openLoaded();
    dispatch(leave);
    const done = session.setTokens(success(6));
    expect(session.advertisingToken).toBeUndefined();
    await done;
    expect(await store.read()).toMatchObject({ set: { advertisingToken: 'advertising-6' } });
    dispatch(back);
    await settle();
    expect(session.advertisingToken).toBe('advertising-6');
    close();
  });
});

test('a page that was away in the middle of a use of the store gives it another chance, and erases nothing', async () => {
  const inner = memoryStore(recordOf(1));
  const store: Store = { ...inner };
  const { session, events, advance, settle, close } = await openLoaded({ store });
  store.read = () => new Promise(() => {});
  setVisible(true);
  await settle();
  dispatch('pagehide');
  store.read = inner.read;
  await advance(5 * MINUTE);
  dispatch('pageshow');
  await advance(2_000);
  expect(session.advertisingToken).toBe('advertising-1');
  expect(session.state.persistence).toBe('memory');
  expect(names(events)).toEqual(['token load']);
  expect(await inner.read()).toMatchObject({ set: { advertisingToken: 'advertising-1' } });
  close();
});

test('100 times to the front and to the back, with nothing new: no event', async () => {
  const { session, events, settle, sent, close } = await openLoaded();
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

test('news that arrives while a page is leaving is not believed when it comes back', async () => {
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
  const { session } = fixture.open({ name: 'leaves', store });
  await session.ready;
  void session.setTokens(success(4));
  await fixture.settle();
  const other = new BroadcastChannel('leaves');
  dispatch('pagehide');
  other.postMessage(1);
  await fixture.settle();
  finish();
  await fixture.settle();
  await inner.update((record) => ({ ...(record as object), generation: 9, set: undefined, clearedAt: Date.now() }));
  dispatch('pageshow');
  expect(session.advertisingToken).toBeUndefined();
  other.close();
  await fixture.settle();
  expect(session.advertisingToken).toBeUndefined();
  fixture.close();
});

test.each([
  ['is of another operator', { ...recordOf(5), baseUrl: 'https://other.example' }],
  ['is damaged', { v: 1, generation: 'x' }],
  ['is null', null],
])('a page from the cache whose record %s by then has no user', async (_, value) => {
  const fixture = createFixture();
  const store = memoryStore(recordOf(1, START));
  const { session } = fixture.open({ store });
  await session.ready;
  dispatch('pagehide');
  await fixture.settle();
  await store.update(() => value);
  dispatch('pageshow');
  await fixture.settle();
  expect(session.advertisingToken).toBeUndefined();
  fixture.close();
});

test.each([
  ['that was frozen meanwhile', 'freeze', 'resume'],
  ['from the back/forward cache', 'pagehide', 'pageshow'],
])('a page %s finds its store erased: nobody is there any more', async (_, leave, comeBack) => {
  const fixture = createFixture();
  const store = memoryStore(recordOf(1));
  const { session } = fixture.open({ store });
  await session.ready;
  expect(session.advertisingToken).toBe('advertising-1');
  dispatch(leave);
  await store.update(() => undefined);
  dispatch(comeBack);
  expect(session.advertisingToken).toBeUndefined();
  await fixture.settle();
  expect(session.advertisingToken).toBeUndefined();
  expect(session.state.phase).toBe('empty');
  fixture.close();
});

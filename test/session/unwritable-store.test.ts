/** A store that cannot be written to, as on a full disk: a logout still erases what is stored, in every tab. */

import { describe, expect, test, vi } from 'vitest';
import { memoryStore, type Session, type Store } from '../../src/session/index.ts';
import { loaded, MINUTE, names, START } from '../support/clock.ts';
import { dispatch, fixtureForEachTest, fullStore, recordOf, success } from './fixtures.ts';

const fixture = fixtureForEachTest();

describe('a store that cannot be written to', () => {
  test.each<[string, (session: Session) => Promise<void>]>([
    ['a logout', (session) => session.clear()],
    ['an opt-out', (session) => session.setTokens({ status: 'optout' })],
  ])('contains no set after %s', async (_, leave) => {
    const inner = memoryStore(recordOf(1));
    const { session } = await loaded(fixture.open({ store: fullStore(inner) }));
    await leave(session);
    expect(session.advertisingToken).toBeUndefined();
    expect(JSON.stringify(await inner.read()) ?? '').not.toMatch(/advertising-|refresh-/);
  });

  test('contains nothing after a switch of user, even once there is space again: the page continues in memory', async () => {
    const inner = memoryStore(recordOf(1));
    let isFull = true;
    const store: Store = { ...inner, update: (change) => (isFull ? fullStore(inner) : inner).update(change) };
    const { session } = await loaded(fixture.open({ store }));
    await session.setTokens(success(4));
    expect(await inner.read()).toBeUndefined();
    isFull = false;
    await session.setTokens(success(5));
    expect(session.advertisingToken).toBe('advertising-5');
    expect(session.state.persistence).toBe('memory');
    expect(await inner.read()).toBeUndefined();
  });

  test('is not erased by an earlier logout after another tab has written a new set', async () => {
    const inner = memoryStore(recordOf(1));
    const { session } = await loaded(fixture.open({ store: fullStore(inner) }));
    await session.clear();
    const healthy = fixture.open({ store: inner });
    await healthy.session.setTokens(success(7));
    await fixture.advance(3_000);
    expect(await inner.read()).toMatchObject({ set: { advertisingToken: 'advertising-7' } });
  });

  test('keeps its set if a refresh cannot be written', async () => {
    const inner = memoryStore(recordOf(1));
    const { session } = await loaded(fixture.open({ store: fullStore(inner) }));
    await fixture.advance(15 * MINUTE);
    expect(session.advertisingToken).toBe('advertising-2');
    expect(await inner.read()).toMatchObject({ set: { advertisingToken: 'advertising-1' } });
  });

  test('keeps the tombstone of an opt-out that the page never read, and loses the set behind it', async () => {
    const inner = memoryStore({ ...recordOf(1), generation: 8, optedOut: true });
    const { session } = await loaded(
      fixture.open({ store: { ...inner, read: () => Promise.reject(new Error('no')) } }),
    );
    await session.clear();
    expect(await inner.read()).toMatchObject({ generation: 9, optedOut: true });
    expect(await inner.read()).not.toHaveProperty('set.refreshToken');
  });

  test('and may keep the former user, although the page was rendered for another: a second error says so', async () => {
    const store: Store = { ...memoryStore(recordOf(1)), update: () => Promise.reject(new Error('full')) };
    const { session, events } = await loaded(fixture.open({ store, tokens: success(2, START + 1) }));
    await fixture.settle();
    expect(session.advertisingToken).toBe('advertising-2');
    expect(names(events)).toEqual(['error storage_failed', 'token set', 'error storage_failed']);
  });
});

test('a tab that continues in memory keeps its opt-out, whatever another tab does', async () => {
  const inner = memoryStore(recordOf(1));
  const tab = await loaded(fixture.open({ name: 'opted-out', store: fullStore(inner) }));
  await tab.session.setTokens({ status: 'optout' });
  const other = fixture.open({ name: 'opted-out', store: inner });
  await other.session.clear();
  await fixture.settle();
  expect(tab.session.state.phase).toBe('optedOut');
  fixture.serve(() => new Promise(() => {}));
  await tab.session.setTokens(success(2));
  expect(tab.session.advertisingToken).toBeUndefined();
});

describe('a logout on a full disk', () => {
  test.each(['close', 'pagehide'])('is announced to other tabs even if %s follows at once', async (how) => {
    const inner = memoryStore(recordOf(1));
    const other = new BroadcastChannel('full');
    const messages: unknown[] = [];
    other.onmessage = ({ data }) => messages.push(data);
    const { session } = await loaded(fixture.open({ name: 'full', store: fullStore(inner) }));
    await fixture.settle();
    void session.clear();
    if (how === 'close') session.close();
    else dispatch('pagehide');
    await fixture.settle();
    expect(await inner.read()).toBeUndefined();
    other.close();
    expect(messages).not.toEqual([]);
  });

  test('makes no other tab call `provide`', async () => {
    const inner = memoryStore(recordOf(1));
    const provide = vi.fn(async () => success(7));
    const other = fixture.open({ name: 'asks', store: inner, provide });
    const { session } = fixture.open({ name: 'asks', store: fullStore(inner) });
    await Promise.all([other.session.ready, session.ready]);
    await session.clear();
    await fixture.settle();
    expect(other.session.advertisingToken).toBeUndefined();
    expect(provide).not.toHaveBeenCalled();
  });
});

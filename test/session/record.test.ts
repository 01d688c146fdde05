/** The stored record: a damaged one reads as absent, and a valid one contains exactly the documented fields. */

import { describe, expect, test, vi } from 'vitest';
import { memoryStore } from '../../src/session/index.ts';
import { HOUR, loaded, MINUTE, names, until } from '../support/clock.ts';
import { createFixture, fixtureForEachTest, recordOf, rotate, setVisible, success } from './fixtures.ts';

const fixture = fixtureForEachTest();

describe('a damaged record', () => {
  test('reads as absent, and is overwritten', async () => {
    const store = memoryStore({ ...recordOf(1), generation: 1n });
    const { session, events } = await loaded(fixture.open({ store }));
    await fixture.settle();
    expect(session.state).toMatchObject({ phase: 'empty', lastError: undefined });
    await session.setTokens(success(2));
    expect(await store.read()).toMatchObject({ v: 2, set: { advertisingToken: 'advertising-2' } });
    expect(names(events)).toEqual(['needsTokens empty', 'token set']);
  });

  test.each<[string, unknown, boolean]>([
    ['damaged, and the page reads it', { v: 'nonsense' }, true],
    ['emptied, and the page reads it', undefined, true],
    ['emptied, and a refresh is due', undefined, false],
  ])('a store that is %s: the user is signed out, and nothing is sent or written', async (_, stored, isRead) => {
    const provide = vi.fn(async () => success(9));
    const { session, store, events } = await loaded(fixture.openStored({ provide }));
    await store.update(() => stored);
    if (isRead) setVisible(true);
    await fixture.settle();
    await fixture.advance(15 * MINUTE);
    expect(session.advertisingToken).toBeUndefined();
    expect(session.state).toMatchObject({ phase: 'empty', next: { reason: 'host' } });
    expect(fixture.sent).toEqual([]);
    expect(provide).not.toHaveBeenCalled();
    expect(await store.read()).toBe(stored);
    expect(names(events)).toEqual(['token load']);
    await session.signIn();
    expect(session.advertisingToken).toBe('advertising-9');
  });

  test('a store that is emptied during a refresh stays empty, whatever the service answers', async () => {
    let answer = () => {};
    const fixture = createFixture(async (sent) => {
      await new Promise<void>((resolve) => (answer = resolve));
      return rotate(sent);
    });
    const { session, store } = fixture.openStored();
    await fixture.advance(15 * MINUTE);
    await store.update(() => undefined);
    answer();
    await until(() => !session.advertisingToken);
    await fixture.settle();
    expect(await store.read()).toBeUndefined();
    expect(session.state.phase).toBe('empty');
  });
});

test('the record contains the set, generation, times, clock offset and operator, and nothing else', async () => {
  const { session, store } = fixture.open();
  await session.setTokens(success(1));
  const first = recordOf(1);
  expect(await store.read()).toEqual(first);
  await fixture.advance(HOUR / 4);
  const refreshed = { ...recordOf(2), changedAt: first.changedAt };
  expect(await store.read()).toEqual(refreshed);
  await session.clear();
  const { v, baseUrl, offsetMs, acceptedUntil } = refreshed;
  const empty = { v, baseUrl, offsetMs, receivedAt: 0, changedAt: Date.now(), acceptedUntil };
  expect(await store.read()).toEqual({ ...empty, generation: 2 });
  await session.setTokens({ status: 'optout' });
  expect(await store.read()).toEqual({ ...empty, generation: 3, changedAt: empty.changedAt + 1, optedOut: true });
});

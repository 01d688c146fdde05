/** Sets from the host: the `tokens` option, `setTokens`, and pages that are rendered with an older set. */

import { describe, expect, test } from 'vitest';
import { memoryStore } from '../../src/session/index.ts';
import { loaded, names, START } from '../support/clock.ts';
import { fixtureForEachTest, recordOf, success } from './fixtures.ts';

const fixture = fixtureForEachTest();

describe('the `tokens` option', () => {
  test('is in force and stored', async () => {
    const { session, store, events } = fixture.open({ tokens: success(1) });
    expect(await session.getToken()).toBe('advertising-1');
    await fixture.settle();
    expect(await store.read()).toMatchObject({ set: { advertisingToken: 'advertising-1' } });
    expect(names(events)).toEqual(['token set']);
  });

  test('may be an opt-out', async () => {
    const { session, events } = fixture.openStored({ tokens: { status: 'optout' } });
    await fixture.settle();
    await session.ready;
    expect(session.state.phase).toBe('optedOut');
    expect(names(events)).toEqual(['optout']);
  });

  test('causes one error and leaves the stored set alone if it is no set', async () => {
    const store = memoryStore(recordOf(1));
    const { session, events } = await loaded(fixture.open({ store, tokens: 'text' as never }));
    await fixture.settle();
    expect(names(events).sort()).toEqual(['error invalid_token_set', 'token load']);
    expect(session.advertisingToken).toBe('advertising-1');
    expect(await store.read()).toEqual(recordOf(1));
  });
});

describe('setTokens()', () => {
  test.each<[string, unknown]>([
    ['a string', 'text'],
    ['a refusal', { status: 'unauthorized' }],
  ])('of %s rejects with `invalid_token_set` and changes nothing but `state.lastError`', async (_, answer) => {
    const { session, store, events } = await loaded(fixture.openStored());
    await fixture.settle();
    const { state } = session;
    await expect(session.setTokens(answer as never)).rejects.toMatchObject({
      name: 'TokenError',
      code: 'invalid_token_set',
    });
    await fixture.settle();
    expect(session.state).toEqual({ ...state, lastError: expect.objectContaining({ code: 'invalid_token_set' }) });
    expect(session.advertisingToken).toBe('advertising-1');
    expect(await store.read()).toEqual(recordOf(1, START));
    expect(names(events)).toEqual(['token load']);
  });

  test('changes the token at once and emits it after the write', async () => {
    const store = memoryStore();
    let write = () => {};
    const { session, events } = await loaded(
      fixture.open({
        store: {
          ...store,
          update: async (change) => {
            await new Promise<void>((resolve) => (write = resolve));
            return store.update(change);
          },
        },
      }),
    );
    await fixture.settle();
    const done = session.setTokens(success(1));
    expect(session.advertisingToken).toBe('advertising-1');
    await fixture.settle();
    expect(names(events)).toEqual(['needsTokens empty']);
    write();
    await done;
    await fixture.settle();
    expect(names(events)).toEqual(['needsTokens empty', 'token set']);
  });

  test('of the set that is already in force emits nothing', async () => {
    const { session, events } = await loaded(fixture.openStored());
    await session.setTokens(success(1));
    await fixture.settle();
    expect(names(events)).toEqual(['token load']);
  });

  test('called several times at once leaves the last set in force, in page and store', async () => {
    const { session, store, events } = fixture.open();
    await Promise.all([1, 2, 3, 4].map((n) => session.setTokens(success(n))));
    await fixture.settle();
    expect(session.advertisingToken).toBe('advertising-4');
    expect(await store.read()).toMatchObject({ generation: 4, set: { advertisingToken: 'advertising-4' } });
    expect(names(events)).toEqual(['token set']);
  });
});

describe('a page that is rendered with a set', () => {
  /** Supply sets to one page; each is issued, and expires, a second after the one before. */
  const openAfter = async (sets: number[]) => {
    const store = memoryStore();
    const { session } = fixture.open({ store });
    for (const n of sets) {
      await fixture.advance(1000);
      await session.setTokens(success(n));
    }
    return { ...fixture, store, session };
  };
  const issued = (n: number) => success(n, START + 1000 * n);

  test('replaces the stored set if its own expires later, also after a logout', async () => {
    const { store, session, open, settle } = await openAfter([1, 2]);
    const next = open({ store, tokens: issued(3) });
    await settle();
    expect(next.session.advertisingToken).toBe('advertising-3');
    await session.clear();
    const later = open({ store, tokens: issued(4) });
    await settle();
    expect(later.session.advertisingToken).toBe('advertising-4');
  });

  test('does not undo a logout', async () => {
    const { store, session, open, settle } = await openAfter([1, 2]);
    await session.clear();
    for (const n of [1, 2]) {
      const again = open({ store, tokens: issued(n) });
      await settle();
      expect(again.session.advertisingToken).toBeUndefined();
    }
  });

  test('puts its set in force after clear({ forget: true }), which leaves no trace of the user in the store', async () => {
    const { store, session, open, settle } = await openAfter([1, 2]);
    await session.clear({ forget: true });
    expect(JSON.stringify(await store.read())).not.toContain('real');
    expect(await store.read()).toMatchObject({ receivedAt: 0, acceptedUntil: 0 });
    const again = open({ store, tokens: issued(1) });
    await settle();
    expect(again.session.advertisingToken).toBe('advertising-1');
  });
});

test('setTokens() right after the start of a page with a known set emits the cause `set`', async () => {
  const { session, events } = fixture.open({ tokens: success(1), store: memoryStore(recordOf(1)) });
  await session.setTokens(success(5));
  await fixture.settle();
  expect(names(events)).toEqual(['token set']);
});

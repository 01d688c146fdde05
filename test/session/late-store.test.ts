/** A store that is late: memory stands in for it, and what was changed meanwhile is stored when it answers. */

import { beforeEach, describe, expect, test, vi } from 'vitest';
import { memoryStore, type Session, type Store } from '../../src/session/index.ts';
import { HOUR, loaded, MINUTE, names, START } from '../support/clock.ts';
import { dispatch, fakeLocks, fixtureForEachTest, recordOf, rotate, setVisible, success } from './fixtures.ts';

const fixture = fixtureForEachTest();

/** A store over `inner` whose operations wait, in their order, while it is held. */
const slowStore = (inner: Store) => {
  let free = () => {};
  let turn = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>) => {
    const done = turn.then(work);
    turn = done.then(
      () => {},
      () => {},
    );
    return done;
  };
  const store = {
    kind: 'slow',
    read: () => inTurn(() => inner.read()),
    update: (change: (stored: unknown) => unknown) => inTurn(() => inner.update(change)),
    close: vi.fn(),
  } satisfies Store;
  const hold = () => (turn = new Promise((resolve) => (free = resolve)));
  return { store, hold, free: () => free() };
};

/** Open a tab whose store is held, and another one over the same record whose store is not. Time passes until the first is late. */
const openLate = async (stored: unknown, options: object = {}) => {
  const inner = memoryStore(stored);
  const slow = slowStore(inner);
  const name = `late-${opened++}`;
  slow.hold();
  const tab = fixture.open({ name, store: slow.store, ...options });
  await fixture.advance(1_500);
  const openOther = async () => {
    const other = await loaded(fixture.open({ name, store: inner }));
    await fixture.settle();
    return other;
  };
  const answer = async () => {
    slow.free();
    await fixture.settle();
  };
  return { ...fixture, ...tab, name, inner, slow, openOther, answer };
};
let opened = 0;

const tokenIn = async (store: Store) =>
  ((await store.read()) as { set?: { advertisingToken: string } })?.set?.advertisingToken;

describe('a page whose store is late when it is opened', () => {
  test('continues in memory after 1.5 s, without an error, and has the stored token when the store answers', async () => {
    const { session, events, answer } = await openLate(recordOf(1));
    await session.ready;
    expect(session.state).toMatchObject({ persistence: 'memory', phase: 'empty', lastError: undefined });
    await answer();
    expect(session.advertisingToken).toBe('advertising-1');
    expect(session.state.persistence).toBe('slow');
    expect(names(events)).toEqual(['needsTokens empty', 'token load']);
  });

  test('has another generation when the stored token replaces the one of `provide`', async () => {
    const { session, answer } = await openLate(recordOf(1), { provide: async () => success(9) });
    await fixture.settle();
    expect(session.advertisingToken).toBe('advertising-9');
    const { generation } = session.state;
    await answer();
    expect(session.advertisingToken).toBe('advertising-1');
    expect(session.state.generation).not.toBe(generation);
  });

  test('keeps the pause that the server asks for while the page is hidden and shown again', async () => {
    const headers = { 'retry-after': '3600' };
    const provide = vi.fn(async () => new Response('', { status: 503, headers }));
    const { session, advance } = await openLate(undefined, { provide });
    for (let absences = 0; absences < 20; absences++) {
      setVisible(false);
      await advance(2_500);
      setVisible(true);
      await advance(2_100);
    }
    expect([provide.mock.calls.length, session.state.next?.reason]).toEqual([1, 'retry_after']);
  });

  test('lets `getToken` wait for the stored token', async () => {
    const { session, answer } = await openLate(recordOf(1));
    const token = session.getToken();
    await answer();
    expect(await token).toBe('advertising-1');
  });

  test('tells `getToken` at once that this page has logged the user out', async () => {
    const { session } = await openLate(recordOf(1));
    void session.clear().catch(() => {});
    await expect(session.getToken()).rejects.toMatchObject({ code: 'no_token' });
  });

  test('tells `getToken` that there is no token when the store fails', async () => {
    let fail = (_: Error) => {};
    const { session } = fixture.open({
      store: { ...memoryStore(), read: () => new Promise((_, reject) => (fail = reject)) },
    });
    await fixture.advance(1_500);
    const token = session.getToken().catch(({ code }) => code);
    fail(new Error('gone'));
    expect(await token).toBe('no_token');
  });

  test('returns no token after it was hidden for long, until the store answers', async () => {
    const { session, slow, answer, advance } = await openLate(recordOf(1));
    await answer();
    slow.hold();
    dispatch('online');
    await advance(1_500);
    expect(session.advertisingToken).toBe('advertising-1');
    setVisible(false);
    await advance(3_000);
    setVisible(true);
    await advance(100);
    expect(session.advertisingToken).toBeUndefined();
    await answer();
    expect(session.advertisingToken).toBe('advertising-1');
  });

  test('sees a logout of another tab after the store has answered', async () => {
    const { session, answer, openOther, settle } = await openLate(recordOf(1));
    await answer();
    const other = await openOther();
    await other.session.clear();
    await settle();
    expect(session.advertisingToken).toBeUndefined();
  });

  test('sees a logout that another tab has made meanwhile', async () => {
    const { session, answer, openOther } = await openLate(recordOf(1));
    const other = await openOther();
    await other.session.clear();
    await answer();
    expect(session.state.phase).toBe('empty');
  });

  describe('sees a logout that another tab makes while the answer to its first update is on the way,', () => {
    test.each<[string, () => void, () => void]>([
      ['from the message of that tab', () => {}, () => {}],
      ['if it was frozen meanwhile', () => dispatch('freeze'), () => dispatch('resume')],
    ])('%s', async (_, leave, comeBack) => {
      const { session, slow, answer, openOther, settle } = await openLate(recordOf(1));
      const other = await openOther();
      const answers: (() => void)[] = [];
      const { update } = slow.store;
      slow.store.update = async (change) => {
        const value = await update(change);
        await new Promise<void>((resolve) => answers.push(resolve));
        return value;
      };
      await answer();
      leave();
      await other.session.clear();
      comeBack();
      await settle();
      while (answers.length) {
        for (const each of answers.splice(0)) each();
        await settle();
      }
      expect(session.state.persistence).toBe('slow');
      expect(session.advertisingToken).toBeUndefined();
    });
  });

  describe('refreshes a rendered set once, although the store has it in another generation:', () => {
    const dueAt = START - 20 * MINUTE;
    const stored = { ...recordOf(1, dueAt), generation: 7 };

    test('the answer arrives before that of the store', async () => {
      const { session, inner, sent, answer } = await openLate(stored, { tokens: success(1, dueAt) });
      expect(session.advertisingToken).toBe('advertising-2');
      await answer();
      expect(session.advertisingToken).toBe('advertising-2');
      expect(await tokenIn(inner)).toBe('advertising-2');
      expect(sent).toHaveLength(1);
    });

    test('the answer arrives after that of the store', async () => {
      let arrive = () => {};
      fixture.serve((request) => new Promise((resolve) => (arrive = () => resolve(rotate(request)))));
      const { session, inner, sent, answer, settle } = await openLate(stored, { tokens: success(1, dueAt) });
      await answer();
      arrive();
      await settle();
      expect(session.advertisingToken).toBe('advertising-2');
      expect(await tokenIn(inner)).toBe('advertising-2');
      expect(sent).toHaveLength(1);
    });
  });

  describe('calls `provide` once; its set', () => {
    const provide = vi.fn(async () => success(4));
    beforeEach(() => void provide.mockClear());

    test.each<[string, unknown]>([
      ['nothing', undefined],
      ['an earlier logout', { ...recordOf(1), set: undefined, generation: 5, changedAt: START - MINUTE }],
      ['an expired set', { ...recordOf(1, START - 24 * 60 * MINUTE), generation: 5 }],
      [
        'an earlier logout, and a pause after a call that has failed since',
        {
          ...recordOf(1),
          set: undefined,
          generation: 5,
          changedAt: START - MINUTE,
          retry: {
            attempts: 1,
            refusals: 0,
            countedAt: START,
            waitUntil: START + MINUTE,
            reason: 'back_off',
            soonestAt: START,
          },
        },
      ],
    ])('is stored if the store has %s', async (_, stored) => {
      const { session, events, inner, answer } = await openLate(stored, { provide });
      expect(session.advertisingToken).toBe('advertising-4');
      await answer();
      expect(session.advertisingToken).toBe('advertising-4');
      expect(await tokenIn(inner)).toBe('advertising-4');
      expect(provide).toHaveBeenCalledOnce();
      expect(names(events)).toEqual(['token provide']);
    });

    test('gives way to a valid one that is stored', async () => {
      const { session, inner, answer } = await openLate({ ...recordOf(1), generation: 5 }, { provide });
      expect(session.advertisingToken).toBe('advertising-4');
      await answer();
      expect(session.advertisingToken).toBe('advertising-1');
      expect(await tokenIn(inner)).toBe('advertising-1');
      expect(provide).toHaveBeenCalledOnce();
    });

    test('is dropped if the user has logged out in another tab since', async () => {
      const { session, inner, answer, openOther, advance } = await openLate(undefined, { provide });
      await advance(1);
      const other = await openOther();
      await other.session.clear();
      await answer();
      expect(session.advertisingToken).toBeUndefined();
      expect(await tokenIn(inner)).toBeUndefined();
      expect(provide).toHaveBeenCalledOnce();
    });

    test('is dropped if the page was away and the user has logged out in another tab since it is back', async () => {
      const { session, inner, slow, answer, openOther, advance } = await openLate(recordOf(1), { provide });
      await answer();
      dispatch('pagehide');
      slow.hold();
      dispatch('pageshow');
      await advance(1_500);
      expect(session.advertisingToken).toBe('advertising-4');
      await advance(1);
      const other = await openOther();
      await other.session.clear();
      await answer();
      expect(session.advertisingToken).toBeUndefined();
      expect(await tokenIn(inner)).toBeUndefined();
    });

    test('is stored if it arrives after the store has answered', async () => {
      let arrive = () => {};
      provide.mockImplementationOnce(() => new Promise((resolve) => (arrive = () => resolve(success(4)))));
      const stored = { ...recordOf(1), set: undefined, generation: 5, changedAt: START - MINUTE };
      const { session, inner, answer, settle } = await openLate(stored, { provide });
      await answer();
      arrive();
      await settle();
      expect(session.advertisingToken).toBe('advertising-4');
      expect(await tokenIn(inner)).toBe('advertising-4');
      expect(provide).toHaveBeenCalledOnce();
    });
  });

  test('with three first visits at once, all tabs end with the same token', async () => {
    let n = 4;
    const provide = vi.fn(async () => success(n++));
    const { session, inner, slow, open, advance, answer } = await openLate(undefined, { provide });
    const others = [slowStore(inner), slowStore(inner)];
    for (const each of others) each.hold();
    const tabs = others.map(({ store }) => open({ name: 'late-tabs', store, provide }).session);
    await advance(1_500);
    for (const each of [...others, slow]) each.free();
    await answer();
    dispatch('pageshow');
    await answer();
    const tokens = new Set([session, ...tabs].map(({ advertisingToken }) => advertisingToken));
    expect([...tokens]).toEqual([await tokenIn(inner)]);
    expect(provide).toHaveBeenCalledTimes(3);
  });
});

describe('what the page does while its store is late is stored when it answers:', () => {
  test('a logout, which resolves then', async () => {
    const { session, inner, slow, advance, answer } = await openLate(recordOf(1));
    await answer();
    slow.hold();
    let isDone = false;
    const done = session.clear().then(() => (isDone = true));
    expect(session.advertisingToken).toBeUndefined();
    await advance(5_000);
    expect(isDone).toBe(false);
    await answer();
    await done;
    expect(await tokenIn(inner)).toBeUndefined();
    expect(session.state.persistence).toBe('slow');
  });

  test('a sign-in, for which `provide` is called at once', async () => {
    const provide = vi.fn(async () => success(4));
    const { session, inner, slow, advance, answer } = await openLate(recordOf(1), { provide });
    await answer();
    provide.mockClear();
    slow.hold();
    const done = session.signIn();
    await advance(1_500);
    expect(session.advertisingToken).toBe('advertising-4');
    await answer();
    await done;
    expect(session.advertisingToken).toBe('advertising-4');
    expect(await tokenIn(inner)).toBe('advertising-4');
    expect(provide).toHaveBeenCalledOnce();
  });

  test('a logout whose call rejected after 10 s: not confirmed', async () => {
    const { session, inner, advance, answer, openOther } = await openLate(recordOf(1));
    const other = await openOther();
    const done = session.clear().catch(({ code }) => code);
    await advance(10_000);
    expect(await done).toBe('storage_failed');
    expect(await tokenIn(inner)).toBe('advertising-1');
    await answer();
    expect(await tokenIn(inner)).toBeUndefined();
    expect(other.session.advertisingToken).toBeUndefined();
  });

  test('two logouts and a later login in one task, in their order', async () => {
    const { session, inner, answer } = await openLate(recordOf(1));
    const done = Promise.all([session.clear(), session.clear(), session.setTokens(success(6))]);
    await answer();
    await done;
    expect(session.advertisingToken).toBe('advertising-6');
    expect(await tokenIn(inner)).toBe('advertising-6');
  });

  test.each<[string, (session: Session) => Promise<void>]>([
    ['a logout', (session) => session.clear()],
    ['a sign-in', (session) => session.signIn({ user: 'account-a' })],
  ])('%s, unless a user has signed in in another tab since', async (_, call) => {
    const { session, inner, answer, openOther, advance } = await openLate(recordOf(1));
    const done = call(session).catch(() => {});
    await advance(1);
    const other = await openOther();
    await other.session.setTokens(success(7));
    await answer();
    await done;
    expect(other.session.advertisingToken).toBe('advertising-7');
    expect(await tokenIn(inner)).toBe('advertising-7');
  });

  test.each<[string, (session: Session) => Promise<void>, string | undefined]>([
    ['a logout', (session) => session.clear(), undefined],
    ['a sign-in', (session) => session.signIn(), 'advertising-5'],
  ])('%s, also if the clock was set back since the user signed in', async (_, call, expected) => {
    const stored = { ...recordOf(1), changedAt: START + HOUR };
    const { session, inner, answer, advance } = await openLate(stored, { provide: async () => success(5) });
    const done = call(session);
    await advance(500);
    await answer();
    await done;
    expect([session.advertisingToken, await tokenIn(inner)]).toEqual([expected, expected]);
  });

  test('a set, unless a user has logged out in another tab since, also a day later', async () => {
    const { session, inner, answer, openOther, advance } = await openLate(undefined);
    void session.setTokens(success(7)).catch(() => {});
    await advance(100);
    dispatch('freeze');
    await advance(25 * HOUR);
    const other = await openOther();
    await other.session.setTokens(success(2));
    await other.session.clear();
    dispatch('resume');
    await answer();
    expect([session.advertisingToken, await tokenIn(inner)]).toEqual([undefined, undefined]);
  });

  test('not a sign-in whose `provide` answers after a user has signed in in another tab, who has as many sign-ins', async () => {
    const answers: ((answer: unknown) => void)[] = [];
    const provide = () => new Promise((resolve) => answers.push(resolve)) as never;
    const { session, inner, answer, advance, name } = await openLate(undefined, { provide });
    answers.shift()!(null);
    await advance(100);
    void session.signIn({ user: 'account-a' }).catch(() => {});
    await advance(500);
    const ofOther: typeof answers = [];
    const asked = () => new Promise((resolve) => ofOther.push(resolve)) as never;
    const other = await loaded(fixture.open({ name, store: inner, provide: asked }));
    void other.session.signIn({ user: 'account-b' }).catch(() => {});
    await advance(500);
    await answer();
    answers.shift()!(success(1));
    await fixture.settle();
    expect([session.advertisingToken, await tokenIn(inner)]).toEqual([undefined, undefined]);
    ofOther.shift()!(success(2));
    await fixture.settle();
    expect([other.session.advertisingToken, await tokenIn(inner)]).toEqual(['advertising-2', 'advertising-2']);
  });

  test('a logout, of which the page shows nothing else while that write is late in its turn', async () => {
    const { session, events, inner, slow, advance, answer } = await openLate(recordOf(1));
    await answer();
    const writes: (() => void)[] = [];
    const update = slow.store.update;
    slow.store.update = async (change) => {
      const value = await update(change);
      await new Promise<void>((resolve) => writes.push(resolve));
      return value;
    };
    const end = async () => {
      for (const each of writes.splice(0)) each();
      await advance(0);
    };
    events.length = 0;
    const done = session.setTokens(success(5));
    await advance(1_500);
    await end();
    void session.clear();
    await advance(2_000);
    await end();
    await end();
    await done;
    expect(names(events)).toEqual(['token set']);
    expect(session.advertisingToken).toBeUndefined();
    expect(await tokenIn(inner)).toBeUndefined();
  });

  test('a set, also if the store makes that change a second time', async () => {
    const { session, inner, slow, answer } = await openLate(recordOf(1));
    const update = slow.store.update;
    slow.store.update = async (change) => {
      const before = await inner.read();
      await update(change);
      await inner.update(() => before);
      return inner.update(change);
    };
    const done = session.setTokens(success(6));
    await answer();
    await done;
    expect(await tokenIn(inner)).toBe('advertising-6');
  });

  test('a logout of a page that is closed at once, of which other tabs learn', async () => {
    const { session, slow, answer, openOther } = await openLate(recordOf(1));
    const other = await openOther();
    void session.clear();
    session.close();
    await answer();
    expect(other.session.advertisingToken).toBeUndefined();
    expect(slow.store.close).toHaveBeenCalledOnce();
  });

  test('a set, unless another tab has logged the user out since', async () => {
    const { session, inner, answer, openOther, advance } = await openLate(undefined);
    const done = session.setTokens(success(6));
    await advance(1);
    const other = await openOther();
    await other.session.clear();
    await answer();
    await done;
    expect(session.advertisingToken).toBeUndefined();
    expect(await tokenIn(inner)).toBeUndefined();
  });

  test('the set of a refresh, which another tab whose store is late does not repeat', async () => {
    fakeLocks();
    const { session, inner, slow, serve, sent, open, advance, settle, answer } = await openLate(recordOf(1));
    await answer();
    const otherSlow = slowStore(inner);
    const other = await loaded(open({ name: `late-${opened - 1}`, store: otherSlow.store }));
    let answerRequest = () => {};
    serve((request) => new Promise((resolve) => (answerRequest = () => resolve(rotate(request)))));
    await advance(15 * MINUTE);
    slow.hold();
    otherSlow.hold();
    answerRequest();
    await advance(3_000);
    const tokens = () => [session, other.session].map(({ advertisingToken }) => advertisingToken).sort();
    expect(tokens()).toEqual(['advertising-1', 'advertising-2']);
    otherSlow.free();
    await answer();
    await settle();
    expect(tokens()).toEqual(['advertising-2', 'advertising-2']);
    expect(sent).toHaveLength(1);
  });

  test('a set whose write began before the store was late: once', async () => {
    const inner = memoryStore(recordOf(1));
    const writes: (() => void)[] = [];
    let isHeld = false;
    const update: Store['update'] = async (change) => {
      const value = await inner.update(change);
      if (isHeld) await new Promise<void>((resolve) => writes.push(resolve));
      return value;
    };
    const { session } = await loaded(fixture.open({ store: { ...inner, update } }));
    isHeld = true;
    const done = session.setTokens(success(6));
    await fixture.advance(2_000);
    expect(session.state.persistence).toBe('memory');
    isHeld = false;
    for (const end of writes) end();
    await done;
    expect(await inner.read()).toMatchObject({ generation: 2, set: { advertisingToken: 'advertising-6' } });
  });
});

test('a store that fails after it was late is replaced by memory for the life of the page, with one error', async () => {
  let fail = (_: Error) => {};
  const store: Store = {
    read: () => new Promise((_, reject) => (fail = reject)),
    update: () => Promise.reject(new Error('gone')),
  };
  const { session, events } = fixture.open({ store });
  await fixture.advance(1_500);
  const done = session.setTokens(success(1)).catch(({ code }) => code);
  await fixture.settle();
  fail(new Error('gone'));
  await fixture.advance(5_000);
  expect(await done).toBe('storage_failed');
  expect(session.advertisingToken).toBe('advertising-1');
  expect(session.state.persistence).toBe('memory');
  expect(names(events)).toEqual(['needsTokens empty', 'token set', 'error storage_failed']);
});

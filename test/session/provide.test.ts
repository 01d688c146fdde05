/** Sets from the host: `provide`, `tokens`, `setTokens`, and what becomes of those that are malformed. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { memoryStore, type SessionOptions, type Store } from '../../src/session/index.ts';
import { HOUR, MINUTE, names, START, until, useFakeClock } from '../support/fixtures.ts';
import { createFixture, offline, recordOf, restoreGlobals, success, watchRejections, wireSet } from './fixtures.ts';

beforeEach(() => void useFakeClock());
afterEach(restoreGlobals);

type Provide = NonNullable<SessionOptions['provide']>;

describe('provide', () => {
  test('is asked once, with a reason and a signal, and what it answers is in force', async () => {
    const fixture = createFixture();
    const provide = vi.fn<Provide>(async () => success(1));
    const { session, events } = fixture.open({ provide });
    expect(await session.getToken()).toBe('advertising-1');
    await fixture.settle();
    expect(provide).toHaveBeenCalledExactlyOnceWith({ reason: 'empty', signal: expect.any(AbortSignal) });
    expect(names(events)).toEqual(['token set']);
    fixture.close();
  });

  test.each([
    ['a generate answer', () => success(1)],
    ['its body', () => wireSet(1)],
  ])('may answer with %s', async (_, answer) => {
    const fixture = createFixture();
    const { session } = fixture.open({ provide: async () => answer() });
    expect(await session.getToken()).toBe('advertising-1');
    fixture.close();
  });

  test('may say that the user has opted out', async () => {
    const fixture = createFixture();
    const { session, events } = fixture.open({ provide: async () => ({ status: 'optout' }) });
    await expect(session.getToken()).rejects.toMatchObject({ code: 'opted_out' });
    expect(names(events)).toEqual(['optout']);
    fixture.close();
  });

  test.each<[string, () => unknown]>([
    ['null', () => null],
    ['nothing', () => undefined],
    ['a response 204', () => new Response(null, { status: 204 })],
  ])('says with %s that nobody is signed in: the page is told once, and provide is left alone', async (_, answer) => {
    const fixture = createFixture();
    const provide = vi.fn<Provide>(async () => answer());
    const { session, events } = fixture.open({ provide });
    await expect(session.getToken()).rejects.toMatchObject({ code: 'no_token' });
    await fixture.advance(2 * HOUR);
    await expect(session.getToken()).rejects.toMatchObject({ code: 'no_token' });
    expect(provide).toHaveBeenCalledOnce();
    expect(names(events)).toEqual(['needsTokens empty']);
    expect(session.state.lastError).toBeUndefined();
    fixture.close();
  });

  test('is asked again by refresh() after nobody was signed in', async () => {
    const fixture = createFixture();
    const provide = vi.fn<Provide>().mockResolvedValueOnce(null).mockResolvedValueOnce(success(1));
    const { session } = fixture.open({ provide });
    await expect(session.getToken()).rejects.toMatchObject({ code: 'no_token' });
    await session.refresh();
    expect(session.advertisingToken).toBe('advertising-1');
    fixture.close();
  });

  test('is late where another tab has logged out just before its answer is written', async () => {
    const fixture = createFixture();
    const inner = memoryStore();
    const { set: _, ...loggedOut } = { ...recordOf(3), generation: 4, clearedAt: START };
    const store: Store = {
      ...inner,
      update: async (change) => {
        await inner.update(() => loggedOut);
        return inner.update(change);
      },
    };
    const { session, events } = fixture.open({ store, provide: async () => success(2) });
    await session.ready;
    await fixture.settle();
    expect(session.advertisingToken).toBeUndefined();
    expect(await inner.read()).toEqual(loggedOut);
    expect(names(events)).not.toContain('token set');
    fixture.close();
  });

  test('after a logout is not asked to bring the user back', async () => {
    const fixture = createFixture();
    const provide = vi.fn<Provide>(async () => success(2));
    const { session, events } = fixture.openStored({ provide });
    await session.ready;
    await session.clear();
    await fixture.advance(HOUR);
    expect(provide).not.toHaveBeenCalled();
    expect(session.advertisingToken).toBeUndefined();
    expect(names(events)).toEqual(['token load']);
    fixture.close();
  });

  test.each<[string, string, Provide]>([
    [
      'throws on the spot',
      'network',
      () => {
        throw new Error('no');
      },
    ],
    ['rejects', 'network', () => Promise.reject(new Error('no'))],
    ['rejects with nothing', 'network', () => Promise.reject()],
    ['never answers', 'timeout', () => new Promise(() => {})],
    ['answers with text', 'invalid_token_set', async () => 'text'],
    [
      'answers with a set with a field missing',
      'invalid_token_set',
      async () => ({ ...wireSet(1), refresh_token: '' }),
    ],
    ['answers with a refusal', 'invalid_token_set', async () => ({ status: 'unauthorized' })],
    ['answers with the response itself', 'invalid_token_set', async () => new Response('{}')],
  ])('%s: one error, the page is told, and it is asked again with back-off', async (_, code, provide) => {
    vi.spyOn(Math, 'random').mockReturnValue(0.999_999);
    const fixture = createFixture();
    const asked: number[] = [];
    let answer = provide;
    const { session, events } = fixture.open({
      timeoutMs: 1000,
      provide: (request) => {
        asked.push(Date.now());
        return answer(request);
      },
    });
    const token = expect(session.getToken({ timeoutMs: 2000 })).rejects.toMatchObject({ code });
    await fixture.advance(2000);
    await token;
    expect(names(events)).toEqual([`error ${code}`, 'needsTokens empty']);
    await fixture.advance(20 * MINUTE);
    const hangMs = code === 'timeout' ? 1 : 0;
    const spans = asked.slice(1).map((at, index) => Math.round((at - asked[index]!) / 1000) - hangMs);
    expect(spans.slice(0, 8)).toEqual([5, 10, 20, 40, 80, 120, 120, 120]);
    expect(names(events)).toEqual([`error ${code}`, 'needsTokens empty']);
    answer = async () => success(4);
    await fixture.advance(6 * MINUTE);
    expect(session.advertisingToken).toBe('advertising-4');
    expect(session.state.lastError).toBeUndefined();
    fixture.close();
  });

  test('is given up on when a set comes another way, and its late answer is not taken', async () => {
    const fixture = createFixture();
    let answer = (_: unknown) => {};
    let given: AbortSignal | undefined;
    const { session, events } = fixture.open({
      provide: ({ signal }) => {
        given = signal;
        return new Promise((resolve) => (answer = resolve));
      },
    });
    await until(() => given);
    await session.setTokens(success(1));
    expect(given?.aborted).toBe(true);
    answer(success(2));
    await fixture.settle();
    expect(session.advertisingToken).toBe('advertising-1');
    expect(names(events)).toEqual(['token set']);
    fixture.close();
  });

  test('that always answers with an old set is no loop', async () => {
    const fixture = createFixture(offline);
    const provide = vi.fn<Provide>(async () => success(1, START - 2 * HOUR));
    fixture.open({ provide });
    await fixture.advance(HOUR);
    expect(provide.mock.calls.length + fixture.sent.length).toBeLessThan(40);
    fixture.close();
  });
});

describe('tokens that the page was rendered with', () => {
  test('are in force, and stored', async () => {
    const fixture = createFixture();
    const { session, store, events } = fixture.open({ tokens: success(1) });
    expect(await session.getToken()).toBe('advertising-1');
    await fixture.settle();
    expect(await store.read()).toMatchObject({ set: { advertisingToken: 'advertising-1' } });
    expect(names(events)).toEqual(['token set']);
    fixture.close();
  });

  test('that are an opt-out are one', async () => {
    const fixture = createFixture();
    const { session, events } = fixture.openStored({ tokens: { status: 'optout' } });
    await fixture.settle();
    await session.ready;
    expect(session.state.phase).toBe('optedOut');
    expect(names(events)).toEqual(['optout']);
    fixture.close();
  });

  test.each<[string, unknown]>([
    ['text', 'text'],
    ['a set with a field missing', { refresh_token: 'x' }],
    ['a refusal', { status: 'client_error' }],
  ])('malformed (%s): one error, and the stored set is untouched', async (_, tokens) => {
    const fixture = createFixture();
    const store = memoryStore(recordOf(1));
    const { session, events } = fixture.open({ store, tokens });
    await session.ready;
    await fixture.settle();
    expect(names(events).sort()).toEqual(['error invalid_token_set', 'token load']);
    expect(session.advertisingToken).toBe('advertising-1');
    expect(await store.read()).toEqual(recordOf(1));
    fixture.close();
  });
});

describe('setTokens', () => {
  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['text', 'text'],
    ['an empty object', {}],
    ['a refusal', { status: 'unauthorized' }],
    ['a success without a body', { status: 'success' }],
    ['a key of 31 bytes', { ...wireSet(1, START), refresh_response_key: btoa('x'.repeat(31)) }],
    ['times in seconds', { ...wireSet(1, START), refresh_from: 1_900_000_000 }],
  ])('of %s rejects invalid_token_set and changes nothing', async (_, answer) => {
    const fixture = createFixture();
    const { session, store, events } = fixture.openStored();
    await session.ready;
    await fixture.settle();
    const { state } = session;
    await expect(session.setTokens(answer)).rejects.toMatchObject({ name: 'TokenError', code: 'invalid_token_set' });
    await fixture.settle();
    expect(session.state).toBe(state);
    expect(session.advertisingToken).toBe('advertising-1');
    expect(await store.read()).toEqual(recordOf(1, START));
    expect(names(events)).toEqual(['token load']);
    fixture.close();
  });

  test('changes the token at once, tells it after the write', async () => {
    const fixture = createFixture();
    const store = memoryStore();
    let write = () => {};
    const { session, events } = fixture.open({
      store: {
        ...store,
        update: async (change) => {
          await new Promise<void>((resolve) => (write = resolve));
          return store.update(change);
        },
      },
    });
    await session.ready;
    await fixture.settle();
    const done = session.setTokens(success(1));
    expect(session.advertisingToken).toBe('advertising-1');
    await fixture.settle();
    expect(names(events)).toEqual(['needsTokens empty']);
    write();
    await done;
    await fixture.settle();
    expect(names(events)).toEqual(['needsTokens empty', 'token set']);
    fixture.close();
  });

  test('of the set that is in force tells nothing new', async () => {
    const fixture = createFixture();
    const { session, events } = fixture.openStored();
    await session.ready;
    await session.setTokens(success(1));
    await fixture.settle();
    expect(names(events)).toEqual(['token load']);
    fixture.close();
  });

  test('many at once: the last one is in force, in page and store', async () => {
    const fixture = createFixture();
    const { session, store, events } = fixture.open();
    await Promise.all([1, 2, 3, 4].map((n) => session.setTokens(success(n))));
    await fixture.settle();
    expect(session.advertisingToken).toBe('advertising-4');
    expect(await store.read()).toMatchObject({ generation: 4, set: { advertisingToken: 'advertising-4' } });
    expect(names(events)).toEqual(['token set']);
    fixture.close();
  });
});

test('promises that the page ignores cause no unhandled rejection', async () => {
  const { seen, stop } = watchRejections();
  const fixture = createFixture(offline);
  const { session } = fixture.open({ provide: () => Promise.reject(new Error('no')), timeoutMs: 100 });
  void session.setTokens('nonsense');
  void session.getToken();
  void session.refresh();
  await fixture.advance(1000);
  void session.getToken({ timeoutMs: 1 });
  session.close();
  void session.setTokens(success(1));
  void session.getToken();
  void session.refresh();
  void session.clear();
  await fixture.advance(1000);
  stop();
  expect(seen).toEqual([]);
});

describe('a page from a cache, that comes with a set from before the last one', () => {
  const opened = async (sets: number[]) => {
    const fixture = createFixture();
    const store = memoryStore();
    const { session } = fixture.open({ store });
    for (const n of sets) {
      await fixture.advance(1000);
      await session.setTokens(success(n, START));
    }
    return { ...fixture, store, session };
  };

  test('does not push out the newer one', async () => {
    const { store, open, settle, close } = await opened([1, 2, 3, 4]);
    for (const n of [1, 2, 3]) {
      const { session, events } = open({ store, tokens: success(n, START) });
      await settle();
      expect(session.advertisingToken).toBe('advertising-4');
      expect(names(events)).toEqual(['token load']);
    }
    close();
  });

  test('does not undo a logout', async () => {
    const { store, session, open, settle, close } = await opened([1, 2]);
    await session.clear();
    for (const n of [1, 2]) {
      const again = open({ store, tokens: success(n, START) });
      await settle();
      expect(again.session.advertisingToken).toBeUndefined();
    }
    close();
  });

  test('is a page with a new set after clear({ forget: true }), which leaves nothing that tells of the user', async () => {
    const { store, session, open, settle, close } = await opened([1, 2]);
    await session.clear({ forget: true });
    expect(JSON.stringify(await store.read())).not.toMatch(/real|fingerprint|receivedAt/);
    const again = open({ store, tokens: success(1, START) });
    await settle();
    expect(again.session.advertisingToken).toBe('advertising-1');
    close();
  });

  test('after clear({ forget: true }) an opt-out stands', async () => {
    const { store, session, close } = await opened([1]);
    await session.setTokens({ status: 'optout' });
    await session.clear({ forget: true });
    expect(await store.read()).toMatchObject({ optedOut: true });
    close();
  });

  test('from five sets ago is not told again: it is a new one', async () => {
    const { store, open, settle, close } = await opened([1, 2, 3, 4, 5]);
    const { session } = open({ store, tokens: success(1, START) });
    await settle();
    expect(session.advertisingToken).toBe('advertising-1');
    close();
  });

  test('is told again after another, by the ends of their refresh tokens', async () => {
    const fixture = createFixture();
    const store = memoryStore(recordOf(1));
    const { session } = fixture.open({ store, tokens: success(1, START) });
    await session.ready;
    await session.setTokens(success(2));
    expect(await store.read()).toMatchObject({ fingerprint: `${recordOf(2).fingerprint}${recordOf(1).fingerprint}` });
    fixture.close();
  });
});

test('getToken(null) is getToken()', async () => {
  const fixture = createFixture();
  const { session } = fixture.openStored();
  expect(await session.getToken(null as never)).toBe('advertising-1');
  fixture.close();
});

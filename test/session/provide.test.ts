/** `provide`: when the session asks the publisher's server for a set, and what it does with the answer. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { memoryStore, type SessionOptions, type Store } from '../../src/session/index.ts';
import { HOUR, MINUTE, names, START, until, useFakeClock } from '../support/fixtures.ts';
import { createFixture, offline, recordOf, restoreGlobals, rotate, success, wireSet } from './fixtures.ts';

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

test("provide may use the signal's onabort for itself", async () => {
  const fixture = createFixture();
  let aborted = 0;
  const provide = ({ signal }: { signal: AbortSignal }) => {
    signal.onabort = () => aborted++;
    return new Promise(() => {});
  };
  const { session } = fixture.open({ provide });
  await fixture.settle();
  session.close();
  await fixture.settle();
  expect(aborted).toBe(1);
  fixture.close();
});

test('what a parser in provide chokes on is quoted nowhere', async () => {
  const fixture = createFixture(rotate);
  const errors: Error[] = [];
  const { session } = fixture.open({
    store: memoryStore(),
    provide: async () => JSON.parse('jane.roe@example.com') as unknown,
    logger: { debug: (_, error) => errors.push(error as Error) },
  });
  session.on('error', (error) => errors.push(error));
  await expect(session.getToken()).rejects.toMatchObject({ code: 'network' });
  await fixture.settle();
  expect(errors.length).toBeGreaterThan(1);
  for (const error of errors) expect(`${error.message} ${error.cause}`).not.toContain('jane');
});

test('an answer of provide that comes after a logout in another tab brings nobody back', async () => {
  const fixture = createFixture(rotate);
  const store = memoryStore();
  let answer = (_: unknown) => {};
  const { session: asking } = fixture.open({
    store,
    name: 'late-provide',
    provide: () => new Promise((resolve) => (answer = resolve)),
  });
  const { session: other } = fixture.open({ store, name: 'late-provide' });
  await other.ready;
  await asking.ready;
  await other.setTokens(success(2));
  // No rest in between: the other tab has not been told yet.
  await other.clear();
  answer(success(1));
  await fixture.settle();
  expect(asking.advertisingToken).toBeUndefined();
  expect(other.advertisingToken).toBeUndefined();
  expect(await store.read()).not.toHaveProperty('set.advertisingToken');
});

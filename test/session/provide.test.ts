/** `provide`: when the session asks the publisher's server for a set, and what it does with the answer. */

import { describe, expect, test, vi } from 'vitest';
import { memoryStore, type SessionOptions, type Store, type TokenAnswer } from '../../src/session/index.ts';
import { HOUR, loaded, MINUTE, names, START, until } from '../support/clock.ts';
import { fixtureForEachTest, recordOf, success } from './fixtures.ts';

const fixture = fixtureForEachTest();

type Provide = NonNullable<SessionOptions['provide']>;

describe('`provide`', () => {
  test('is called once, with a reason and a signal, and its answer is in force', async () => {
    const provide = vi.fn<Provide>(async () => success(1));
    const { session, events } = fixture.open({ provide });
    expect(await session.getToken()).toBe('advertising-1');
    await fixture.settle();
    expect(provide).toHaveBeenCalledExactlyOnceWith({ reason: 'empty', signal: expect.any(AbortSignal) });
    expect(names(events)).toEqual(['token provide']);
  });

  test.each<[string, () => unknown]>([
    ['null', () => null],
    ['a 204 response', () => new Response(null, { status: 204 })],
  ])(
    'resolves with %s if nobody is signed in: one `needsTokens` is emitted, and it is not called again',
    async (_, answer) => {
      const provide = vi.fn<Provide>(async () => answer() as TokenAnswer);
      const { session, events } = fixture.open({ provide });
      await expect(session.getToken()).rejects.toMatchObject({ code: 'no_token' });
      await fixture.advance(2 * HOUR);
      await expect(session.getToken()).rejects.toMatchObject({ code: 'no_token' });
      expect(provide).toHaveBeenCalledOnce();
      expect(names(events)).toEqual(['needsTokens empty']);
      expect(session.state.lastError).toBeUndefined();
    },
  );

  test('is called again by refresh() after nobody was signed in', async () => {
    const provide = vi.fn<Provide>().mockResolvedValueOnce(null).mockResolvedValueOnce(success(1));
    const { session } = fixture.open({ provide });
    await expect(session.getToken()).rejects.toMatchObject({ code: 'no_token' });
    await session.refresh();
    expect(session.advertisingToken).toBe('advertising-1');
  });

  test('is called at once by refresh() and signIn(), whatever pause its server has asked for', async () => {
    const busy = Response.json({}, { status: 429, headers: { 'retry-after': '600' } });
    const provide = vi.fn<Provide>().mockRejectedValue(busy);
    const { session } = fixture.open({ provide });
    await expect(session.getToken()).rejects.toMatchObject({ code: 'provide_failed' });
    expect(session.state.next).toMatchObject({ action: 'provide', reason: 'retry_after', at: START + 10 * MINUTE });
    await expect(session.refresh()).rejects.toMatchObject({ code: 'provide_failed' });
    expect(provide).toHaveBeenCalledTimes(2);
    await expect(session.signIn()).rejects.toMatchObject({ code: 'provide_failed' });
    expect(provide).toHaveBeenCalledTimes(3);
  });

  test('is ignored if another tab logs out just before its answer is written', async () => {
    const inner = memoryStore();
    const { set: _, ...loggedOut } = { ...recordOf(3), generation: 4, changedAt: START };
    const store: Store = {
      ...inner,
      update: async (change) => {
        await inner.update(() => loggedOut);
        return inner.update(change);
      },
    };
    const { session, events } = await loaded(fixture.open({ store, provide: async () => success(2) }));
    await fixture.settle();
    expect(session.advertisingToken).toBeUndefined();
    expect(await inner.read()).toEqual(loggedOut);
    expect(names(events)).not.toContain('token provide');
  });

  test('is not called after a logout', async () => {
    const provide = vi.fn<Provide>(async () => success(2));
    const { session, events } = await loaded(fixture.openStored({ provide }));
    await session.clear();
    await fixture.advance(HOUR);
    expect(provide).not.toHaveBeenCalled();
    expect(session.advertisingToken).toBeUndefined();
    expect(names(events)).toEqual(['token load']);
  });

  test.each<[string, string, Provide]>([
    [
      'throws',
      'provide_failed',
      () => {
        throw new Error('no');
      },
    ],
    ['never answers', 'timeout', () => new Promise(() => {})],
    ['resolves with undefined', 'invalid_token_set', async () => undefined as never],
  ])(
    '%s: one error and one `needsTokens` are emitted, and it is called again with back-off',
    async (_, code, provide) => {
      vi.spyOn(Math, 'random').mockReturnValue(0);
      const calledAt: number[] = [];
      let answer = provide;
      const { session, events } = fixture.open({
        provide: (request) => {
          calledAt.push(Date.now());
          return answer(request);
        },
      });
      const token = expect(session.getToken({ timeoutMs: 1000 })).rejects.toMatchObject({ code });
      const hangMs = code === 'timeout' ? MINUTE : 0;
      await fixture.advance(1000);
      await token;
      await fixture.advance(hangMs);
      expect(names(events)).toEqual([`error ${code}`, 'needsTokens empty']);
      await fixture.advance(30 * MINUTE);
      const spans = calledAt.slice(1).map((at, index) => Math.round((at - calledAt[index]! - hangMs) / 1000));
      expect(spans.slice(0, 8)).toEqual([5, 10, 20, 40, 80, 160, 300, 300]);
      expect(names(events)).toEqual([`error ${code}`, 'needsTokens empty']);
      answer = async () => success(4);
      await fixture.advance(6 * MINUTE);
      expect(session.advertisingToken).toBe('advertising-4');
      expect(session.state.lastError).toBeUndefined();
    },
  );

  test('is aborted when a set is supplied in another way, and its late answer is ignored', async () => {
    let answer = (_: TokenAnswer) => {};
    let received: AbortSignal | undefined;
    const { session, events } = fixture.open({
      provide: ({ signal }) => {
        received = signal;
        return new Promise((resolve) => (answer = resolve));
      },
    });
    await until(() => received);
    await session.setTokens(success(1));
    expect(received?.aborted).toBe(true);
    answer(success(2));
    await fixture.settle();
    expect(session.advertisingToken).toBe('advertising-1');
    expect(names(events)).toEqual(['token set']);
  });

  test('that signs the user out before it returns, and never answers, does not delay the next sign-in', async () => {
    let calls = 0;
    const { session } = fixture.open({
      provide: () => {
        if (calls++) return Promise.resolve(success(1));
        void session.clear();
        return new Promise(() => {});
      },
    });
    await until(() => calls);
    await session.signIn();
    expect(session.advertisingToken).toBe('advertising-1');
  });

  test.each<[string, () => unknown]>([
    ['is the response itself', () => Response.json({}, { status: 429, headers: { 'retry-after': '600' } })],
    [
      'holds the response',
      () => Object.assign(new Error('429'), { response: new Response('', { headers: { 'retry-after': '600' } }) }),
    ],
  ])('is called again only after `Retry-After` if what it rejects with %s', async (_, thrown) => {
    const provide = vi.fn<Provide>().mockRejectedValueOnce(thrown()).mockResolvedValue(success(1));
    const { session } = fixture.open({ provide });
    await fixture.advance(9 * MINUTE);
    expect(provide).toHaveBeenCalledOnce();
    expect(session.state.lastError).toMatchObject({ code: 'provide_failed', retryAfterMs: 600_000 });
    await fixture.advance(2 * MINUTE);
    expect(session.advertisingToken).toBe('advertising-1');
  });
});

test('`provide` may set `onabort` of its signal', async () => {
  let aborted = 0;
  const provide = ({ signal }: { signal: AbortSignal }) => {
    signal.onabort = () => aborted++;
    return new Promise<never>(() => {});
  };
  const { session } = fixture.open({ provide });
  await fixture.settle();
  session.close();
  await fixture.settle();
  expect(aborted).toBe(1);
});

test('text that a parser inside `provide` quotes in its error appears in no error or log of the session', async () => {
  const errors: Error[] = [];
  const { session } = fixture.open({
    store: memoryStore(),
    provide: async () => JSON.parse('jane.roe@example.com') as TokenAnswer,
    logger: { debug: (_, error) => errors.push(error as Error) },
  });
  session.on('error', (error) => errors.push(error));
  await expect(session.getToken()).rejects.toMatchObject({ code: 'provide_failed' });
  await fixture.settle();
  expect(errors.length).toBeGreaterThan(1);
  for (const error of errors) expect(`${error.message} ${error.cause}`).not.toContain('jane');
});

test('in a browser without `URL.canParse` the status of the publisher’s server is reported too', async () => {
  const { canParse } = URL;
  Reflect.deleteProperty(URL, 'canParse');
  try {
    const provide = async () => new Response('', { status: 503 }) as never;
    const { session } = fixture.open({ provide });
    await until(() => session.state.lastError);
    expect(session.state.lastError).toMatchObject({ code: 'provide_failed', status: 503 });
    fixture.close();
  } finally {
    URL.canParse = canParse;
  }
});

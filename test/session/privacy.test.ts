/** No former user's token, no text of others, no token without consent: what a page, a tab or a service must not bring about. */

import { describe, expect, test, vi } from 'vitest';
import { memoryStore, type Store, TokenError } from '../../src/session/index.ts';
import { HOUR, loaded, MINUTE, names, START, until } from '../support/clock.ts';
import { controlledConsent, openAsking, watchedStore } from './consent-fixture.ts';
import {
  answersPlain,
  answersSealed,
  fixtureForEachTest,
  recordOf,
  type Service,
  setVisible,
  success,
} from './fixtures.ts';

const fixture = fixtureForEachTest();

test('the option consent: a withdrawal while the first answer is pending outranks a late true', async () => {
  let answer = (_: boolean) => {};
  const first = new Promise<boolean>((resolve) => (answer = resolve));
  const { consent, withdraw } = controlledConsent(first);
  const { store, touched } = watchedStore(recordOf(1));
  const { session } = fixture.open({ consent, store });
  withdraw();
  answer(true);
  await fixture.settle();
  expect(session.advertisingToken).toBeUndefined();
  expect(session.state.next).toMatchObject({ reason: 'consent' });
  expect(touched).not.toHaveBeenCalled();
});

describe('erasing needs no consent', () => {
  test.each<[string, (session: ReturnType<typeof openAsking>['session']) => Promise<void>, object]>([
    ['a logout', (session) => session.clear(), { changedAt: START + 1 }],
    ['an opt-out', (session) => session.setTokens({ status: 'optout' }), { optedOut: true }],
  ])('%s before the answer of the gate is recorded at once', async (_, call, expected) => {
    const { session, inner, settle } = openAsking(recordOf(1));
    await expect(call(session)).resolves.toBeUndefined();
    await settle();
    expect(await inner.read()).toMatchObject(expected);
    expect(await inner.read()).not.toHaveProperty('set.refreshToken');
  });

  test.each<[string, (session: ReturnType<typeof openAsking>['session']) => Promise<void>]>([
    ['a logout', (session) => session.clear()],
    ['an opt-out', (session) => session.setTokens({ status: 'optout' })],
  ])('%s while consent is refused is recorded, and consent given later finds no user', async (_, call) => {
    const { session, inner, grant, withdraw, settle } = openAsking(recordOf(1));
    withdraw();
    await call(session);
    expect(await inner.read()).not.toHaveProperty('set.refreshToken');
    grant();
    await settle();
    expect(session.advertisingToken).toBeUndefined();
  });

  test('a set supplied before a logout does not come back with consent', async () => {
    const { session, inner, grant, settle } = openAsking();
    session.setTokens(success(1)).catch(() => {});
    await session.clear();
    grant();
    await settle();
    expect(session.advertisingToken).toBeUndefined();
    expect(await inner.read()).not.toHaveProperty('set.refreshToken');
  });
});

test('an error from other code is not passed on, even if its name is TokenError', async () => {
  const logged: unknown[] = [];
  const foreign = Object.assign(new Error('jane@example.com'), { name: 'TokenError', code: 'network' });
  Object.assign(foreign, { self: foreign });
  const logger = { debug: (...values: unknown[]) => void logged.push(...values) };
  const { session, events } = await loaded(fixture.open({ provide: () => Promise.reject(foreign), logger }));
  await fixture.settle();
  expect(() => session.state).not.toThrow();
  expect(session.state.lastError).toBeInstanceOf(TokenError);
  expect(session.state.lastError).toMatchObject({
    code: 'provide_failed',
    message: 'provide rejected with Error; see the console',
  });
  expect(names(events)).toContain('error provide_failed');
  expect(JSON.stringify(logged.map(String))).not.toContain('jane');
});

describe('after an opt-out', () => {
  const optedOutAt = { ...recordOf(1, START), set: undefined, optedOut: true, changedAt: START };

  test('`provide` is asked for another user, whose set is held back until the service accepts it', async () => {
    fixture.serve(answersSealed({ status: 'optout' }));
    const provide = vi.fn(async () => {
      fixture.serve(answersSealed(success(6)));
      return success(5);
    });
    const { session, events } = fixture.open({ store: memoryStore(recordOf(1)), provide });
    await fixture.advance(15 * MINUTE);
    await until(() => session.advertisingToken === 'advertising-6');
    expect(provide).toHaveBeenCalledOnce();
    expect(names(events)).toEqual(['token load', 'optout', 'token refresh']);
    expect(session.state.phase).toBe('fresh');
  });

  test('a set that the service refuses too ends with one needsTokens and the reason, and asks no more', async () => {
    fixture.serve(answersSealed({ status: 'optout' }));
    const provide = vi.fn(async () => success(5));
    const { session, events } = await loaded(fixture.open({ store: memoryStore(optedOutAt), provide }));
    await fixture.advance(2 * HOUR);
    expect(provide).toHaveBeenCalledOnce();
    expect(fixture.sent).toHaveLength(1);
    expect(names(events)).toEqual(['optout', 'needsTokens empty']);
    expect(session.advertisingToken).toBeUndefined();
    expect(session.state).toMatchObject({ phase: 'optedOut', lastError: { code: 'opted_out' } });
  });

  test.each<[string, Service]>([
    ['an opt-out', answersSealed({ status: 'optout' })],
    ['the end of the set', answersPlain(400, { status: 'expired_token' })],
  ])(
    'a page that supplies the same set at each answer, which is %s: at most 15 requests in 30 minutes',
    async (_, service) => {
      fixture.serve(service);
      const { session } = fixture.open({ store: memoryStore(optedOutAt) });
      let calls = 0;
      // Endless calls would block the test.
      const supplyAgain = () => ++calls < 100 && session.setTokens(success(5));
      session.on('needsTokens', supplyAgain);
      session.on('optout', supplyAgain);
      await session.ready;
      await fixture.advance(30 * MINUTE);
      expect(fixture.sent.length).toBeGreaterThan(5);
      expect(fixture.sent.length).toBeLessThanOrEqual(15);
      fixture.serve(answersSealed(success(6)));
      await fixture.advance(5 * MINUTE);
      await until(() => session.advertisingToken === 'advertising-6');
    },
  );
});

describe('a page that comes back', () => {
  test('returns no token inside visibilitychange if it was hidden for longer than a moment', async () => {
    const { session, store } = await loaded(fixture.open({ store: memoryStore(recordOf(1)) }));
    setVisible(false);
    vi.setSystemTime(START + 10_000);
    // Suspended without an event, it has missed the message of the other tab.
    await store.update(() => ({ ...recordOf(2), generation: 2 }));
    let seen: string | undefined = 'not called';
    document.addEventListener('visibilitychange', () => (seen = session.advertisingToken), { once: true });
    setVisible(true);
    expect(seen).toBeUndefined();
    await until(() => session.advertisingToken === 'advertising-2');
  });

  test('keeps its token through a moment in the background', async () => {
    const { session } = await loaded(fixture.open({ store: memoryStore(recordOf(1)) }));
    setVisible(false);
    vi.setSystemTime(START + 1_000);
    setVisible(true);
    expect(session.advertisingToken).toBe('advertising-1');
  });
});

describe('a promise reports the actual state', () => {
  const never = () => new Promise<never>(() => {});

  test.each<[string, (session: ReturnType<typeof fixture.open>['session']) => Promise<void>]>([
    ['clear()', (session) => session.clear()],
    ['signIn(), for which nobody is signed in', (session) => session.signIn()],
    ['a switch of user', (session) => session.setTokens(success(2))],
    ['an opt-out', (session) => session.setTokens({ status: 'optout' })],
  ])(
    '%s rejects with storage_failed if the store hangs, or fails on this page, and the next may find the former user',
    async (_, call) => {
      for (const failing of [never, () => Promise.reject(new DOMException('lost', 'UnknownError'))]) {
        const inner = memoryStore(recordOf(1));
        const store: Store = { ...inner };
        const { session } = await loaded(fixture.open({ store, provide: async () => null }));
        Object.assign(store, { read: failing, update: failing });
        const done = call(session);
        expect(session.advertisingToken).not.toBe('advertising-1');
        await Promise.all([fixture.advance(10_000), expect(done).rejects.toMatchObject({ code: 'storage_failed' })]);
        expect(session.advertisingToken).not.toBe('advertising-1');
        session.close();
      }
    },
  );
});

describe('an erasure before consent', () => {
  test('is not repeated after consent, which would erase the login of another tab', async () => {
    const { session, inner, grant, settle } = openAsking(recordOf(1));
    await session.clear();
    await inner.update(() => ({ ...recordOf(2), generation: 9 }));
    grant();
    await settle();
    expect(session.advertisingToken).toBe('advertising-2');
  });

  test('releases the connection that it opened, when the session closes', async () => {
    const close = vi.fn();
    const { consent } = controlledConsent();
    const { session } = fixture.open({ store: { ...memoryStore(recordOf(1)), close }, consent });
    await session.clear();
    session.close();
    await fixture.settle();
    expect(close).toHaveBeenCalled();
  });
});

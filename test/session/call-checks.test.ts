/** What a page passes to the methods of a session: a wrong argument is a TypeError that names it, and changes nothing. */

import { describe, expect, test, vi } from 'vitest';
import type { Session } from '../../src/session/index.ts';
import { loaded } from '../support/clock.ts';
import { fixtureForEachTest, success } from './fixtures.ts';

const fixture = fixtureForEachTest();
type Untyped = Record<keyof Session, (...given: unknown[]) => unknown>;

const open = async () => {
  const opened = await loaded(fixture.openStored({ user: 'account-a', tokens: success(1) }));
  return { ...opened, untyped: opened.session as unknown as Untyped };
};

describe('a wrong argument is named, with what was expected and what came', () => {
  const click = () => new MouseEvent('click');
  const events = 'token or expired or optout or needsTokens or error';
  const CALLS: Record<string, (session: Untyped) => unknown> = {
    'setTokens: options: expected object, got string': (s) => s.setTokens(success(2), 'account-b'),
    'setTokens: options.usr: expected one of user, got an unknown name; did you mean user?': (s) =>
      s.setTokens(success(2), { usr: 'b' }),
    'setTokens: options: expected object, got array': (s) => s.setTokens(success(2), ['b']),
    'signIn: options: expected object, got string': (s) => s.signIn('account-b'),
    'signIn: options.username: expected one of user, got an unknown name; did you mean user?': (s) =>
      s.signIn({ username: 'account-b' }),
    'signIn: options: expected object, got an event: listen with () => session.signIn()': (s) => s.signIn(click()),
    'clear: options: expected object, got boolean': (s) => s.clear(true),
    'clear: options.forgetAll: expected one of forget, got an unknown name; did you mean forget?': (s) =>
      s.clear({ forgetAll: true }),
    'clear: options.forget: expected boolean, got string': (s) => s.clear({ forget: 'yes' }),
    'clear: options: expected object, got an event: listen with () => session.clear()': (s) => s.clear(click()),
    'getToken: options: expected object, got number': (s) => s.getToken(500),
    'getToken: options.timeout: expected one of timeoutMs, got an unknown name; did you mean timeoutMs?': (s) =>
      s.getToken({ timeout: 500 }),
    'getToken: options.timeoutMs: expected number, got string': (s) => s.getToken({ timeoutMs: '500' }),
    'getToken: options.timeoutMs: expected number of 0 or more, got NaN': (s) => s.getToken({ timeoutMs: Number.NaN }),
    'getToken: options.timeoutMs: expected number of 0 or more, got -1': (s) => s.getToken({ timeoutMs: -1 }),
    [`on: event: expected ${events}, got "tokens"; did you mean 'token'?`]: (s) => s.on('tokens', () => {}),
    [`on: event: expected ${events}, got "needs_tokens"; did you mean 'needsTokens'?`]: (s) =>
      s.on('needs_tokens', () => {}),
    [`on: event: expected ${events}, got "change"`]: (s) => s.on('change', () => {}),
    'on: listener: expected function, got undefined': (s) => s.on('token'),
    'subscribe: listener: expected function, got object': (s) => s.subscribe({}),
  };
  test.each(Object.entries(CALLS))('%s', async (message, call) => {
    const { untyped, session, store } = await open();
    const stored = await store.read();
    expect(() => call(untyped)).toThrow(new TypeError(message));
    await fixture.settle();
    expect(session.advertisingToken).toBe('advertising-1');
    expect(await store.read()).toEqual(stored);
  });
});

test('no options, null, and members that are undefined are right', async () => {
  const { session } = await open();
  for (const none of [undefined, null, {}, { timeoutMs: undefined }, { timeoutMs: 0 }, { timeoutMs: Infinity }])
    expect(await session.getToken(none as never)).toBe('advertising-1');
  await session.setTokens(success(2), { user: undefined });
  await session.setTokens(success(3), null as never);
  session.on('token', vi.fn())();
  session.subscribe(vi.fn())();
  await session.clear({ forget: undefined });
  await session.signIn({ user: undefined }).catch(() => {});
  expect(session.advertisingToken).toBeUndefined();
});

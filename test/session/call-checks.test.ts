/** What a page passes to the methods of a session: a wrong argument is a TypeError that names it, and changes nothing. */

import { describe, expect, test, vi } from 'vitest';
import type { Session } from '../../src/session/index.ts';
import { fixtureForEachTest, success } from './fixtures.ts';

const fixture = fixtureForEachTest();
/** A session whose types do not stop a wrong argument. */
type Untyped = Record<keyof Session, (...given: unknown[]) => unknown>;

const open = async () => {
  const opened = fixture.openStored({ user: 'account-a', tokens: success(1) });
  await opened.session.ready;
  return { ...opened, untyped: opened.session as unknown as Untyped };
};

describe('a wrong argument is named, with what was expected and what came', () => {
  const click = () => new MouseEvent('click');
  test.each<[string, (session: Untyped) => unknown, string]>([
    [
      'the label itself in setTokens',
      (s) => s.setTokens(success(2), 'account-b'),
      'setTokens: options: expected object, got string',
    ],
    [
      'a misspelt label in setTokens',
      (s) => s.setTokens(success(2), { usr: 'account-b' }),
      'setTokens: options.usr: expected one of user, got an unknown name',
    ],
    ['a list in setTokens', (s) => s.setTokens(success(2), ['b']), 'setTokens: options: expected object, got array'],
    ['the label itself in signIn', (s) => s.signIn('account-b'), 'signIn: options: expected object, got string'],
    [
      'a misspelt label in signIn',
      (s) => s.signIn({ username: 'account-b' }),
      'signIn: options.username: expected one of user, got an unknown name',
    ],
    [
      'signIn as a listener',
      (s) => s.signIn(click()),
      'signIn: options: expected object, got an event: listen with () => session.signIn()',
    ],
    ['true in clear', (s) => s.clear(true), 'clear: options: expected object, got boolean'],
    [
      'a misspelt option in clear',
      (s) => s.clear({ forgetAll: true }),
      'clear: options.forgetAll: expected one of forget, got an unknown name',
    ],
    ['a word for forget', (s) => s.clear({ forget: 'yes' }), 'clear: options.forget: expected boolean, got string'],
    [
      'clear as a listener',
      (s) => s.clear(click()),
      'clear: options: expected object, got an event: listen with () => session.clear()',
    ],
    ['a number in getToken', (s) => s.getToken(500), 'getToken: options: expected object, got number'],
    [
      'a misspelt limit in getToken',
      (s) => s.getToken({ timeout: 500 }),
      'getToken: options.timeout: expected one of timeoutMs, got an unknown name',
    ],
    [
      'a string for the limit in getToken',
      (s) => s.getToken({ timeoutMs: '500' }),
      'getToken: options.timeoutMs: expected number of ms from 0, got string',
    ],
    [
      'no number for the limit in getToken',
      (s) => s.getToken({ timeoutMs: Number.NaN }),
      'getToken: options.timeoutMs: expected number of ms from 0, got NaN',
    ],
    [
      'a limit below 0 in getToken',
      (s) => s.getToken({ timeoutMs: -1 }),
      'getToken: options.timeoutMs: expected number of ms from 0, got -1',
    ],
    [
      'an unknown event',
      (s) => s.on('tokens', () => {}),
      `on: event: expected token or expired or optout or needsTokens or error, got "tokens"; did you mean 'token'?`,
    ],
    ...Object.entries({ optOut: 'optout', needs_tokens: 'needsTokens', expire: 'expired', errors: 'error' }).map(
      ([event, meant]): [string, (s: Untyped) => unknown, string] => [
        `the event ${event}`,
        (s) => s.on(event, () => {}),
        `on: event: expected token or expired or optout or needsTokens or error, got "${event}"; did you mean '${meant}'?`,
      ],
    ),
    [
      'an internal event',
      (s) => s.on('change', () => {}),
      'on: event: expected token or expired or optout or needsTokens or error, got "change"',
    ],
    ['no listener', (s) => s.on('token'), 'on: listener: expected function, got undefined'],
    ['no function in subscribe', (s) => s.subscribe({}), 'subscribe: listener: expected function, got object'],
  ])('%s', async (_, call, message) => {
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

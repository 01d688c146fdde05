/**
 * The production build, on the source: what its errors and checks keep without the words of `explain/`. What the built files contain is
 * in `production.test.ts`.
 */

import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { Session, SessionOptions, Store, TokenError } from '../../src/session/index.ts';
import { HOUR, loaded } from '../support/clock.ts';
import {
  answersPlain,
  answersSealed,
  BASE_URL,
  fixtureForEachTest,
  hangs,
  offline,
  recordOf,
  type Service,
} from './fixtures.ts';

// Before the imports: `src/session/explain/entry.ts` reads it when it is loaded.
vi.hoisted(() => Object.assign(globalThis, { __TESSERA_PRODUCTION__: true }));

const { memoryStore } = await import('../../src/session/index.ts');
const fixture = fixtureForEachTest();
let warn: ReturnType<typeof vi.spyOn>;
beforeEach(() => void (warn = vi.spyOn(console, 'warn').mockImplementation(() => {})));

const recordWith = (more: object, n = 1) => ({
  store: memoryStore({ ...recordOf(n, Date.now() - 2 * HOUR), ...more }),
});
const busy = () => Promise.reject(new Response('', { status: 503, headers: { 'retry-after': '60' } }));
const cannotWrite = (): Store => ({ ...memoryStore(recordOf(1)), update: () => Promise.reject(new Error('full')) });
const getToken = (session: Session) => session.getToken({ timeoutMs: 5_000 });
const refresh = (session: Session) => session.refresh();
const unavailable = answersPlain(503, '', { 'retry-after': '60' });

describe('an error has its code, its status, the pause that a server asked for, and a reference to the documentation', () => {
  type Options = Partial<SessionOptions>;
  type Call = (session: Session) => Promise<unknown>;
  const closeAndClear: Call = (session) => {
    session.close();
    return session.clear();
  };
  const CASES: [code: string, options: () => Options, call: Call, details?: object, service?: Service][] = [
    ['no_token', () => ({}), getToken],
    ['no_consent', () => ({ consent: () => false }), getToken],
    ['opted_out', () => recordWith({ set: undefined, optedOut: true }), getToken],
    ['refresh_rejected', () => recordWith({ ended: true }), getToken],
    ['timeout', () => ({ provide: () => new Promise(() => {}) }), getToken],
    ['provide_failed', () => ({ provide: busy }), getToken, { status: 503, retryAfterMs: 60_000 }],
    ['invalid_token_set', () => ({ provide: (() => '{}') as never }), getToken],
    ['storage_failed', () => ({ store: cannotWrite() }), (session) => session.clear()],
    ['closed', () => ({}), closeAndClear],
    ['network', () => recordWith({}), refresh, {}, offline],
    ['timeout', () => recordWith({}), refresh, {}, hangs],
    ['http_status', () => recordWith({}), refresh, { status: 503, retryAfterMs: 60_000 }, unavailable],
    ['malformed_response', () => recordWith({}), refresh, { status: 200 }, answersPlain(200, '<')],
    ['decrypt_failed', () => recordWith({}), refresh, { status: 200 }, () => answersSealed({})({ n: 9 } as never)],
  ];
  test.each(CASES)('%s', async (code, options, call, details = {}, service = hangs) => {
    fixture.serve(service);
    const { session } = await loaded(fixture.open(options()));
    const failed = call(session).then(
      () => 'no error',
      (error: TokenError) => error,
    );
    await fixture.advance(10_000);
    const { message, ...members } = (await failed) as TokenError;
    expect(members).toEqual({ name: 'TokenError', code, ...details });
    expect(message).toMatch(`${code}: see docs/errors.md of tessera-id`);
    expect(warn).not.toHaveBeenCalled();
  });

  test.each<[code: string, when: string, options: () => Partial<SessionOptions>]>([
    ['no_consent', 'the gate fails', () => ({ consent: () => Promise.reject(new Error('jane@example.com')) })],
    ['no_consent', 'the gate answers no boolean', () => ({ consent: (() => 'yes') as never })],
    [
      'storage_failed',
      'the store fails',
      () => ({ store: { ...memoryStore(), read: () => Promise.reject(new Error()) } }),
    ],
    ['storage_failed', 'the store lacks a method', () => ({ store: { update: async () => {} } as never })],
    ['invalid_token_set', 'the page was rendered with no set', () => ({ tokens: { jane: 1 } as never })],
  ])('%s is an event, and no warning, if %s', async (code, _, options) => {
    const { session, events } = await loaded(fixture.open(options()));
    await fixture.settle();
    expect(events[0]).toEqual(['error', code]);
    expect(session.state.lastError?.message).toBe(`${code}: see docs/errors.md of tessera-id`);
    expect(warn).not.toHaveBeenCalled();
  });
});

test.each<[option: string, options: object]>([
  ['baseUrl', { baseUrl: 'http://operator.example' }],
  ['provide', { provide: '/token' }],
  ['consent', { consent: null }],
  ['fetch', { fetch: {} }],
  ['now', { now: 0 }],
  ['user', { user: 7 }],
  ['refresh', { refresh: 'Off' }],
  ['refersh', { refersh: 'off' }],
])('the option %s is checked', (option, options) => {
  expect(() => fixture.open({ store: memoryStore(), ...options } as never)).toThrow(TypeError);
  expect(() => fixture.open({ store: memoryStore(), ...options } as never)).toThrow(
    new RegExp(`^${option}: (expected |invalid option$)`),
  );
});

test('other mistakes cause neither an exception nor a warning', async () => {
  const shared = { name: 'twice', timeoutMs: '10' };
  const one = fixture.open(shared as never).session;
  fixture.open(shared as never);
  one.on('tokens' as never, () => {});
  await one.clear(true as never);
  const blocked = { blockedURI: `${BASE_URL}/v2/token/refresh`, effectiveDirective: 'connect-src' };
  document.dispatchEvent(Object.assign(new Event('securitypolicyviolation', { bubbles: true }), blocked));
  expect(warn).not.toHaveBeenCalled();
});

/**
 * The messages of the production build, on the source: each error keeps its code and status, and what failed in few words. What the
 * built files contain is in `production.test.ts`.
 */

import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { Session, SessionOptions, Store, TokenError } from '../../src/session/index.ts';
import { HOUR } from '../support/fixtures.ts';
import {
  answersPlain,
  answersSealed,
  BASE_URL,
  fakeLocks,
  fixtureForEachTest,
  fullStore,
  hangs,
  offline,
  recordOf,
  type Service,
  sealedFor,
  success,
} from './fixtures.ts';

// Before the imports: `src/token/development.ts` reads it when it is loaded.
vi.hoisted(() => Object.assign(globalThis, { __TESSERA_PRODUCTION__: true }));

const { memoryStore } = await import('../../src/session/index.ts');
const fixture = fixtureForEachTest();
let warn: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
});

const codeOf = ({ code, message, status }: TokenError) => [code, message, status];
/** What the session emits as `error` from now on. */
const errorsOf = (session: Session): unknown[] => {
  const errors: unknown[] = [];
  session.on('error', (error) => errors.push(codeOf(error)));
  return errors;
};
/** What a promise rejects with while the fake clock passes `ms`. */
const failure = async (call: Promise<unknown>, ms = 0): Promise<unknown[]> => {
  const settled = call.then(() => [], codeOf);
  await fixture.advance(ms);
  return settled;
};

describe('getToken rejects with code and state', () => {
  test.each<[string, () => Partial<SessionOptions>, code: string, message: string]>([
    ['without a set and `provide`', () => ({}), 'no_token', 'no_token: empty'],
    ['if nobody is signed in', () => ({ provide: () => null }), 'no_token', 'no_token: nobody'],
    [
      'with an expired set that the host refreshes',
      () => ({ refresh: 'off', store: memoryStore(recordOf(1, Date.now() - 2 * HOUR)) }),
      'no_token',
      'no_token: expired',
    ],
    ['without consent', () => ({ consent: () => false }), 'no_consent', 'no_consent: refused'],
    [
      'after an opt-out',
      () => ({ store: memoryStore({ ...recordOf(1), set: undefined, optedOut: true }) }),
      'opted_out',
      'opted_out',
    ],
    [
      'after the end of the set',
      () => ({ store: memoryStore({ ...recordOf(1, Date.now() - 2 * HOUR), ended: true }) }),
      'refresh_rejected',
      'refresh_rejected',
    ],
    [
      'if `provide` hangs',
      () => ({ provide: () => new Promise(() => {}) }),
      'timeout',
      'getToken: no result within 5000 ms',
    ],
    [
      'if `provide` fails',
      () => ({ provide: () => Promise.reject(new TypeError('jane')) }),
      'provide_failed',
      'provide rejected with TypeError',
    ],
    [
      'if `provide` returns a string',
      () => ({ provide: (() => '{}') as never }),
      'invalid_token_set',
      'token set: expected object, got string',
    ],
  ])('%s', async (_, options, code, message) => {
    const { session } = fixture.open(options());
    await session.ready;
    await fixture.settle();
    expect(await failure(session.getToken({ timeoutMs: 5_000 }), 5_000)).toEqual([code, message, undefined]);
    expect(warn).not.toHaveBeenCalled();
  });

  test('after close()', async () => {
    const { session } = fixture.open();
    session.close();
    expect(await failure(session.getToken())).toEqual(['closed', 'closed', undefined]);
  });

  test('while the consent gate has not answered', async () => {
    const { session } = fixture.open({ consent: () => new Promise(() => {}) });
    expect(await failure(session.refresh())).toEqual(['no_consent', 'no_consent: pending', undefined]);
  });

  test('in a tab of the former user', async () => {
    const shared = { name: 'users-in-production', store: memoryStore() };
    const former = fixture.open({ ...shared, user: 'account-a', tokens: success(1) }).session;
    await former.ready;
    await fixture.open(shared).session.setTokens(success(2), { user: 'account-b' });
    await fixture.settle();
    expect(await failure(former.getToken())).toEqual(['no_token', 'no_token: other_user', undefined]);
  });
});

describe('a failed refresh keeps code and status', () => {
  const answered = 'refresh: POST /v2/token/refresh answered';
  test.each<[string, Service, code: string, message: string, status?: number]>([
    ['no network', offline, 'network', `refresh: no answer to POST ${BASE_URL}/v2/token/refresh`],
    ['no answer in time', hangs, 'timeout', 'refresh: no result within 10000 ms'],
    ['a failure of the service', answersPlain(503), 'http_status', `${answered} 503`, 503],
    ['a wrong path', answersPlain(404, '<html>'), 'http_status', `${answered} 404`, 404],
    ['no base64', answersPlain(200, '<html>'), 'malformed_response', 'malformed_response', 200],
    ['a short answer', answersPlain(200, 'AAAA'), 'malformed_response', 'malformed_response', 200],
    [
      'no UTF-8',
      ({ n }) => new Response(sealedFor(n, new Uint8Array([255]))),
      'malformed_response',
      'malformed_response',
      200,
    ],
    ['no JSON', answersSealed('{'), 'malformed_response', 'malformed_response', 200],
    ['another key', () => answersSealed(success(2))({ n: 9 } as never), 'decrypt_failed', 'decrypt_failed', 200],
    [
      'what is no response',
      (() => undefined) as never,
      'network',
      `refresh: no answer to POST ${BASE_URL}/v2/token/refresh`,
    ],
    ['the end of the set', answersPlain(400, { status: 'expired_token' }), 'refresh_rejected', 'refresh_rejected'],
  ])('%s', async (_, service, ...expected) => {
    fixture.serve(service);
    const { session } = fixture.openStored();
    await session.ready;
    const [code, message, status] = expected;
    expect(await failure(session.refresh(), 10_000)).toEqual([code, message, status]);
    expect(warn).not.toHaveBeenCalled();
  });

  test('a pause that the service has asked for', async () => {
    fixture.serve(answersPlain(503, '', { 'retry-after': '60' }));
    const { session, store } = fixture.openStored();
    await session.ready;
    await failure(session.refresh());
    const other = fixture.open({ store });
    await other.session.ready;
    expect(await failure(other.session.refresh())).toEqual(['network', 'network', undefined]);
  });

  test('another tab whose refresh never ends', async () => {
    fakeLocks().held.add('held-in-production');
    const { session } = fixture.openStored({ name: 'held-in-production' });
    await session.ready;
    expect(await failure(session.refresh(), 13_000)).toEqual(['timeout', 'timeout', undefined]);
  });

  test('a service that refuses the set supplied after an opt-out', async () => {
    fixture.serve(answersPlain(400, { status: 'expired_token' }));
    const { session } = fixture.open({ store: memoryStore({ ...recordOf(1), set: undefined, optedOut: true }) });
    await session.setTokens(success(2));
    await fixture.settle();
    expect(codeOf(session.state.lastError!)).toEqual(['opted_out', 'opted_out', undefined]);
  });
});

describe('a store that fails is an event with a code', () => {
  const noted = async (store: Store) => {
    const { session } = fixture.open({ store });
    const errors = errorsOf(session);
    await session.ready;
    const done = session.setTokens(success(1)).then(() => 'stored', codeOf);
    await fixture.advance(10_000);
    return { errors, done: await done };
  };
  const failed = ['storage_failed', 'storage_failed', undefined];

  test('on a full disk', async () => {
    expect(await noted(fullStore(memoryStore()))).toEqual({ errors: [failed], done: 'stored' });
  });

  test('with a damaged record', async () => {
    expect(await noted(memoryStore({ v: 2, generation: 'x' }))).toEqual({ errors: [failed], done: 'stored' });
  });

  test('whose update does not call its argument', async () => {
    const store: Store = { ...memoryStore(), update: async () => undefined };
    expect(await noted(store)).toEqual({ errors: [failed], done: 'stored' });
  });

  test('and may keep the former user', async () => {
    const store: Store = { ...memoryStore(recordOf(1)), update: () => Promise.reject(new Error()) };
    expect(await noted(store)).toEqual({ errors: [failed], done: failed });
  });
});

describe('a consent gate', () => {
  const gateError = async (consent: NonNullable<SessionOptions['consent']>) => {
    const { session } = fixture.open({ consent });
    const errors = errorsOf(session);
    await session.ready;
    await fixture.settle();
    return errors;
  };
  const failed = [['no_consent', 'no_consent: failed', undefined]];

  test.each<[string, NonNullable<SessionOptions['consent']>]>([
    ['that rejects', () => Promise.reject(new Error())],
    ['that answers no boolean', (() => 'yes') as never],
    [
      'that changes to no boolean',
      (onChange) => {
        onChange('yes' as never);
        return new Promise(() => {});
      },
    ],
  ])('%s is an event with a code, and no warning', async (_, consent) => {
    expect(await gateError(consent)).toEqual(failed);
    expect(warn).not.toHaveBeenCalled();
  });

  test('drops a set that a later logout outranks', async () => {
    const { session } = fixture.open({ consent: () => new Promise(() => {}) });
    const supplied = failure(session.setTokens(success(1)));
    await session.clear();
    expect(await supplied).toEqual(['no_consent', 'no_consent', undefined]);
  });
});

test('a wrong base URL is a TypeError without a remedy', () => {
  const open = (baseUrl: string) => () => fixture.open({ baseUrl });
  for (const baseUrl of ['operator.example', 'http://operator.example'])
    expect(open(baseUrl)).toThrow(new TypeError('baseUrl: expected an absolute https URL, got string'));
});

test('a second session of one name, a mistake in an argument and a blocked request cause no warning', async () => {
  const one = fixture.open({ name: 'twice' }).session;
  const two = fixture.open({ name: 'twice' }).session;
  expect(() => one.on('tokens' as never, () => {})).not.toThrow();
  await two.clear(true as never);
  const blocked = { blockedURI: `${BASE_URL}/v2/token/refresh`, effectiveDirective: 'connect-src' };
  document.dispatchEvent(Object.assign(new Event('securitypolicyviolation', { bubbles: true }), blocked));
  expect(warn).not.toHaveBeenCalled();
});

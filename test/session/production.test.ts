// @vitest-environment node
/** The production build: code, request and status, no remedy and no warning. The development build has both. */

import { beforeAll, describe, expect, test, vi } from 'vitest';
import { bundle } from '../../build/dist.ts';
import { modes } from '../../build/entries.ts';
import type { Tessera } from '../../src/page/global.ts';
import { memoryStore, type Session, type SessionOptions } from '../../src/session/index.ts';
import { BASE_URL, recordOf, success } from './fixtures.ts';

const code = new Map<string, string>();
beforeAll(async () => {
  for (const mode of ['tessera.js', 'tessera.dev.js', 'development', 'production'])
    code.set(mode, (await bundle(mode)).map((file) => file.code).join('\n'));
});

/** Evaluate a script-tag file with a `window` of its own. */
const load = (name: string): Tessera => {
  const window: { tessera?: Tessera } = {};
  new Function('window', code.get(name)!)(window);
  return window.tessera as Tessera;
};
const messageOf = async (name: string, options: Partial<SessionOptions>, input?: unknown) => {
  const fetch = () => Promise.reject(new TypeError('Failed to fetch'));
  const session = load(name).createSession({ baseUrl: BASE_URL, name, fetch, store: memoryStore(), ...options });
  await session.ready;
  const call = input ? session.setTokens(input as never) : options.store ? session.refresh() : session.getToken();
  const { message, code, status } = await call.catch((error) => error);
  session.close();
  return { message, code, status };
};

const CASES: [string, () => Partial<SessionOptions>, unknown, object, string][] = [
  [
    'no `provide`',
    () => ({}),
    undefined,
    { code: 'no_token', message: 'no_token: empty' },
    'There is no token set, and no option provide: call setTokens, or pass the option.',
  ],
  [
    'nobody',
    () => ({ provide: async () => null }),
    undefined,
    { code: 'no_token', message: 'no_token: nobody' },
    'Nobody is signed in: provide returned null, a 204, or undefined (is a return missing?). After sign-in, call signIn or setTokens.',
  ],
  [
    'no consent',
    () => ({ consent: () => false }),
    undefined,
    { code: 'no_consent', message: 'no_consent: refused' },
    'Consent is refused or withdrawn.',
  ],
  [
    'a gate that fails',
    () => ({ consent: () => Promise.reject(new TypeError('jane')) }),
    undefined,
    { code: 'no_consent', message: 'no_consent: refused' },
    'consent: the gate failed with TypeError; this counts as a refusal',
  ],
  [
    'a status of `provide`',
    () => ({ provide: (async () => new Response('', { status: 404 })) as never }),
    undefined,
    { code: 'provide_failed', message: 'provide: the server answered 404', status: 404 },
    'provide: the server answered 404; the server has no route there',
  ],
  [
    'no network',
    () => ({ store: memoryStore(recordOf(1)) }),
    undefined,
    { code: 'network', message: `refresh: no answer to POST ${BASE_URL}/v2/token/refresh` },
    `refresh: no answer to POST ${BASE_URL}/v2/token/refresh; the service cannot be reached`,
  ],
  [
    'a string for a set',
    () => ({}),
    JSON.stringify(success(1)),
    { code: 'invalid_token_set', message: 'token set: expected object, got string' },
    'token set: expected object, got a string: use JSON.parse, or response.json() for response.text()',
  ],
];

describe.each(CASES)('%s', (_, options, input, production, development) => {
  test('in tessera.js', async () => {
    expect(await messageOf('tessera.js', options(), input)).toMatchObject(production);
  });

  test('in tessera.dev.js', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    expect(await messageOf('tessera.dev.js', options(), input)).toMatchObject({ ...production, message: development });
    warn.mockRestore();
  });
});

describe('a wrong argument of a method', () => {
  const open = (name: string) => {
    const session = load(name).createSession({ baseUrl: BASE_URL, name, store: memoryStore() });
    return session as unknown as Record<keyof Session, (...given: unknown[]) => unknown>;
  };
  const message = 'setTokens: options: expected object, got string';

  test('in tessera.js is a TypeError if one user’s set would be stored as another’s, and is ignored otherwise', async () => {
    const session = open('tessera.js');
    expect(() => session.setTokens(success(1), 'account-b')).toThrow(new TypeError(message));
    await session.clear({ isTrusted: true, preventDefault() {} });
    await expect(session.signIn('account-b')).rejects.toMatchObject({ code: 'no_token' });
    session.on('tokens', () => {});
    session.close();
  });

  test('in tessera.dev.js is a TypeError', () => {
    const session = open('tessera.dev.js');
    expect(() => session.setTokens(success(1), 'account-b')).toThrow(new TypeError(message));
    expect(() => session.clear(true)).toThrow(TypeError);
    expect(() => session.on('tokens', () => {})).toThrow(TypeError);
    session.close();
  });
});

test('a gate that fails is an event of tessera.js, without a text', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const consent = () => Promise.reject(new TypeError('jane'));
  const session = load('tessera.js').createSession({ baseUrl: BASE_URL, store: memoryStore(), consent });
  const error = await new Promise((resolve) => session.on('error', resolve));
  expect(error).toMatchObject({ name: 'TokenError', code: 'no_consent', message: 'no_consent: failed' });
  expect(session.state.lastError).toBe(error);
  expect(warn).not.toHaveBeenCalled();
  warn.mockRestore();
  session.close();
});

const ONLY_IN_DEVELOPMENT = [
  'securitypolicyviolation',
  'is already open on this page',
  'did you mean',
  'Nobody is signed in',
  'this counts as a refusal',
  'not a network failure',
  'baseUrl has a wrong path',
  'with an HTML page',
  'getToken: options.timeoutMs',
];

test.each([
  ['tessera.js', []],
  ['tessera.dev.js', ONLY_IN_DEVELOPMENT],
  ['production', []],
  ['development', ONLY_IN_DEVELOPMENT.filter((text) => text !== 'did you mean')],
])('%s contains of the warnings: %j', (name, expected) => {
  expect(modes).toContain(name);
  expect(ONLY_IN_DEVELOPMENT.filter((text) => code.get(name)!.includes(text))).toEqual(expected);
});

// @vitest-environment node
/** The built files: production has code and status, and no warning; the development build also explains. */

import { beforeAll, describe, expect, test, vi } from 'vitest';
import { bundle } from '../../build/dist.ts';
import { modes } from '../../build/entries.ts';
import type { Tessera, TesseraCall } from '../../src/page/global.ts';
import { memoryStore, type Session } from '../../src/session/index.ts';
import { BASE_URL, success } from './fixtures.ts';

const code = new Map<string, string>();
beforeAll(async () => {
  for (const mode of ['tessera.js', 'tessera.dev.js', 'development', 'production'])
    code.set(mode, (await bundle(mode)).map((file) => file.code).join('\n'));
});

/** Evaluate a script-tag file with a `window` of its own, and the calls that it has queued. */
const load = (name: string, queue: TesseraCall[] = []): Tessera => {
  const window: { tessera?: Tessera | TesseraCall[] } = { tessera: queue };
  new Function('window', 'dispatchEvent', code.get(name)!)(window, () => true);
  return window.tessera as Tessera;
};
const errorOf = async (name: string) => {
  const session = load(name).createSession({ baseUrl: BASE_URL, name, store: memoryStore() });
  await session.ready;
  const { message, code } = await session.refresh().catch((error) => error);
  session.close();
  return { message, code };
};

test('tessera.js refers to the documentation, tessera.dev.js explains', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const code = 'no_token';
  const message =
    'There is no token set, and no option provide: if a user is signed in, call setTokens, or pass the option.';
  expect(await errorOf('tessera.js')).toEqual({ code, message: `${code}: see docs/errors.md of tessera-id` });
  expect(warn).not.toHaveBeenCalled();
  expect(await errorOf('tessera.dev.js')).toEqual({ code, message });
  warn.mockRestore();
});

test('tessera.dev.js in a worker, which has no page, says so', () => {
  expect(() => new Function('window', code.get('tessera.dev.js')!)()).toThrow(
    new TypeError('script tag: expected a page, got a worker: there, import createSession from tessera-id'),
  );
});

test.each([
  ['tessera.js', 'tessera: no session: check data-base-url'],
  [
    'tessera.dev.js',
    '[tessera] script tag: a pushed function threw, and there is no tessera.session: add data-base-url to the tag, or call createSession first',
  ],
])('%s says in words that a queued function has got no session', async (name, text) => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  const thrown = await new Promise((resolve) => {
    vi.stubGlobal('reportError', resolve);
    load(name, [() => {}, (t) => t.session!.on('token', () => {})]);
  });
  expect(thrown).toBeInstanceOf(TypeError);
  expect(warn.mock.calls).toEqual([[text]]);
  warn.mockRestore();
  vi.unstubAllGlobals();
});

describe('a wrong argument of a method', () => {
  const open = (name: string) => {
    const session = load(name).createSession({ baseUrl: BASE_URL, name, store: memoryStore() });
    return session as unknown as Record<keyof Session, (...given: unknown[]) => unknown>;
  };
  test('in tessera.js is a TypeError if one user’s set would be stored as another’s, and is ignored otherwise', async () => {
    const session = open('tessera.js');
    const message = 'options: invalid option';
    expect(() => session.setTokens(success(1), 'account-b')).toThrow(new TypeError(message));
    expect(() => session.setTokens(success(1), { User: 'account-b' })).toThrow(new TypeError('User: invalid option'));
    expect(() => session.signIn({ users: 'account-b' })).toThrow(new TypeError('users: invalid option'));
    await session.clear({ isTrusted: true, preventDefault() {} });
    expect(() => session.signIn('account-b')).toThrow(new TypeError(message));
    session.on('tokens', () => {});
    session.close();
  });

  test('in tessera.dev.js is a TypeError', () => {
    const session = open('tessera.dev.js');
    expect(() => session.setTokens(success(1), 'account-b')).toThrow(
      new TypeError('setTokens: options: expected object, got string'),
    );
    expect(() => session.clear(true)).toThrow(TypeError);
    expect(() => session.on('tokens', () => {})).toThrow(TypeError);
    session.close();
  });
});

describe('an option of tessera.js that would be ignored, and starts a session without what it asks for, is a TypeError', () => {
  const gate = () => false;
  test.each<[option: string, given: object]>([
    ['consents', { consents: gate }],
    ['Consent', { Consent: gate }],
    ['consnt', { consnt: gate }],
    ['onConsent', { onConsent: gate }],
    ['consent', { consent: null }],
    ['users', { users: 'account-1' }],
    ['User', { User: 'account-1' }],
    ['refresh', { refresh: 'Off' }],
    ['refresh', { refresh: false }],
    ['refresh', { refresh: null }],
    ['Refresh', { Refresh: 'off' }],
    ['provider', { provider: gate }],
  ])('%s: %j', (option, given) => {
    const create = () => load('tessera.js').createSession({ baseUrl: BASE_URL, name: 'wrong', ...given });
    expect(create).toThrow(new TypeError(`${option}: invalid option`));
  });

  test('but not what every object inherits, nor an option that is undefined', () => {
    const inherited = { consents: gate, Refresh: 'off', users: 'a' };
    const options = {
      baseUrl: BASE_URL,
      name: 'inherited',
      store: memoryStore(),
      refresh: undefined,
      consent: undefined,
    };
    Object.assign(Object.prototype, inherited);
    try {
      load('tessera.js').createSession(options).close();
    } finally {
      for (const name of Object.keys(inherited)) Reflect.deleteProperty(Object.prototype, name);
    }
  });
});

const ONLY_IN_DEVELOPMENT = [
  'securitypolicyviolation',
  'is already open on this page',
  "did you mean '",
  'Nobody is signed in',
  'this counts as a refusal',
  'not a network failure',
  'baseUrl has a wrong path',
  'with an HTML page',
  'pass answerOf(result)',
  'an event: listen with',
];

test.each([
  ['tessera.js', []],
  ['tessera.dev.js', ONLY_IN_DEVELOPMENT],
  ['production', []],
  ['development', ONLY_IN_DEVELOPMENT],
])('%s contains of the warnings: %j', (name, expected) => {
  expect(modes).toContain(name);
  expect(ONLY_IN_DEVELOPMENT.filter((text) => code.get(name)!.includes(text))).toEqual(expected);
});

// The Inspector of the production build has them too.
test('of the script-tag files, only tessera.dev.js has the words of session.explain()', () => {
  expect(['tessera.js', 'tessera.dev.js'].filter((name) => code.get(name)!.includes('Next, the session will'))).toEqual(
    ['tessera.dev.js'],
  );
});

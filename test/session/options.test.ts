import { afterEach, describe, expect, test, vi } from 'vitest';
import { createSession, memoryStore, type SessionOptions } from '../../src/session/index.ts';
import { loaded, until } from '../support/clock.ts';
import { BASE_URL, createFixture, recordOf, restoreGlobals } from './fixtures.ts';

afterEach(restoreGlobals);

const create = (overrides: object) =>
  createSession({ baseUrl: BASE_URL, store: memoryStore(), ...overrides } as SessionOptions);

describe('a wrong option throws a TypeError at creation that names the option, what was expected and what came', () => {
  const withUser = 'expected an absolute https URL .+, got a URL with a user or password';
  const WRONG: [message: string, options: object][] = [
    ['name: expected string, got empty string', { name: '' }],
    ['name: expected string, got number', { name: 5 }],
    ['provide: expected function, got string', { provide: 'text' }],
    ['consent: expected function, got boolean', { consent: false }],
    ['consent: expected function, got null', { consent: null }],
    ['refresh: expected auto or off, got "sometimes"', { refresh: 'sometimes' }],
    ['fetch: expected function, got object', { fetch: {} }],
    ['store.read: expected function, got undefined', { store: { update: () => {} } }],
    ['store.update: expected function, got undefined', { store: { read: () => {} } }],
    ['now: expected function, got number', { now: 5 }],
    ['logger.debug: expected function, got undefined', { logger: {} }],
    ['timeoutMs: expected number, got string', { timeoutMs: '10' }],
    ['timeoutMs: expected finite number above 0, got 0', { timeoutMs: 0 }],
    ['retry: expected object, got number', { retry: 5 }],
    ['retry.firstMs: expected number, got string', { retry: { firstMs: '5' } }],
    ['retry.maxMs: expected finite number above 0, got Infinity', { retry: { maxMs: Number.POSITIVE_INFINITY } }],
    [`baseUrl: ${withUser}`, { baseUrl: 'http://jane@operator.example', allowInsecure: true }],
    ['baseUrl: expected .+, got the scheme "http:"', { baseUrl: 'http://operator.example', allowInsecure: 'yes' }],
    ['baseUrl: expected .+, got undefined', { baseUrl: undefined }],
  ];
  test.each(WRONG)('%s', (message, options) => {
    expect(() => create(options)).toThrow(TypeError);
    expect(() => create(options)).toThrow(new RegExp(`^${message}$`));
  });

  test.each([undefined, 'https://operator.example', {}])('no options: %s', (options) => {
    expect(() => createSession(options as never)).toThrow(
      /^(options: expected object, got (undefined|string)|baseUrl: expected an absolute https URL .+, got undefined)$/,
    );
  });

  test('nothing has been opened or sent before: no store, no channel, no request', () => {
    const open = vi.spyOn(indexedDB, 'open');
    const fetch = vi.fn();
    const channel = vi.fn();
    vi.stubGlobal('BroadcastChannel', channel);
    expect(() => createSession({ baseUrl: BASE_URL, fetch, timeoutMs: -1 })).toThrow();
    expect(open).not.toHaveBeenCalled();
    expect(fetch).not.toHaveBeenCalled();
    expect(channel).not.toHaveBeenCalled();
  });

  test('undefined means the default', async () => {
    const fixture = createFixture();
    const names = WRONG.flatMap(([, options]) => Object.keys(options)).filter((name) => name !== 'baseUrl');
    const nothing = Object.fromEntries([...names, 'tokens'].map((name) => [name, undefined]));
    const { session } = await loaded(fixture.open(nothing));
    expect(session.state.phase).toBe('empty');
  });
});

test.each([
  ['http://operator.example///', { allowInsecure: true }],
  ['http://localhost:8080/uid', {}],
])('refreshes are sent to the path below %s', async (baseUrl, options) => {
  const fixture = createFixture();
  const at = baseUrl.replace(/\/+$/, '');
  const store = memoryStore({ ...recordOf(1, 1.9e12), baseUrl: at });
  const { session } = fixture.open({ baseUrl, ...options, store, now: () => 1.9e12 + 1e6 });
  await until(() => fixture.sent.length);
  expect(fixture.sent[0]?.url).toBe(`${at}/v2/token/refresh`);
  await session.getToken();
});

test('without the option `fetch` the global one is used, looked up at each call', async () => {
  const fixture = createFixture();
  const fetch = vi.fn(fixture.fetch);
  const { session } = fixture.open({
    fetch: undefined,
    store: memoryStore(recordOf(1, 1.9e12)),
    now: () => 1.9e12 + 1e6,
  });
  vi.stubGlobal('fetch', fetch);
  await until(() => fetch.mock.calls.length);
  await session.getToken();
});

test.each(['0', 'a b/ø'])('any non-empty string may be a name: %j', async (name) => {
  const open = vi.spyOn(indexedDB, 'open');
  const session = createSession({ baseUrl: BASE_URL, name });
  await session.ready;
  expect(open.mock.calls[0]?.[0]).toBe(name);
  session.close();
});

test('the default name of the database is tessera', async () => {
  const open = vi.spyOn(indexedDB, 'open');
  const session = createSession({ baseUrl: BASE_URL });
  await session.ready;
  expect(open.mock.calls[0]?.[0]).toBe('tessera');
  session.close();
});

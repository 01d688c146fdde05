import { afterEach, describe, expect, test, vi } from 'vitest';
import { createSession, memoryStore, type SessionOptions } from '../../src/session/index.ts';
import { until } from '../support/clock.ts';
import { BASE_URL, createFixture, recordOf, restoreGlobals } from './fixtures.ts';

afterEach(restoreGlobals);

const create = (overrides: object) =>
  createSession({ baseUrl: BASE_URL, store: memoryStore(), ...overrides } as SessionOptions);

describe('a wrong option throws a TypeError at creation that names the option, what was expected and what came', () => {
  const wrong: [option: string, value: unknown][] = [
    ['name', ''],
    ['name', 5],
    ['provide', 'text'],
    ['consent', true],
    ['refresh', 'sometimes'],
    ['refresh', true],
    ['fetch', {}],
    ['store', 'text'],
    ['store', () => {}],
    ['now', 5],
    ['logger', 'text'],
    ['timeoutMs', '10'],
    ['timeoutMs', 0],
    ['timeoutMs', Number.NaN],
    ['timeoutMs', Number.POSITIVE_INFINITY],
  ];
  test.each(wrong)('%s: %s', (option, value) => {
    const of = new RegExp(`^${option}(\\.\\w+)?: expected .+, got .+$`);
    expect(() => create({ [option]: value })).toThrow(TypeError);
    expect(() => create({ [option]: value })).toThrow(of);
  });

  test.each(['firstMs', 'maxMs'])('retry.%s', (option) => {
    for (const value of ['5', 0, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => create({ retry: { [option]: value } })).toThrow(TypeError);
      expect(() => create({ retry: { [option]: value } })).toThrow(new RegExp(`${option}: expected .+, got .+`));
    }
  });

  test.each<[string, object, RegExp]>([
    ['a store without read()', { store: { update: () => {} } }, /^store.read: expected function, got undefined$/],
    ['a store without update()', { store: { read: () => {} } }, /^store.update: expected function, got undefined$/],
    ['a logger without debug()', { logger: {} }, /^logger.debug: expected function, got undefined$/],
    [
      'an address with credentials',
      { baseUrl: 'https://jane:secret@operator.example' },
      /^baseUrl: expected an absolute https URL .+, got a URL with a user or password$/,
    ],
    ['a loopback address with credentials', { baseUrl: 'http://jane@localhost' }, /got a URL with a user or password$/],
    [
      'an insecure but allowed address with credentials',
      { baseUrl: 'http://jane@operator.example', allowInsecure: true },
      /got a URL with a user or password$/,
    ],
    ['a number for retry', { retry: 5 }, /^retry: expected .+, got number/],
    ['a string for retry', { retry: 'often' }, /^retry: expected .+, got string/],
    [
      'an insecure address with a truthy allowInsecure other than true',
      { allowInsecure: 'yes', baseUrl: 'http://operator.example' },
      /^baseUrl: expected an absolute https URL .+, got the scheme "http:"$/,
    ],
  ])('%s', (_, overrides, message) => {
    expect(() => create(overrides)).toThrow(TypeError);
    expect(() => create(overrides)).toThrow(message);
  });

  test.each([undefined, 'https://operator.example', {}])('no options: %s', (options) => {
    expect(() => createSession(options as never)).toThrow(
      /^(options: expected object, got (undefined|null|number|string)|baseUrl: expected an absolute https URL .+, got undefined)$/,
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
    const nothing = Object.fromEntries(wrong.map(([option]) => [option, undefined]));
    const { session } = fixture.open({ ...nothing, retry: undefined, tokens: undefined, allowInsecure: undefined });
    await session.ready;
    expect(session.state.phase).toBe('empty');
    fixture.close();
  });
});

describe('baseUrl', () => {
  test.each([
    'https://operator.example',
    'https://operator.example:8443/some/path',
    'HTTPS://OPERATOR.EXAMPLE',
    'http://localhost:8080',
    'http://127.0.0.1:8080/',
    'http://127.1',
    'http://[::1]:8080',
  ])('%s is allowed', (baseUrl) => {
    const session = create({ baseUrl });
    expect(session.state.phase).toBe('empty');
    session.close();
  });

  test.each([
    undefined,
    null,
    '',
    'operator.example',
    '//operator.example',
    'http://operator.example',
    'http://192.168.0.1',
    'http://localhost.evil.example',
    'http://127.0.0.1.evil.example',
    'http://128.0.0.1',
    'http://localhost:80@evil.example',
    'http://127.0.0.1@evil.example',
    'http://evil.example#@localhost',
    'http://evil.example?localhost',
    'ftp://localhost',
    'file:///localhost',
    'https://operator.example/base/?a=1',
    'https://operator.example/base/#b',
    'javascript:alert(1)',
  ])('%s is refused', (baseUrl) => {
    expect(() => create({ baseUrl })).toThrow(TypeError);
    expect(() => create({ baseUrl })).toThrow(/^baseUrl: expected an absolute https URL .+, got .+$/);
  });

  test('allowInsecure allows http to any host, and no other scheme', () => {
    create({ baseUrl: 'http://operator.example', allowInsecure: true }).close();
    for (const baseUrl of ['ftp://operator.example', 'operator.example', 'javascript:0', undefined])
      expect(() => create({ baseUrl, allowInsecure: true })).toThrow(TypeError);
    expect(() => create({ baseUrl: 'http://operator.example', allowInsecure: false })).toThrow(TypeError);
  });

  test.each([
    ['https://operator.example', 'https://operator.example'],
    ['https://operator.example///', 'https://operator.example'],
    ['https://operator.example/base/', 'https://operator.example/base'],
    ['HTTPS://Operator.EXAMPLE:443/', 'https://operator.example'],
  ])('%s sends refreshes to %s/v2/token/refresh', async (baseUrl, at) => {
    const fixture = createFixture();
    const { session } = fixture.open({
      baseUrl,
      store: memoryStore({ ...recordOf(1, 1.9e12), baseUrl: at }),
      now: () => 1.9e12 + 1e6,
    });
    await until(() => fixture.sent.length);
    expect(fixture.sent[0]?.url).toBe(`${at}/v2/token/refresh`);
    await session.getToken();
    fixture.close();
  });
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
  fixture.close();
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

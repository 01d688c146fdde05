/** Code of the host that a session calls, and that throws, rejects, or calls the session in return. */

import { expect, test, vi } from 'vitest';
import { memoryStore, type SessionOptions, type Store, TokenError } from '../../src/session/index.ts';
import { loaded, MINUTE, names, START, until } from '../support/clock.ts';
import { fixtureForEachTest, offline, recordOf, success, watchRejections } from './fixtures.ts';

const fixture = fixtureForEachTest();

const deny = () => {
  throw new Error('denied');
};
const reject = () => Promise.reject(new Error('denied'));

test.each([
  ['throw', deny],
  ['reject', reject],
])('`open` and `close` of a store, and a logger, may %s', async (_, fail) => {
  const { seen, stop } = watchRejections();
  const store: Store = { ...memoryStore(), open: fail, close: fail };
  const { session } = await loaded(fixture.open({ store, logger: { debug: fail } }));
  await session.setTokens(success(1));
  expect(session.advertisingToken).toBe('advertising-1');
  session.close();
  await fixture.settle();
  stop();
  expect(seen).toEqual([]);
});

test('a response whose body rejects counts as no answer', async () => {
  const body = new ReadableStream({ pull: (controller) => controller.error(new Error('denied')) });
  const { session } = await loaded(fixture.openStored({ fetch: async () => new Response(body) }));
  await expect(session.refresh()).rejects.toMatchObject({ code: 'network' });
});

/** An object that throws itself, whatever is read of it: so does what is thrown while it is read. */
const throwsItself = (): object => {
  const fail = () => {
    throw proxy;
  };
  const proxy = new Proxy({}, { get: fail, getPrototypeOf: fail });
  return proxy;
};

const UNREADABLE: [what: string, thrown: unknown][] = [
  ['an object that throws itself when it is read', throwsItself()],
  ['an object whose class has a symbol for its name', { constructor: { name: Symbol('name') } }],
];

test.each(UNREADABLE)('`fetch` may reject with %s: the refresh fails like any other', async (_, thrown) => {
  vi.spyOn(console, 'warn').mockReturnValue();
  const { seen, stop } = watchRejections();
  const { session } = await loaded(fixture.openStored({ fetch: () => Promise.reject(thrown) }));
  await expect(session.refresh()).rejects.toMatchObject({ code: 'network' });
  stop();
  expect(seen).toEqual([]);
});

test.each([
  ['an error', new Error('jane')],
  ['an object that throws itself', throwsItself()],
])(
  'a response that throws %s when its status is read fails like any other: the next attempt follows',
  async (_, thrown) => {
    const { seen, stop } = watchRejections();
    let calls = 0;
    const fetch = async (url: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
      if (++calls > 1) return fixture.fetch(url, init);
      const fail = () => {
        throw thrown;
      };
      return Object.defineProperty(new Response(''), 'status', { get: fail });
    };
    const { session } = await loaded(fixture.openStored({ fetch }));
    await expect(session.refresh()).rejects.toMatchObject({ code: 'network' });
    await fixture.advance(20 * MINUTE);
    stop();
    expect(seen).toEqual([]);
    expect(session.advertisingToken).toBe('advertising-2');
  },
);

test.each([Number.NaN, Number.POSITIVE_INFINITY, new Date()])(
  'a `now` that returns %s is replaced by the clock of the page',
  async (at) => {
    const setTimer = vi.spyOn(globalThis, 'setTimeout');
    const { session } = await loaded(fixture.openStored({ now: () => at as number }));
    expect(session.advertisingToken).toBe('advertising-1');
    await fixture.advance(16 * MINUTE);
    expect(fixture.sent).toHaveLength(1);
    expect(setTimer.mock.calls.filter(([, delay]) => Number.isNaN(delay))).toEqual([]);
  },
);

test.each(UNREADABLE)('a consent gate may reject with %s: it is reported as failed', async (_, thrown) => {
  vi.spyOn(console, 'warn').mockReturnValue();
  const { seen, stop } = watchRejections();
  const { session } = fixture.open({ consent: () => Promise.reject(thrown) });
  await until(() => session.state.lastError);
  expect(session.state.lastError).toMatchObject({
    code: 'no_consent',
    message: expect.stringMatching(/failed with [Oo]bject;/),
  });
  stop();
  expect(seen).toEqual([]);
});

test.each(UNREADABLE)('`provide` may reject with %s: it is called again with back-off', async (_, thrown) => {
  vi.spyOn(console, 'warn').mockReturnValue();
  const { seen, stop } = watchRejections();
  let calls = 0;
  const provide: SessionOptions['provide'] = async () => {
    if (++calls === 1) throw thrown;
    return success(5);
  };
  const { session, events } = await loaded(fixture.open({ provide }));
  await fixture.advance(5 * MINUTE);
  stop();
  expect(seen).toEqual([]);
  expect(events).toContainEqual(['error', 'provide_failed']);
  expect(session.advertisingToken).toBe('advertising-5');
});

test('a logger may read the state: each change is logged and announced once', async () => {
  const logged: unknown[] = [];
  let read = (): unknown => undefined;
  const { session } = fixture.open({ logger: { debug: (_, what) => void logged.push(what, read()) } });
  read = () => session.state;
  let changes = 0;
  session.subscribe(() => changes++);
  await session.ready;
  await session.setTokens(success(1));
  await fixture.settle();
  expect(logged.length).toBeLessThan(20);
  expect(changes).toBeLessThan(10);
});

test('a logger may not change `state.next`: a subscriber who reads the state is not called again and again', async () => {
  const debug = (_: string, what: object) => void Object.assign(what, { loggedAt: Date.now() });
  const { session } = fixture.open({ logger: { debug } as never });
  let changes = 0;
  session.subscribe(() => {
    // Endless changes would block the test.
    if (++changes < 100) void session.state;
  });
  await session.ready;
  await session.setTokens(success(1));
  await fixture.settle();
  expect(session.state.next).toSatisfy(Object.isFrozen);
  expect(changes).toBeLessThan(10);
});

test('a logger may supply a set when a failure is logged: the next outage is emitted again', async () => {
  let supply: (() => unknown) | undefined;
  const debug = (_: string, what: unknown) => {
    if (what instanceof TokenError) supply?.();
  };
  const { session, events } = await loaded(fixture.openStored({ logger: { debug } }));
  supply = () => {
    supply = undefined;
    session.setTokens(success(7));
  };
  fixture.serve(offline);
  await session.refresh();
  await fixture.advance(16 * MINUTE);
  expect(names(events)).toEqual(['token load', 'error network', 'token set', 'error network']);
});

test('`provide` may close the session when it is aborted: nothing is sent any more, and no timer is left', async () => {
  const name = 'closed-by-its-provide';
  const store = memoryStore();
  let calls = 0;
  const provide: SessionOptions['provide'] = ({ signal }) =>
    new Promise(() => {
      calls++;
      signal.addEventListener('abort', () => session.close());
    });
  const { session } = fixture.open({ store, name, provide });
  await until(() => calls === 1);
  // Another tab brings a set whose refresh is due.
  await store.update(() => recordOf(1, START - 20 * MINUTE));
  const other = new BroadcastChannel(name);
  other.postMessage(1);
  await until(() => session.state.next === undefined);
  await fixture.settle();
  other.close();
  expect(fixture.sent).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test.each<[string, SessionOptions['provide']]>([
  ['says that nobody is signed in', async () => null],
  ['is missing', undefined],
])(
  'a listener of `needsTokens` signs the same user in each time, and `provide` %s: it is told twice',
  async (_, provide) => {
    const { session } = fixture.open({ provide });
    let calls = 0;
    // Endless calls would block the test.
    session.on('needsTokens', () => ++calls < 20 && session.signIn({ user: 'reader' }).catch(() => {}));
    await session.ready;
    await fixture.settle();
    await until(() => calls > 1);
    await fixture.settle();
    expect(calls).toBe(2);
    await session.setTokens(success(1));
    expect(session.advertisingToken).toBe('advertising-1');
  },
);

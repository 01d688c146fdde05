/**
 * The fixture for tests of the session alone: a scripted service that encrypts its answers with `node:crypto`, stores
 * that a test can read, and a page that a test can hide.
 *
 * It must not use the operator: what the service answers is up to each test. The fake clock, `until`, `settle` and
 * `advance` come from `test/support/clock.ts`.
 */

import { createCipheriv } from 'node:crypto';
import { afterEach, beforeEach, vi } from 'vitest';
import { createSession, memoryStore, type Session, type SessionOptions, type Store } from '../../src/session/index.ts';
import { createSteps, DAY, HOUR, MINUTE, recordEvents, useFakeClock } from '../support/clock.ts';

const keyOf = (n: number) => Buffer.alloc(32, n);

/** Token set number `n` in wire format, issued at `at`: due after 15 minutes, valid for an hour, refreshable for a day. */
export const wireSet = (n: number, at = Date.now()) => ({
  advertising_token: `advertising-${n}`,
  refresh_token: `refresh-${n}-of-a-fixture-where-no-token-is-real-${n}`,
  refresh_response_key: keyOf(n).toString('base64'),
  refresh_from: at + 15 * MINUTE,
  identity_expires: at + HOUR,
  refresh_expires: at + DAY,
});

/** The answer of the service, or of the publisher's server, that contains set number `n`. */
export const success = (n: number, at?: number) => ({ status: 'success', body: wireSet(n, at) }) as const;

/** The record that a page stores when it receives set number `n` from its host. */
export const recordOf = (n: number, at = Date.now()) => {
  const wire = wireSet(n, at);
  return {
    v: 2,
    generation: 1,
    baseUrl: BASE_URL,
    offsetMs: 0,
    receivedAt: at,
    acceptedUntil: wire.identity_expires,
    changedAt: at,
    set: {
      advertisingToken: wire.advertising_token,
      refreshToken: wire.refresh_token,
      responseKeyB64: wire.refresh_response_key,
      refreshAt: wire.refresh_from,
      expiresAt: wire.identity_expires,
      endsAt: wire.refresh_expires,
    },
  };
};

/** Base64 of `text`, encrypted with the response key of set number `n`. */
export const sealedFor = (n: number, text: string | Uint8Array): string => {
  const iv = Buffer.alloc(12, 7);
  const cipher = createCipheriv('aes-256-gcm', keyOf(n), iv);
  return Buffer.concat([iv, cipher.update(text), cipher.final(), cipher.getAuthTag()]).toString('base64');
};

export const BASE_URL = 'https://operator.example';

export interface SentRequest {
  readonly url: string;
  readonly init: RequestInit;
  /** Number of the set whose refresh token it carries. */
  readonly n: number;
  /** When it was sent, epoch ms. */
  readonly at: number;
}

export type Service = (request: SentRequest) => Response | Promise<Response>;

/** A working service: it answers set `n` with set `n + 1`. */
export const rotate: Service = ({ n }) => new Response(sealedFor(n, JSON.stringify(success(n + 1))));

export const answersSealed =
  (answer: unknown): Service =>
  ({ n }) =>
    new Response(sealedFor(n, typeof answer === 'string' ? answer : JSON.stringify(answer)));

export const answersPlain =
  (status: number, body: unknown = '', headers: Record<string, string> = {}): Service =>
  () =>
    new Response(typeof body === 'string' ? body : JSON.stringify(body), { status, headers });

export const offline: Service = () => Promise.reject(new TypeError('Failed to fetch'));

/** A service that never answers. The request does not end when its signal is aborted either. */
export const hangs: Service = () => new Promise(() => {});

/** A store whose quota is used up: writing a value fails, deleting it works. */
export const fullStore = (inner: Store): Store => ({
  ...inner,
  update: async (change) => {
    const stored = await inner.read();
    const value = change(stored);
    if (value !== undefined && value !== stored) throw new DOMException('full', 'QuotaExceededError');
    return inner.update(() => value);
  },
});

export const setVisible = (visible: boolean) => {
  const value = visible ? 'visible' : 'hidden';
  Object.defineProperty(Object.getPrototypeOf(document), 'visibilityState', { value, configurable: true });
  document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
};

/** Show the page without an event, as some webviews do. */
export const showSilently = () =>
  Object.defineProperty(Object.getPrototypeOf(document), 'visibilityState', { value: 'visible', configurable: true });

/** Dispatch a lifecycle event: `freeze` and `resume` on the document, all others on the window. */
export const dispatch = (event: string) =>
  (/^(freeze|resume)$/.test(event) ? document : window).dispatchEvent(new Event(event, { bubbles: true }));

let names = 0;
const opened: Session[] = [];

/** Minimal `navigator.locks`: exclusive, `ifAvailable` only. */
export const fakeLocks = () => {
  const held = new Set<string>();
  const asked: unknown[][] = [];
  const request = async (name: string, options: unknown, work: (lock: unknown) => unknown) => {
    asked.push([name, options]);
    if (held.has(name)) return work(null);
    held.add(name);
    try {
      return await work({ name });
    } finally {
      held.delete(name);
    }
  };
  Object.defineProperty(navigator, 'locks', { configurable: true, value: { request } });
  return { held, asked };
};

const closeAll = () => {
  for (const session of opened.splice(0)) session.close();
};

/** Build the fixture. Each session has a name of its own unless the options contain one. */
export const createFixture = (first: Service = rotate) => {
  const { settle, advance } = createSteps();
  const sent: SentRequest[] = [];
  let service = first;
  const fetch = async (url: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
    const request = {
      url: String(url),
      init,
      n: Number(/^refresh-(\d+)/.exec(String(init.body))?.[1]),
      at: Date.now(),
    };
    sent.push(request);
    return service(request);
  };
  const open = (options: Partial<SessionOptions> = {}) => {
    const store: Store = options.store ?? memoryStore();
    const session = createSession({ baseUrl: BASE_URL, fetch, name: `fixture-${names++}`, ...options, store });
    opened.push(session);
    const events = recordEvents(session);
    return { session, store, events };
  };
  return {
    settle,
    advance,
    sent,
    fetch,
    serve: (next: Service) => (service = next),
    /** Open a session and record its events. Its store is in memory unless the options contain one. */
    open,
    /** Open a session whose store contains set number 1, received now. */
    openStored: (options: Partial<SessionOptions> = {}) => open({ ...options, store: memoryStore(recordOf(1)) }),
    close: closeAll,
  };
};

/** Open a session with set number 1 in force whose refresh is due now and answered by `service`. */
export const openDue = async (service: Service, options: Partial<SessionOptions> = {}) => {
  const fixture = createFixture(service);
  const { session, store, events } = fixture.openStored(options);
  await session.ready;
  await fixture.advance(15 * MINUTE);
  return { ...fixture, session, store, events };
};

/** Open a session with set number 1 in force, loaded. Its `store` has a mock for `close`. */
export const openLoaded = async (options: Partial<SessionOptions> = {}) => {
  const fixture = createFixture();
  const store = { ...memoryStore(recordOf(1)), close: vi.fn() } satisfies Store;
  const { session, events } = fixture.open({ store, ...options });
  await session.ready;
  await fixture.settle();
  return { ...fixture, store, session, events };
};

let pairs = 0;

/** Open two tabs over one store, both loaded, with set number 1 in force. */
export const openTwoTabs = async (options: Partial<SessionOptions> = {}) => {
  const fixture = createFixture();
  const name = `two-tabs-${pairs++}`;
  const store = memoryStore(recordOf(1));
  const a = fixture.open({ store, name, ...options });
  const b = fixture.open({ store, name, ...options });
  await Promise.all([a.session.ready, b.session.ready]);
  await fixture.settle();
  return { fixture, store, a, b };
};

export const watchRejections = () => {
  const seen: unknown[] = [];
  const note = (reason: unknown) => void seen.push(reason);
  process.on('unhandledRejection', note);
  return { seen, stop: () => void process.off('unhandledRejection', note) };
};

/** Close the sessions of a test and restore what it replaced: the clock, the globals, the Web Locks, the visibility of the page. */
export const restoreGlobals = async () => {
  closeAll();
  // A session that is closed in the middle of something closes its channel afterwards.
  await createSteps().settle();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  Reflect.deleteProperty(navigator, 'locks');
  setVisible(true);
};

/** Use a fake clock and a new fixture for each test of a file: the object returned is always that of the present test. */
export const fixtureForEachTest = (): ReturnType<typeof createFixture> => {
  const fixture = {} as ReturnType<typeof createFixture>;
  beforeEach(() => {
    useFakeClock();
    Object.assign(fixture, createFixture());
  });
  afterEach(restoreGlobals);
  return fixture;
};

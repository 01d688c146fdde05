/**
 * A fixture for the session alone: a scripted service that seals its answers with `node:crypto`, stores that can be
 * looked into, a page that can be hidden. Clock, `until`, `rest` and `pass` are those of the stories.
 */

import { createCipheriv } from 'node:crypto';
import { vi } from 'vitest';
import { createSession, memoryStore, type Session, type SessionOptions, type Store } from '../../src/session/index.ts';
import { createLifeFixture, DAY, HOUR, listen, MINUTE } from '../support/fixtures.ts';

const keyOf = (n: number) => Buffer.alloc(32, n);

/** Wire set number `n`, issued now: due in 15 minutes, good for an hour, at its end in a day. */
export const wireSet = (n: number, at = Date.now()) => ({
  advertising_token: `advertising-${n}`,
  // The end is what tells sets again.
  refresh_token: `refresh-${n}-of-a-fixture-where-no-token-is-real-${n}`,
  refresh_response_key: keyOf(n).toString('base64'),
  refresh_from: at + 15 * MINUTE,
  identity_expires: at + HOUR,
  refresh_expires: at + DAY,
});

/** What the service or the publisher's server says with set number `n`. */
export const success = (n: number, at?: number) => ({ status: 'success', body: wireSet(n, at) });

/** The record of a page that was given set number `n`. */
export const recordOf = (n: number, at = Date.now()) => {
  const wire = wireSet(n, at);
  return {
    v: 2,
    generation: 1,
    baseUrl: BASE_URL,
    offsetMs: 0,
    receivedAt: at,
    fingerprints: [wire.refresh_token.slice(-24)],
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

/** Base64 of what the service sends to the holder of set number `n`. */
export const sealedFor = (n: number, text: string | Uint8Array): string => {
  const iv = Buffer.alloc(12, 7);
  const cipher = createCipheriv('aes-256-gcm', keyOf(n), iv);
  return Buffer.concat([iv, cipher.update(text), cipher.final(), cipher.getAuthTag()]).toString('base64');
};

export const BASE_URL = 'https://operator.example';

/** A request of the session, and the number of the set that it sent. */
export interface Sent {
  readonly url: string;
  readonly init: RequestInit;
  readonly n: number;
  /** Instant, epoch ms. */
  readonly at: number;
}

/** A service: what it says to a request. */
export type Service = (sent: Sent) => Response | Promise<Response>;

/** The service in health: set n + 1 for set n. */
export const rotate: Service = ({ n }) => new Response(sealedFor(n, JSON.stringify(success(n + 1))));

/** A service that answers with an opened text. */
export const says =
  (answer: unknown): Service =>
  ({ n }) =>
    new Response(sealedFor(n, typeof answer === 'string' ? answer : JSON.stringify(answer)));

/** A service that answers in plain text, with a status. */
export const refuses =
  (status: number, body: unknown = '', headers: Record<string, string> = {}): Service =>
  () =>
    new Response(typeof body === 'string' ? body : JSON.stringify(body), { status, headers });

export const offline: Service = () => Promise.reject(new TypeError('Failed to fetch'));

/** A service that never answers, and a network that does not care whether anybody still waits. */
export const hangs: Service = () => new Promise(() => {});

/** A store with no room left: what is put fails, what is erased does not. */
export const full = (place: Store): Store => ({
  ...place,
  update: async (change) => {
    const stored = await place.read();
    const value = change(stored);
    if (value !== undefined && value !== stored) throw new DOMException('full', 'QuotaExceededError');
    return place.update(() => value);
  },
});

/** Show or hide the page. */
export const show = (visible: boolean) => {
  Object.defineProperty(document, 'visibilityState', { value: visible ? 'visible' : 'hidden', configurable: true });
  document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
};

export const createFixture = (first: Service = rotate) => {
  const { rest, pass } = createLifeFixture();
  const sent: Sent[] = [];
  const sessions: Session[] = [];
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
  /** A session, opened and listened to; its store is in memory unless one is given. */
  const open = (given: Partial<SessionOptions> = {}) => {
    const store: Store = given.store ?? memoryStore();
    const session = createSession({ baseUrl: BASE_URL, fetch, name: `fixture-${sessions.length}`, ...given, store });
    sessions.push(session);
    return { session, store, heard: listen(session) };
  };
  return {
    rest,
    pass,
    /** Requests of all sessions. */
    sent,
    fetch,
    /** Let the service be another one from now on. */
    serve: (next: Service) => {
      service = next;
    },
    open,
    /** A session that finds set number 1 in its store, received now. */
    openWith: (given: Partial<SessionOptions> = {}) => open({ ...given, store: memoryStore(recordOf(1)) }),
    close: () => {
      for (const session of sessions) session.close();
    },
  };
};

/** Collect rejections that nobody handles, until `stop`. */
export const watchRejections = () => {
  const seen: unknown[] = [];
  const note = (reason: unknown) => void seen.push(reason);
  process.on('unhandledRejection', note);
  return { seen, stop: () => void process.off('unhandledRejection', note) };
};

/** Put everything back: clock, page, globals. */
export const restoreGlobals = () => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  show(true);
};

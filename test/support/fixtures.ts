/**
 * A fixture for stories: a real operator and real sessions in one process, one fake clock for all of them.
 *
 * Timers and `Date` are fake; everything else (Web Crypto, promises, IndexedDB) runs for real and is waited for by
 * what it brings about, never by a span of time.
 */

import { vi } from 'vitest';
import { createOperator, type OperatorOptions } from '../../src/operator/index.ts';
import { answerOf, createClient } from '../../src/server/index.ts';

import {
  createSession,
  memoryStore,
  type Session,
  type SessionEvents,
  type SessionOptions,
  type Store,
} from '../../src/session/index.ts';

// Taken before any clock is faked.
const macrotask = setImmediate;
const turn = () => new Promise<void>((resolve) => macrotask(() => resolve()));

export const START = Date.UTC(2030, 0, 15, 12);
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
const API_KEY = 'UID2-C-L-777-fixture.for-stories-only-and-nothing-else-at-all';
const SECRET = 'c3RhZ2Utc2VjcmV0LWZvci1zdG9yaWVzLW9ubHktMTI='.slice(0, 43).concat('=');

/** Work of real threads under way: no fake clock knows when it is done. */
let working = 0;
for (const name of ['importKey', 'encrypt', 'decrypt'] as const) {
  const real = crypto.subtle[name].bind(crypto.subtle) as (...given: unknown[]) => Promise<unknown>;
  const counted = (...given: unknown[]) => {
    working++;
    return real(...given).finally(() => working--);
  };
  Object.defineProperty(crypto.subtle, name, { value: counted });
}

/** Use the fake clock, set to {@link START}. */
export const useFakeClock = () =>
  vi.useFakeTimers({
    now: START,
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
  });

/** Wait, in real turns of the event loop, until `so` says yes. */
export const until = async (so: () => unknown, what = so.toString()): Promise<void> => {
  for (let turns = 0; !so(); turns++) {
    if (turns > 20_000) throw new Error(`never came true: ${what}`);
    await turn();
  }
};

/** What a session has told, in order: `[event, the part of the payload that tells it from others]`. */
export type Heard = [event: string, detail?: unknown][];

/** Record all events of a session. */
export const listen = (session: Session): Heard => {
  const heard: Heard = [];
  session.on('token', ({ cause, advertisingToken }) => heard.push(['token', cause, advertisingToken] as never));
  session.on('expired', ({ token }) => heard.push(['expired', token]));
  session.on('optout', () => heard.push(['optout']));
  session.on('needsTokens', ({ reason }) => heard.push(['needsTokens', reason]));
  session.on('error', ({ code, status }) => heard.push(['error', status ? `${code} ${status}` : code]));
  return heard;
};

/** The events alone, as `event` or `event detail`. */
export const names = (heard: Heard): string[] =>
  heard.map(([event, detail]) => (detail ? `${event} ${detail}` : event));

export type TokenEvent = SessionEvents['token'];

/** Build the fixture. Spans of the operator are seconds. */
export const createLifeFixture = (options: OperatorOptions = {}) => {
  const operator = createOperator({
    apiKey: API_KEY,
    clientSecret: SECRET,
    siteId: 777,
    roles: ['GENERATOR', 'MAPPER', 'OPTOUT'],
    rootSecret: SECRET,
    identityExpires: 3600,
    refreshFrom: 900,
    refreshExpires: 86_400,
    ...options,
  });
  const baseUrl = 'https://operator.example';
  /** Requests that reached the network, by path. */
  const requests: string[] = [];
  /** Requests and answers under way. */
  let open = 0;
  /** What the network does to the next requests; undefined: nothing. */
  let fault: ((request: Request, go: () => Promise<Response>) => Promise<Response>) | undefined;

  const fetch = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    requests.push(new URL(request.url).pathname);
    const go = () => operator.fetch(request);
    open++;
    try {
      return await (fault ? fault(request, go) : go());
    } finally {
      open--;
    }
  };
  const client = createClient({
    baseUrl,
    apiKey: API_KEY,
    clientSecret: SECRET,
    fetch: (input, init) => operator.fetch(new Request(input, init)),
  });
  const sessions: Session[] = [];

  const fixture = {
    operator,
    client,
    baseUrl,
    requests,
    fetch,
    /** Put the network under `next`, or back to health. */
    network: (next?: typeof fault) => {
      fault = next;
    },
    /** A set for a user, as a publisher's server passes it on. */
    answerFor: async (email: string) => answerOf(await client.generate({ email })),
    /** A session with memory of its own, or of the given store; opened and listened to. */
    open: (given: Partial<SessionOptions> = {}) => {
      const store: Store = given.store ?? memoryStore();
      const session = createSession({ baseUrl, fetch, name: `fixture-${sessions.length}`, ...given, store });
      sessions.push(session);
      return { session, store, heard: listen(session) };
    },
    /** Let everything come to rest: no request open, no thread at work, and nothing new for many turns. */
    rest: async () => {
      for (let quiet = 0; quiet < 40; quiet++) {
        await turn();
        if (open || working) quiet = 0;
      }
    },
    /** Let `ms` pass, timer by timer, everything coming to rest after each. */
    pass: async (ms: number) => {
      const end = Date.now() + ms;
      for (;;) {
        await fixture.rest();
        const left = end - Date.now();
        if (left <= 0) return;
        await vi.advanceTimersByTimeAsync(Math.min(left, 1000 * Math.max(1, Math.floor(left / 200_000))));
      }
    },
    /** Close every session; afterwards no timer is left. */
    close: () => {
      for (const session of sessions) session.close();
    },
  };
  return fixture;
};

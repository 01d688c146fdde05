/** A tab as its host sees it: a page, a session on it, the host's acts, and everything that was told, judged as it comes. */

import type { Session, SessionEvents, SessionOptions } from '../../src/session/index.ts';
import { createPage, type Ground } from './page.ts';
import { BASE_URL } from './service.ts';
import type { Viewer } from './truth.ts';

/** What the host's listeners are like. */
export type Manner = 'plain' | 'throws' | 'rejects' | 'reenters';

/** What was told, in order. */
export type Told = [event: string, detail: string];

export interface TabOptions {
  readonly id: number;
  readonly visible: boolean;
  readonly manner: Manner;
  readonly tokens?: unknown;
  readonly provide?: SessionOptions['provide'];
  /** Something is wrong. */
  readonly onFault: (what: string) => void;
  /** A token is told, or seen. */
  readonly onToken: (tab: Tab, token: string, how: string) => void;
  readonly isWritten: (token: string) => boolean;
}

/** The deadlines of promises, ms that the page runs. Three uses of a store that hangs, and what comes of them, take 5 s. */
const STORE_MS = 6_000;
const TRY_MS = 10_000;
const LOCK_MS = 2_000;
export const LIMITS = {
  ready: 1_600,
  setTokens: STORE_MS,
  clear: STORE_MS,
  refresh: TRY_MS + LOCK_MS + STORE_MS,
} as const;

export const createTab = (ground: Ground, options: TabOptions) => {
  const { id, manner, onFault } = options;
  const page = createPage(ground, options.visible);
  const fault = (what: string) => onFault(`tab ${id}: ${what}`);
  let isClosed = false;
  let granted = true;
  let thaws = 0;
  let decide = (_: boolean) => {};
  const heard: Told[] = [];
  const heardAgain: Told[] = [];
  /** The token that listeners know of. */
  let toldToken: string | undefined;
  let isOptOutTold = false;
  let isExpiryTold = true;
  /** Promises that have not settled: what, since when, until when, by the time that the page has run. */
  const pending = new Map<
    object,
    { readonly what: string; readonly limit: number; readonly wereTimersStopped: boolean }
  >();
  let snapshot: unknown;

  const session: Session = page.code.createSession({
    baseUrl: BASE_URL,
    name: 'model',
    tokens: options.tokens,
    provide: options.provide,
    consent: (onChange) => {
      decide = onChange;
      return true;
    },
  });

  /** Hold a promise of the session to its deadline. */
  const hold = <T>(what: string, limitMs: number, promise: Promise<T>): Promise<T> => {
    const key = {};
    pending.set(key, { what, limit: page.ran() + limitMs, wereTimersStopped: page.areTimersStopped });
    const settle = () => void pending.delete(key);
    promise.then(settle, settle);
    return promise;
  };

  const told = {
    token: ({ advertisingToken, expiresAt }: SessionEvents['token']) => {
      if (advertisingToken === toldToken) fault('the same token is told twice');
      toldToken = advertisingToken;
      isOptOutTold = isExpiryTold = false;
      if (session.state.persistence === 'indexeddb' && !options.isWritten(advertisingToken))
        fault('a token is told that was never written');
      if (!(expiresAt > 0)) fault('a token is told without its end');
      options.onToken(tab, advertisingToken, 'told');
    },
    expired: ({ token }: SessionEvents['expired']) => {
      if (token === 'advertising') {
        if (isExpiryTold) fault('the end of the same token is told twice');
        isExpiryTold = true;
      }
    },
    optout: () => {
      if (isOptOutTold) fault('the same opt-out is told twice');
      isOptOutTold = true;
      toldToken = undefined;
    },
  };
  const detailOf = (event: string, payload: unknown): string => {
    const { cause, advertisingToken, token, reason, code } = Object(payload) as Record<string, string>;
    return event === 'token' ? `${cause} ${advertisingToken}` : (token ?? reason ?? code ?? '');
  };
  for (const event of ['token', 'expired', 'optout', 'needsTokens', 'error'] as const) {
    session.on(event, (payload: unknown) => {
      if (isClosed && event === 'token') fault(`${event} is told after close()`);
      heard.push([event, detailOf(event, payload)]);
      told[event as 'token']?.(payload as SessionEvents['token']);
      if (manner === 'throws') throw new Error('a listener of the host');
      if (manner === 'rejects') return Promise.reject(new Error('a listener of the host'));
      if (manner === 'reenters' && !isClosed) {
        void session.state;
        void session.advertisingToken;
        hold('getToken', TRY_MS + 500, session.getToken()).catch(() => {});
      }
      return undefined;
    });
  }
  for (const event of ['token', 'expired', 'optout', 'needsTokens', 'error'] as const)
    session.on(event, (payload: unknown) => void heardAgain.push([event, detailOf(event, payload)]));

  let shown: string | undefined;
  session.subscribe(() => {
    shown = session.advertisingToken;
    // Gone without a word (a logout), it may be told anew.
    if (!shown) toldToken = undefined;
    // Let back in, though without a token yet, an opt-out is news again.
    if (session.state.phase !== 'optedOut') isOptOutTold = false;
  });

  const tab = {
    id,
    page,
    session,
    heard,
    get isClosed() {
      return isClosed;
    },
    get granted() {
      return granted;
    },
    get isHalted() {
      return page.isFrozen || page.isGone;
    },
    get thaws() {
      return thaws;
    },
    get isAlone() {
      return session.state.persistence !== 'indexeddb';
    },
    ran: page.ran,
    /** It is there, and can be asked. */
    get isUp() {
      return !page.isGone && !page.isFrozen;
    },
    hold,
    /** The token that a script would have which looks when it is told of a change. */
    get shown() {
      return shown;
    },
    /** Look at the token, as any script of the page may at any time. */
    look: (how: string) => {
      const token = session.advertisingToken;
      shown = token;
      const { state } = session;
      if (state === session.state) snapshot = state;
      else fault('the snapshot changes though nothing has');
      if (!Object.isFrozen(snapshot)) fault('the snapshot can be changed');
      if (token && isClosed) fault('a token after close()');
      if (token && !granted) fault('a token without consent');
      if (token && state.phase === 'optedOut') fault('a token of an opted-out user');
      if (token) options.onToken(tab, token, how);
      return token;
    },
    thaw: (how: () => void) => {
      thaws++;
      how();
      if (!page.isGone) tab.look('after a thaw');
    },
    consent: (next: boolean) => {
      granted = next;
      // A page without consent knows nothing; what it is told afterwards is new to it.
      if (!next) isOptOutTold = false;
      decide(next);
    },
    close: () => {
      isClosed = true;
      session.close();
    },
    /** Whatever should have happened by now. */
    check: () => {
      if (!tab.isUp) return;
      const ran = page.ran();
      for (const [key, { what, limit, wereTimersStopped }] of pending) {
        if (page.areTimersStopped || wereTimersStopped || ran <= limit + (page.isVisible ? 100 : 3_000)) continue;
        pending.delete(key);
        fault(`${what} has not settled in time`);
      }
      if (JSON.stringify(heard.slice(0, heardAgain.length)) !== JSON.stringify(heardAgain))
        fault('listeners hear different things');
    },
  } satisfies Viewer & Record<string, unknown>;
  hold('ready', LIMITS.ready, session.ready).catch(() => fault('ready rejects'));
  return tab;
};
export type Tab = ReturnType<typeof createTab>;

/** A tab as its host sees it: a page, a session on it, the host's acts, and everything that was told, judged as it comes. */

import type { Session, SessionEvents, SessionOptions } from '../../src/session/index.ts';
import type { OnUse } from './disk.ts';
import { type Consent, createGate } from './gate.ts';
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
  readonly consent: Consent;
  readonly refresh: 'auto' | 'off';
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
/** What waits for consent, as long as that takes. */
const WAITS: readonly string[] = ['setTokens', 'clear'];
/** Members of a record that tell of the user. */
const TELLING = /"(set|fingerprint|earlier|receivedAt|clearedAt)":/;

export const createTab = (ground: Ground, options: TabOptions) => {
  const { id, manner, onFault } = options;
  const fault = (what: string) => onFault(`tab ${id}: ${what}`);
  const onUse: OnUse = (use, text = '') => {
    if (gate.openedAt === Number.POSITIVE_INFINITY) fault(`${use} storage before consent`);
    if (use === 'writes') lastWritten = text;
    if (gate.isWithdrawn && TELLING.test(text)) fault('writes what tells of the user after consent was withdrawn');
  };
  const page = createPage(ground, options.visible, onUse);
  const gate = createGate(options.consent, page.ran);
  let isClosed = false;
  let wasAlone = false;
  let lastWritten = '';
  let thaws = 0;
  const heard: Told[] = [];
  const heardAgain: Told[] = [];
  /** The token that listeners know of. */
  let toldToken: string | undefined;
  let isOptOutTold = false;
  let isExpiryTold = true;
  /** Promises that have not settled: what, since when, until when, by the time that the page has run. */
  const pending = new Map<
    object,
    { readonly what: string; readonly limitMs: number; readonly limit: number; readonly wereTimersStopped: boolean }
  >();
  /** Questions to the host that it has not answered. */
  const asked = new Set<AbortSignal>();
  let snapshot: unknown;

  const session: Session = page.code.createSession({
    baseUrl: BASE_URL,
    name: 'model',
    tokens: options.tokens,
    provide:
      options.provide &&
      ((request) => {
        if (!gate.granted) fault('asks for a set without consent');
        if (isClosed) fault('asks for a set after close()');
        const { signal } = request;
        const answer = options.provide!(request);
        asked.add(signal);
        return answer.finally(() => asked.delete(signal));
      }),
    consent: gate.option,
    refresh: options.refresh,
  });

  /** Hold a promise of the session to its deadline. */
  const hold = <T>(what: string, limitMs: number, promise: Promise<T>): Promise<T> => {
    const key = {};
    const waits = WAITS.includes(what) && gate.granted === undefined && !isClosed;
    const limit = waits ? Number.POSITIVE_INFINITY : page.ran() + limitMs;
    pending.set(key, { what, limitMs, limit, wereTimersStopped: page.areTimersStopped });
    const settle = () => void pending.delete(key);
    promise.then(settle, settle);
    return promise;
  };
  /** What has waited for consent waits no more. */
  const release = () => {
    for (const [key, one] of pending) {
      const { limit, limitMs } = one;
      if (limit === Number.POSITIVE_INFINITY) pending.set(key, { ...one, limit: page.ran() + limitMs });
    }
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
      if (!gate.granted && event !== 'error') fault(`${event} is told without consent`);
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
      return gate.granted;
    },
    /** From when on it was allowed to act, ms that the page has run; `Infinity`: it never was. */
    get openedAt() {
      return gate.openedAt;
    },
    /** Its host is asked for consent. */
    isAsked: options.consent !== 'none',
    /** It is to leave refreshing to others. */
    isOff: options.refresh === 'off',
    get isHalted() {
      return page.isFrozen || page.isGone;
    },
    get thaws() {
      return thaws;
    },
    get isAlone() {
      // What was to be erased is to be so though the tab is closed: whatever it says then.
      if (isClosed && gate.isWithdrawn) return wasAlone;
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
      if (token && !gate.granted) fault('a token without consent');
      if (!gate.granted && state.waitingFor !== 'consent') fault('does not say that it waits for consent');
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
      // A page without consent knows nothing; what it is told afterwards is new to it.
      if (!next) isOptOutTold = false;
      gate.answer(next);
      if (next) release();
    },
    close: () => {
      if (isClosed) return;
      wasAlone = tab.isAlone;
      isClosed = true;
      release();
      session.close();
    },
    /** Consent was withdrawn, and what it has written last tells of the user. */
    isTelling: () => gate.isWithdrawn && TELLING.test(lastWritten),
    /** Promises that have not settled. */
    unsettled: () => [...pending.values()].map(({ what }) => what),
    /** Whatever should have happened by now. */
    check: () => {
      if (!tab.isUp) return;
      if (!gate.granted || isClosed)
        for (const { aborted } of asked) if (!aborted) fault('an answer to provide is still waited for');
      const ran = page.ran();
      for (const [key, one] of pending) {
        const { what, limit, wereTimersStopped } = one;
        if (page.areTimersStopped) pending.set(key, { ...one, wereTimersStopped: true });
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

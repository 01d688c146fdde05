/** A tab as its host sees it: a page, a session on it, the host's acts, and everything that was told, judged as it comes. */

import type { Session, SessionEvents, SessionOptions } from '../../src/session/index.ts';
import { type Consent, createConsentTool } from './consent.ts';
import type { TabView } from './expected-state.ts';
import { createPage, type PageEnvironment } from './page.ts';
import { BASE_URL } from './service.ts';
import type { OnUse } from './storage.ts';

/** What the host's listeners are like. */
export type ListenerKind = 'plain' | 'throws' | 'rejects' | 'reenters';

/** What was told, in order. */
export type EmittedEvent = [event: string, detail: string];

export interface TabOptions {
  readonly id: number;
  readonly visible: boolean;
  readonly listenerKind: ListenerKind;
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
const PERSONAL_FIELD = /"(set|fingerprint|earlier|receivedAt|clearedAt)":/;

export const createTab = (environment: PageEnvironment, options: TabOptions) => {
  const { id, listenerKind, onFault } = options;
  const fault = (what: string) => onFault(`tab ${id}: ${what}`);
  const onUse: OnUse = (use, text = '') => {
    if (consentTool.grantedAt === Number.POSITIVE_INFINITY) fault(`${use} storage before consent`);
    if (use === 'writes') lastWritten = text;
    if (consentTool.isWithdrawn && PERSONAL_FIELD.test(text))
      fault('writes what tells of the user after consent was withdrawn');
  };
  const page = createPage(environment, options.visible, onUse);
  const consentTool = createConsentTool(options.consent, page.ran);
  let isClosed = false;
  let wasInMemory = false;
  let lastWritten = '';
  let thaws = 0;
  const events: EmittedEvent[] = [];
  const secondEvents: EmittedEvent[] = [];
  /** The token that listeners know of. */
  let emittedToken: string | undefined;
  let isOptOutEmitted = false;
  let isExpiryEmitted = true;
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
        if (!consentTool.granted) fault('asks for a set without consent');
        if (isClosed) fault('asks for a set after close()');
        const { signal } = request;
        const answer = options.provide!(request);
        asked.add(signal);
        return answer.finally(() => asked.delete(signal));
      }),
    consent: consentTool.option,
    refresh: options.refresh,
  });

  /** Hold a promise of the session to its deadline. */
  const expectSettled = <T>(what: string, limitMs: number, promise: Promise<T>): Promise<T> => {
    const key = {};
    const waits = WAITS.includes(what) && consentTool.granted === undefined && !isClosed;
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

  const handlers = {
    token: ({ advertisingToken, expiresAt }: SessionEvents['token']) => {
      if (advertisingToken === emittedToken) fault('the same token is told twice');
      emittedToken = advertisingToken;
      isOptOutEmitted = isExpiryEmitted = false;
      if (session.state.persistence === 'indexeddb' && !options.isWritten(advertisingToken))
        fault('a token is told that was never written');
      if (!(expiresAt > 0)) fault('a token is told without its end');
      options.onToken(tab, advertisingToken, 'told');
    },
    expired: ({ token }: SessionEvents['expired']) => {
      if (token === 'advertising') {
        if (isExpiryEmitted) fault('the end of the same token is told twice');
        isExpiryEmitted = true;
      }
    },
    optout: () => {
      if (isOptOutEmitted) fault('the same opt-out is told twice');
      isOptOutEmitted = true;
      emittedToken = undefined;
    },
  };
  const detailOf = (event: string, payload: unknown): string => {
    const { cause, advertisingToken, token, reason, code } = Object(payload) as Record<string, string>;
    return event === 'token' ? `${cause} ${advertisingToken}` : (token ?? reason ?? code ?? '');
  };
  for (const event of ['token', 'expired', 'optout', 'needsTokens', 'error'] as const) {
    session.on(event, (payload: unknown) => {
      if (isClosed && event === 'token') fault(`${event} is handlers after close()`);
      if (!consentTool.granted && event !== 'error') fault(`${event} is handlers without consent`);
      events.push([event, detailOf(event, payload)]);
      handlers[event as 'token']?.(payload as SessionEvents['token']);
      if (listenerKind === 'throws') throw new Error('a listener of the host');
      if (listenerKind === 'rejects') return Promise.reject(new Error('a listener of the host'));
      if (listenerKind === 'reenters' && !isClosed) {
        void session.state;
        void session.advertisingToken;
        expectSettled('getToken', TRY_MS + 500, session.getToken()).catch(() => {});
      }
      return undefined;
    });
  }
  for (const event of ['token', 'expired', 'optout', 'needsTokens', 'error'] as const)
    session.on(event, (payload: unknown) => void secondEvents.push([event, detailOf(event, payload)]));

  let shown: string | undefined;
  session.subscribe(() => {
    shown = session.advertisingToken;
    // Gone without a word (a logout), it may be told anew.
    if (!shown) emittedToken = undefined;
    // Let back in, though without a token yet, an opt-out is news again.
    if (session.state.phase !== 'optedOut') isOptOutEmitted = false;
  });

  const tab = {
    id,
    page,
    session,
    events,
    get isClosed() {
      return isClosed;
    },
    get granted() {
      return consentTool.granted;
    },
    /** From when on it was allowed to act, ms that the page has run; `Infinity`: it never was. */
    get grantedAt() {
      return consentTool.grantedAt;
    },
    /** Its host is asked for consent. */
    hasConsentOption: options.consent !== 'none',
    /** It is to leave refreshing to others. */
    isRefreshOff: options.refresh === 'off',
    get isHalted() {
      return page.isFrozen || page.isGone;
    },
    get thaws() {
      return thaws;
    },
    get isInMemory() {
      // What was to be erased is to be so though the tab is closed: whatever it says then.
      if (isClosed && consentTool.isWithdrawn) return wasInMemory;
      return session.state.persistence !== 'indexeddb';
    },
    ran: page.ran,
    /** It is there, and can be asked. */
    get isRunning() {
      return !page.isGone && !page.isFrozen;
    },
    expectSettled,
    /** The token that a script would have which looks when it is told of a change. */
    get shown() {
      return shown;
    },
    /** Look at the token, as any script of the page may at any time. */
    readToken: (how: string) => {
      const token = session.advertisingToken;
      shown = token;
      const { state } = session;
      if (state === session.state) snapshot = state;
      else fault('the snapshot changes though nothing has');
      if (!Object.isFrozen(snapshot)) fault('the snapshot can be changed');
      if (token && isClosed) fault('a token after close()');
      if (token && !consentTool.granted) fault('a token without consent');
      if (!consentTool.granted && state.waitingFor !== 'consent') fault('does not say that it waits for consent');
      if (token && state.phase === 'optedOut') fault('a token of an opted-out user');
      if (token) options.onToken(tab, token, how);
      return token;
    },
    thaw: (how: () => void) => {
      thaws++;
      how();
      if (!page.isGone) tab.readToken('after a thaw');
    },
    consent: (next: boolean) => {
      // A page without consent knows nothing; what it is told afterwards is new to it.
      if (!next) isOptOutEmitted = false;
      consentTool.answer(next);
      if (next) release();
    },
    close: () => {
      if (isClosed) return;
      wasInMemory = tab.isInMemory;
      isClosed = true;
      release();
      session.close();
    },
    /** Consent was withdrawn, and what it has written last tells of the user. */
    hasLeftTrace: () => consentTool.isWithdrawn && PERSONAL_FIELD.test(lastWritten),
    /** Promises that have not settled. */
    unsettled: () => [...pending.values()].map(({ what }) => what),
    /** Whatever should have happened by now. */
    check: () => {
      if (!tab.isRunning) return;
      if (!consentTool.granted || isClosed)
        for (const { aborted } of asked) if (!aborted) fault('an answer to provide is still waited for');
      const ran = page.ran();
      for (const [key, one] of pending) {
        const { what, limit, wereTimersStopped } = one;
        if (page.areTimersStopped) pending.set(key, { ...one, wereTimersStopped: true });
        if (page.areTimersStopped || wereTimersStopped || ran <= limit + (page.isVisible ? 100 : 3_000)) continue;
        pending.delete(key);
        fault(`${what} has not settled in time`);
      }
      if (JSON.stringify(events.slice(0, secondEvents.length)) !== JSON.stringify(secondEvents))
        fault('listeners hear different things');
    },
  } satisfies TabView & Record<string, unknown>;
  expectSettled('ready', LIMITS.ready, session.ready).catch(() => fault('ready rejects'));
  return tab;
};
export type Tab = ReturnType<typeof createTab>;

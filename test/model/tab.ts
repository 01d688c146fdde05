/**
 * A tab as its host sees it: a page with a session whose events, promises and storage use are checked as they come. What is
 * checked here concerns one tab; `invariants.ts` checks what tabs do together.
 */

import type { NextStep, ProvideOption, ProvideRequest, Session, SessionEvents } from '../../src/session/index.ts';
import type { Attempt } from './attempts.ts';
import { type Consent, createConsentTool } from './consent.ts';
import type { TabView } from './expected-state.ts';
import { createHostStore, type HostStoreFault } from './host-store.ts';
import type { Label } from './labels.ts';
import { createPage, type PageEnvironment } from './page.ts';
import { BASE_URL } from './service.ts';
import type { OnUse } from './storage.ts';

/** How the host's listeners behave; `reenters`: they call the session. */
export type ListenerKind = 'plain' | 'throws' | 'rejects' | 'reenters';

/** An emitted event and its distinguishing detail. */
export type EmittedEvent = [event: string, detail: string];

export interface TabOptions {
  readonly id: number;
  readonly visible: boolean;
  readonly listenerKind: ListenerKind;
  readonly tokens?: unknown;
  /** Whether `tokens` is an opt-out. */
  readonly isRenderedOptOut: boolean;
  readonly consent: Consent;
  readonly refresh: 'auto' | 'off';
  readonly provide: ((tab: Tab, request: ProvideRequest) => ReturnType<ProvideOption>) | undefined;
  readonly label?: Label;
  readonly timeoutMs?: number | undefined;
  /** The page brings a store of its own, whose changes fail in these ways. */
  readonly hostStoreFaults?: readonly HostStoreFault[] | undefined;
  /** Called when that store fails; `isLie`: by pretending to store. */
  readonly onStoreFault: (isLie: boolean) => void;
  /** Called when the page calls `provide`, and when it aborts that call. */
  readonly onAsk: (tab: Tab, isOver: () => boolean) => Attempt;
  readonly onAskAborted: (attempt: Attempt) => void;
  /** Called with each value of `state.next`. `startedAt`: of the last attempt; `readAt`: when the page had last read its store then. */
  readonly onNext: (tab: Tab, next: NextStep, startedAt: number, readAt: number) => void;
  /** Called with each record that the page writes. */
  readonly onWrite: (tab: Tab, text: string) => void;
  /** Called with each violation. */
  readonly onFault: (what: string) => void;
  /** Called when the tab emits a token that it has brought itself, and that is not due yet. */
  readonly onOwnToken: (tab: Tab) => void;
  /** Called with each token that is emitted or read. */
  readonly onToken: (tab: Tab, token: string, how: string) => void;
  readonly isWritten: (token: string) => boolean;
  /** The record that any page has written last, as JSON. */
  readonly lastWritten: () => string;
  /** When an issued token expires, epoch ms. */
  readonly expiryOf: (token: string) => number | undefined;
}

/** Deadlines of promises, ms of the page's running time. Three uses of a hanging store take up to 5 s. */
const STORE_MS = 12_000;
const LOCK_MS = 2_000;
/** A limit is measured in four parts, each of which may end a second late on a hidden page, ms. */
const THROTTLED_MS = 4_100;
/** By the time limit of the session, ms. */
const limitsOf = (timeoutMs: number) => ({
  ready: 1_600,
  setTokens: STORE_MS,
  clear: STORE_MS,
  refresh: timeoutMs + LOCK_MS + STORE_MS,
  signIn: STORE_MS + timeoutMs + LOCK_MS + STORE_MS,
});
export type Limits = ReturnType<typeof limitsOf>;
/** The kinds of the stores that tabs share. */
const SHARED = ['indexeddb', 'host'];
/** Calls that wait for consent without a deadline. */
const WAITS: readonly string[] = ['setTokens', 'clear'];
/** Fields of a record that contain personal data. */
const PERSONAL_FIELD = /"(set|user|lease|retry)":|"(receivedAt|acceptedUntil|changedAt)":[^0]/;
/** Fields that no erasure writes: a logout that was called before the withdrawal may still write the other ones. */
const SET_FIELD = /"(set|lease|retry)":|"receivedAt":[^0]/;

export const createTab = (environment: PageEnvironment, options: TabOptions) => {
  const { id, listenerKind, onFault, timeoutMs = 10_000 } = options;
  const limits = limitsOf(timeoutMs);
  let { label } = options;
  const fault = (what: string) => onFault(`tab ${id}: ${what}`);
  const onUse: OnUse = (use, written = '', isVoid = false) => {
    if (use === 'has read') {
      readAt = environment.time.nowMs;
      return false;
    }
    // While another tab asks `provide`, a change of the user keeps the retry state that is stored.
    const retry = /"retry":{[^}]*}/.exec(written)?.[0];
    const text = retry && options.lastWritten().includes(retry) ? written.replace(retry, '') : written;
    // A logout and an opt-out are recorded without consent, by an update that erases.
    // Of one that was given up on because the store hung, the read happens when the store answers; nothing is written then.
    const mayErase = (erasures > 0 || (hasErased && use === 'reads')) && !SET_FIELD.test(text);
    if (consentTool.grantedAt === Number.POSITIVE_INFINITY && !mayErase) fault(`${use} storage before consent`);
    if (use === 'writes') lastWritten = text;
    if (consentTool.isWithdrawn && SET_FIELD.test(text)) fault('writes personal data after consent was withdrawn');
    if (use === 'writes' && !isVoid) options.onWrite(tab, written);
    // The tombstone of an opt-out stays.
    const isErasure = hasStoreFailed && (use === 'erases' || use === 'writes');
    if (isErasure && SET_FIELD.test(text)) fault('writes to a store that has failed');
    // Each call of the host erases once; where the connection is lost, again.
    if (isErasure && ++erased > 2 * hostCalls) fault('erases a failed store without a call of the host');
    return isErasure;
  };
  const page = createPage(environment, options.visible, onUse);
  const consentTool = createConsentTool(options.consent, page.ran);
  let isClosed = false;
  let wasInMemory = false;
  let lastWritten = '';
  /** Whether a logout or an opt-out was called after consent was withdrawn. */
  let hasErasedSince = false;
  let hasErased = options.isRenderedOptOut;
  /** Number of logouts and opt-outs whose write may be in progress. */
  let erasures = options.isRenderedOptOut ? 1 : 0;
  let thaws = 0;
  /** Calls of the host that change the record, those of the options included. */
  let hostCalls = 2;
  /** The session has replaced its store by memory, and how often it has erased that store since. */
  let hasStoreFailed = false;
  let lateSince = Number.POSITIVE_INFINITY;
  let erased = 0;
  /** Whether the store of the host has only pretended to make the last change, or any. */
  let isLying = false;
  let hasLied = false;
  /** When the last attempt began. */
  let startedAt = Number.NEGATIVE_INFINITY;
  /** When the page last read its store, and when it had before that attempt; epoch ms. */
  let readAt = Number.NEGATIVE_INFINITY;
  let knownAt = Number.NEGATIVE_INFINITY;
  let isCreated = false;
  /** The largest lead of the wall clock over the monotonic clock. */
  let leadMs = Number.NEGATIVE_INFINITY;
  const events: EmittedEvent[] = [];
  const secondEvents: EmittedEvent[] = [];
  /** The token that was emitted last. */
  let emittedToken: string | undefined;
  let isOptOutEmitted = false;
  let isExpiryEmitted = true;
  /** Whether the last token was taken out of force before its end: its expiry is not emitted, also if it is supplied again. */
  let isTokenWithdrawn = false;
  /** The token of the last `token` event. */
  let lastToken: string | undefined;
  /** An event that should have been emitted, and the page's running time when its absence was first seen, ms. */
  let missing: { readonly what: string; readonly ran: number } | undefined;
  /** Unsettled promises with their deadlines, in ms of the page's running time, and what their timers have met. */
  const pending = new Set<{
    readonly what: string;
    readonly limitMs: number;
    limit: number;
    wereStopped: boolean;
    wereThrottled: boolean;
  }>();
  /** Signals of unanswered calls of `provide`. */
  const asked = new Set<AbortSignal>();
  let snapshot: unknown;

  const { code } = page;
  const { random } = environment;
  const hostStore = (faults: readonly HostStoreFault[]) =>
    createHostStore(code.indexedDbStore('model'), random, faults, {
      onFault: () => options.onStoreFault(false),
      onChange: (isLie) => {
        isLying = isLie;
        hasLied ||= isLie;
        if (isLie) options.onStoreFault(true);
      },
    });
  /** Ask the publisher's server. */
  const provide: ProvideOption = (request) => {
    if (!consentTool.granted) fault('asks for a set without consent');
    if (isClosed) fault('asks for a set after close()');
    const { signal } = request;
    let isOver = false;
    const attempt = options.onAsk(tab, () => isOver || signal.aborted);
    const end = () => {
      isOver = true;
      asked.delete(signal);
    };
    signal.addEventListener('abort', () => !isOver && options.onAskAborted(attempt));
    asked.add(signal);
    if (listenerKind === 'reenters') reenter();
    try {
      return options.provide!(tab, request).finally(end);
    } catch (error) {
      end();
      throw error;
    }
  };
  const session: Session = code.createSession({
    baseUrl: BASE_URL,
    name: 'model',
    timeoutMs,
    ...(label !== undefined && { user: label }),
    ...(options.hostStoreFaults && { store: hostStore(options.hostStoreFaults) }),
    tokens: options.tokens as never,
    provide: options.provide && provide,
    consent: consentTool.option,
    refresh: options.refresh,
    logger: {
      debug: (_, what) => {
        const said = Object(what) as Partial<NextStep>;
        if (said.reason === 'in_progress' && said.at !== undefined) {
          startedAt = said.at;
          knownAt = readAt;
        }
        if (said.action && isCreated) options.onNext(tab, said as NextStep, startedAt, knownAt);
        if (listenerKind === 'reenters') void session.state;
        if (listenerKind === 'throws') throw new Error('thrown by the logger of the host');
        if (listenerKind === 'rejects') return Promise.reject(new Error('thrown by the logger of the host'));
        return undefined;
      },
    },
  });

  /** Call the session from code that it calls. */
  const reenter = () => {
    void session.state;
    void session.advertisingToken;
    expectSettled('getToken', timeoutMs + 500, session.getToken()).catch(() => {});
  };
  /** The parts of a limit that begin while the page is hidden take longer, also if it is shown meanwhile. */
  const noteTimers = () => {
    for (const one of pending) {
      one.wereStopped ||= page.areTimersStopped;
      one.wereThrottled ||= !page.isVisible;
    }
  };
  /** Check that a promise of the session settles before its deadline. */
  const expectSettled = <T>(what: string, limitMs: number, promise: Promise<T>): Promise<T> => {
    const waits = WAITS.includes(what) && consentTool.granted === undefined && !isClosed;
    const limit = waits ? Number.POSITIVE_INFINITY : page.ran() + limitMs;
    const one = { what, limitMs, limit, wereStopped: false, wereThrottled: false };
    pending.add(one);
    noteTimers();
    const settle = () => void pending.delete(one);
    promise.then(settle, settle);
    return promise;
  };
  /** The latest clock that the page may have: one that was set back since may not be followed. */
  const clock = () => {
    leadMs = Math.max(leadMs, environment.wall() - environment.mono());
    return leadMs + environment.mono();
  };
  /** The event that follows from the present state and has not been emitted. */
  const missingEvent = (): string | undefined => {
    const { phase, next, expiresAt, endsAt = 0, clockOffsetMs = 0 } = session.state;
    if (isClosed || !consentTool.granted || next?.reason === 'storage') return undefined;
    const token = session.advertisingToken;
    const has = (event: string, ...details: readonly string[]) =>
      events.some(([name, detail]) => name === event && (!details.length || details.includes(detail)));
    if (token && token !== lastToken) return 'the token in force is not emitted';
    if (phase === 'optedOut' && events.findLast(([name]) => name === 'token' || name === 'optout')?.[0] !== 'optout')
      return 'the opt-out is not emitted';
    if (phase === 'ended' && !has('expired', 'refresh')) return 'the end of the refresh token is not emitted';
    if (phase === 'ended' && !options.provide && !has('needsTokens', 'ended', 'refused'))
      return 'the need of a set is not emitted';
    // By the local clock alone, a session does not report the end of a set.
    const isOver = clock() + clockOffsetMs >= endsAt && phase !== 'ended';
    const isLast = lastToken !== undefined && options.expiryOf(lastToken) === expiresAt;
    return !token &&
      isLast &&
      !isTokenWithdrawn &&
      !isOver &&
      !isExpiryEmitted &&
      (phase === 'stale' || phase === 'ended')
      ? 'the expiry of the token is not emitted'
      : undefined;
  };
  /** Note an event that is missing; it is a fault if it still is after a second of running time. */
  const checkMissing = () => {
    const what = missingEvent();
    if (!what || missing?.what !== what) missing = what === undefined ? undefined : { what, ran: page.ran() };
    else if (page.ran() > missing.ran + 1_000 && !page.areTimersStopped) fault(what);
  };
  /** Start the deadlines of calls that waited for consent. */
  const release = () => {
    for (const one of pending) if (one.limit === Number.POSITIVE_INFINITY) one.limit = page.ran() + one.limitMs;
  };

  const handlers = {
    token: ({ advertisingToken, expiresAt, cause }: SessionEvents['token']) => {
      if (cause !== 'tab' && cause !== 'load' && session.state.phase === 'fresh') options.onOwnToken(tab);
      if (advertisingToken === emittedToken) fault('the same token is emitted twice');
      emittedToken = lastToken = advertisingToken;
      isOptOutEmitted = isExpiryEmitted = isTokenWithdrawn = false;
      // What a store that lies has not written, another may have.
      if (SHARED.includes(session.state.persistence) && !hasLied && !options.isWritten(advertisingToken))
        fault('a token is emitted that was never written');
      if (!(expiresAt > 0)) fault('a token is emitted without its expiry');
      options.onToken(tab, advertisingToken, 'emitted');
    },
    expired: ({ token }: SessionEvents['expired']) => {
      if (token === 'advertising') {
        if (isExpiryEmitted) fault('the expiry of the same token is emitted twice');
        isExpiryEmitted = true;
      }
    },
    error: ({ code, cause }: SessionEvents['error']) => {
      // A call that the store has not confirmed has no cause.
      hasStoreFailed ||= code === 'storage_failed' && cause !== undefined;
    },
    optout: () => {
      if (isOptOutEmitted) fault('the same opt-out is emitted twice');
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
      if (isClosed && event === 'token') fault(`${event} is emitted after close()`);
      if (!consentTool.granted && event !== 'error') fault(`${event} is emitted without consent`);
      events.push([event, detailOf(event, payload)]);
      // This may be what was missing. The next look may come an hour later, when the same event is due for another token.
      missing = undefined;
      handlers[event as 'token']?.(payload as SessionEvents['token']);
      if (listenerKind === 'throws') throw new Error('thrown by a listener of the host');
      if (listenerKind === 'rejects') return Promise.reject(new Error('thrown by a listener of the host'));
      if (listenerKind === 'reenters' && !isClosed) reenter();
      return undefined;
    });
  }
  for (const event of ['token', 'expired', 'optout', 'needsTokens', 'error'] as const)
    session.on(event, (payload: unknown) => void secondEvents.push([event, detailOf(event, payload)]));

  let shown: string | undefined;
  session.subscribe(() => {
    shown = session.advertisingToken;
    // After a logout, which emits nothing, the same token may be emitted again.
    if (!shown) emittedToken = undefined;
    // After the opt-out is lifted, even without a token yet, another opt-out may be emitted.
    const { phase, next, persistence } = session.state;
    lateSince = SHARED.includes(persistence) ? Number.POSITIVE_INFINITY : Math.min(lateSince, page.ran());
    if (phase !== 'optedOut') isOptOutEmitted = false;
    if (!shown && (phase === 'empty' || phase === 'optedOut') && next?.reason !== 'storage') isTokenWithdrawn = true;
  });

  const tab = {
    id,
    page,
    session,
    events,
    limits,
    /** The user of the page, as its host last said. */
    get label() {
      return label;
    },
    relabel: (to: Label) => {
      label = to;
    },
    get isClosed() {
      return isClosed;
    },
    get granted() {
      return consentTool.granted;
    },
    /** When consent was first given, in ms of the page's running time; `Infinity`: never. */
    get grantedAt() {
      return consentTool.grantedAt;
    },
    /** Whether the session has a `consent` option. */
    hasConsentOption: options.consent !== 'none',
    /** Whether the session has `refresh: 'off'`. */
    isRefreshOff: options.refresh === 'off',
    get isHalted() {
      return page.isFrozen || page.isGone;
    },
    get thaws() {
      return thaws;
    },
    /** Its store has only pretended to make the last change. */
    get isLying() {
      return isLying;
    },
    /** It shares nothing with other tabs: it continues in memory, or its store lies. */
    get isAlone(): boolean {
      return tab.isInMemory || isLying;
    },
    get isInMemory(): boolean {
      // After withdrawal and close() the store must still be erased, so the state before close() counts.
      if (isClosed && consentTool.isWithdrawn) return wasInMemory;
      return !SHARED.includes(session.state.persistence);
    },
    get lateSince() {
      return hasStoreFailed || !environment.storage ? Number.POSITIVE_INFINITY : lateSince;
    },
    timeoutMs,
    ran: page.ran,
    /** The host makes a call that changes the record. */
    noteHostCall: () => void hostCalls++,
    /** Whether the page can run. */
    get isRunning() {
      return !page.isGone && !page.isFrozen;
    },
    expectSettled,
    /** Call a method that logs out or opts out: storage may be used without consent until its promise resolves. */
    erase: (call: () => Promise<unknown>): Promise<unknown> => {
      erasures++;
      hasErased = true;
      hasErasedSince = consentTool.isWithdrawn;
      const promise = call();
      // An update that has not been confirmed in time may still be made.
      promise.then(
        () => erasures--,
        () => {},
      );
      return promise;
    },
    /** The token that a subscriber read at the last change. */
    get shown() {
      return shown;
    },
    /** Read the token, as any script of the page may at any time, and check the state. */
    readToken: (how: string) => {
      const token = session.advertisingToken;
      shown = token;
      const { state } = session;
      if (state === session.state) snapshot = state;
      else fault('the state object changes although nothing has changed');
      if (!Object.isFrozen(snapshot)) fault('the state object is not frozen');
      if (token && isClosed) fault('a token after close()');
      if (token && !consentTool.granted) fault('a token without consent');
      if (!consentTool.granted && state.waitingFor !== 'consent') fault('state.waitingFor is not consent');
      if (token && state.phase === 'optedOut') fault('a token of an opted-out user');
      if (token) options.onToken(tab, token, how);
      checkMissing();
      return token;
    },
    thaw: (how: () => void) => {
      thaws++;
      how();
      if (!page.isGone) tab.readToken('after a thaw');
    },
    consent: (next: boolean) => {
      hostCalls++;
      // A session without consent forgets everything, so an opt-out may be emitted again afterwards.
      if (!next) isOptOutEmitted = false;
      if (next !== consentTool.granted) hasErasedSince = false;
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
    /** Whether consent was withdrawn but the last write of the tab contains personal data, other than that of a logout. */
    hasLeftTrace: () => consentTool.isWithdrawn && (hasErasedSince ? SET_FIELD : PERSONAL_FIELD).test(lastWritten),
    /** Names of the calls whose promises have not settled. */
    unsettled: () => [...pending].map(({ what }) => what),
    /** Check deadlines, signals and the order of events. */
    check: () => {
      clock();
      if (!tab.isRunning) return;
      if (!consentTool.granted || isClosed)
        for (const { aborted } of asked) if (!aborted) fault('a call of provide is not aborted');
      const ran = page.ran();
      noteTimers();
      for (const one of pending) {
        if (one.wereStopped || ran <= one.limit + (one.wereThrottled ? THROTTLED_MS : 100)) continue;
        pending.delete(one);
        fault(`${one.what} has not settled in time`);
      }
      if (JSON.stringify(events.slice(0, secondEvents.length)) !== JSON.stringify(secondEvents))
        fault('listeners receive different events');
    },
  } satisfies TabView & Record<string, unknown>;
  isCreated = true;
  expectSettled('ready', limits.ready, session.ready).catch(() => fault('ready rejects'));
  return tab;
};
export type Tab = ReturnType<typeof createTab>;

/**
 * `createSession`: builds a session, connects it to page, tabs and consent, and offers the public methods.
 *
 * `reconcile.ts` carries out decisions; `rules/` makes them.
 */

import { ownMembers } from '../token/checks.ts';
import { TokenError } from '../token/errors.ts';
import { parsePlainAnswer } from '../token/token-set.ts';
import { createEvents, ignoreFailure, withTimeout } from './async.ts';
import { OTHER_TAB_MARGIN_MS } from './attempt.ts';
import { createClock, watchPage } from './browser/page.ts';
import { indexedDbStore, memoryStore } from './browser/store.ts';
import { createTabs } from './browser/tabs.ts';
import { askConsent, commit, commitErasure, enterPage, releaseCalls, reportUnlessConsent } from './consent.ts';
import { explain } from './explain/entry.ts';
import { parseOptions, userHashOf, userOf } from './options.ts';
import {
  type Core,
  check,
  decideNow,
  disconnect,
  leave,
  noToken,
  publish,
  publishNow,
  readAgain,
  reconcile,
  reportError,
  setPage,
  wake,
} from './reconcile.ts';
import { attemptError, isActive } from './rules/decide.ts';
import { recordChanged, type SessionState } from './rules/page.ts';
import { isSameSet, loggedOut, optedOut, renderedWith, setByHost, signedIn } from './rules/record.ts';
import { createShownRecord, STORE_MS } from './shown-record.ts';
import type { Session, SessionOptions } from './types.ts';

/**
 * Create a session.
 *
 * @throws {TypeError} for an invalid option; the message names the option, what was expected and what was passed.
 * @example const session = createSession({ baseUrl: 'https://operator.example', provide });
 */
export function createSession(options: SessionOptions): Session {
  const core = createCore(options);
  const { settings, events } = core;
  const stopWatching = explain?.watch(settings);
  // A page frozen in Chromium's back/forward cache while it creates the database blocks `indexedDB.open` in every other tab. A
  // message on a channel that it listens to makes Chromium evict it.
  core.tabs.notify();
  offerRendered(core);
  askConsent(core);
  publish(core);
  // One microtask later, so that a gate that has already answered has queued the first read.
  const ready = Promise.resolve()
    .then(() => withTimeout(STORE_MS, core.records.idle(), 'the store'))
    .then(() => {}, core.log);

  /** Run a public method; its promise may be ignored. */
  const run = <T>(method: () => Promise<T>): Promise<T> => {
    const promise = core.isClosed ? Promise.reject(noToken(core)) : method();
    promise.catch(() => {});
    return promise;
  };
  const session: Session = {
    ready,
    get advertisingToken() {
      return publishNow(core).token;
    },
    get state() {
      publishNow(core);
      return core.state as SessionState;
    },
    getToken: (given) => run(() => getToken(core, given?.timeoutMs ?? settings.timeoutMs)),
    setTokens: (answer, given) => {
      const user = userOf(settings, given);
      return run(() => supply(core, answer, user));
    },
    clear: (given) => run(() => commitErasure(core, loggedOut(core.now(), given?.forget))),
    refresh: () => run(() => refreshNow(core)),
    signIn: (given) => {
      const user = userOf(settings, given);
      // An option of the script tag, which is not public.
      const { isPage } = ownMembers<{ isPage?: boolean }>(given);
      return run(() => (isPage ? enterPage : signIn)(core, user));
    },
    on: events.on,
    subscribe: (listener) => events.on('change', listener),
    close: () => {
      stopWatching?.();
      close(core);
    },
  };
  return explain ? explain.session(session, (listener) => events.on('failure', listener)) : session;
}

/** Build the inside of a session. Its parts call one another only once all of them exist. */
function createCore(options: SessionOptions): Core {
  const settings = parseOptions(options);
  const { baseUrl, name, logger, consent } = settings;
  const { now, follow } = createClock(settings.now);
  // A missing IndexedDB (Node, some webviews) is not a failure.
  const store = settings.store ?? ('indexedDB' in globalThis ? indexedDbStore(name) : memoryStore());
  // Opening the store is the slowest step before the first token: start it, and build the session meanwhile.
  if (!consent) ignoreFailure(() => store.open?.());
  const log = (what: unknown) => ignoreFailure(() => logger?.debug('tessera', what));
  // All members are own: a link may set members of `Object.prototype`.
  const core: Core = ownMembers({
    canProvide: !!settings.provide,
    canRefresh: settings.refresh !== 'off',
    user: userHashOf(settings, settings.user ?? undefined),
    hiddenAt: 0,
    callers: 0,
    cause: 'load',
    emitted: {},
    settings,
    now,
    log,
    events: createEvents(log),
    records: createShownRecord(baseUrl, store, {
      mayWrite: (isErasure): boolean => isErasure || core.consent !== false,
      onSeen: (...seen) => {
        const changes = recordChanged(core, ...seen);
        // Another page wrote the set by its own clock, which may have been set back.
        if (changes.cause === 'tab') follow();
        setPage(core, changes);
      },
      onFailure: (cause) => reportError(core, new TokenError('storage_failed', explain?.storeFailed, { cause })),
    }),
    tabs: createTabs(name, () => void readAgain(core)),
    pageWatch: watchPage(now, {
      onCheck: () => check(core),
      onWake: () => wake(core),
      onLeave: () => leave(core),
    }),
    waitingCalls: [],
    lastAttempt: Promise.resolve(undefined),
  });
  return core;
}

function close(core: Core): void {
  setPage(core, { isClosed: true });
  core.pageWatch.close();
  releaseCalls(core, noToken(core));
  void disconnect(core);
}

/** Offer the set or the opt-out that was rendered into the page, before any other call. Failures are emitted. */
function offerRendered(core: Core): void {
  const { tokens } = core.settings;
  if (!tokens) return;
  try {
    const answer = (explain?.parserOf('tokens') ?? parsePlainAnswer)(tokens);
    const offered =
      answer === 'optout'
        ? commitErasure(core, optedOut(core.now()))
        : commit(core, renderedWith(answer, core.now(), core.user));
    offered.catch((error) => reportUnlessConsent(core, error));
  } catch (error) {
    // Later: the page has no listener yet.
    queueMicrotask(() => reportError(core, error as TokenError));
  }
}

/** Record what the host supplies, for `user` or, by default, the user of the page. */
async function supply(core: Core, input: unknown, user = core.user): Promise<void> {
  const answer = (explain?.parserOf('setTokens') ?? parsePlainAnswer)(input);
  if (answer === 'optout') return commitErasure(core, optedOut(core.now()));
  setPage(core, { user });
  return commit(core, setByHost(answer, core.now(), user, !core.canRefresh));
}

/** Wait until `check`, which is called after every reconciliation, returns a value or throws. */
function waitFor<T>(core: Core, timeoutMs: number, what: string, check: () => T | undefined): Promise<T> {
  let off = () => {};
  const found = new Promise<T>((resolve, reject) => {
    off = core.events.on('reconciled', () => {
      try {
        const value = check();
        if (value !== undefined) resolve(value);
      } catch (error) {
        reject(error);
      }
    });
  });
  reconcile(core);
  // Without a signal, nothing is aborted.
  return (withTimeout(timeoutMs, found, what) as Promise<T>).finally(off);
}

async function getToken(core: Core, timeoutMs: number): Promise<string> {
  const check = () => {
    const { token, isTokenExpected } = decideNow(core);
    if (!token && !isTokenExpected) throw noToken(core);
    return token;
  };
  setPage(core, { callers: core.callers + 1 });
  try {
    return await waitFor(core, timeoutMs, 'getToken', check);
  } catch (error) {
    throw explain?.timedOut(error as TokenError, core, noToken(core)) ?? error;
  } finally {
    setPage(core, { callers: core.callers - 1 });
  }
}

async function refreshNow(core: Core): Promise<void> {
  const { records } = core;
  await records.idle();
  const { record: before } = records.view;
  setPage(core, { provideResult: undefined });
  reconcile(core, true);
  const { attempt } = core;
  if (!attempt) throw noToken(core);
  const error = await core.lastAttempt;
  const isHeld = await attemptsOver(core);
  const { record } = records.view;
  if (error || record.ended || !decideNow(core).token) throw error ?? noToken(core);
  if (attempt.plan.kind === 'refresh' && isSameSet(record, before))
    throw attemptError(core) ?? new TokenError(isHeld ? 'timeout' : 'network', explain?.notRefreshed(isHeld));
}

/**
 * Wait until neither another tab nor this one makes an attempt.
 *
 * @returns whether another tab made one.
 */
async function attemptsOver(core: Core): Promise<boolean> {
  const isHeld = decideNow(core).otherTabUntil > 0;
  const isOver = () => (!core.attempt && !decideNow(core).otherTabUntil) || !isActive(core) || undefined;
  const limitMs = core.settings.timeoutMs + 2 * OTHER_TAB_MARGIN_MS;
  await waitFor(core, limitMs, 'refresh', isOver).catch(() => {});
  // The message of that tab may have been lost.
  if (isHeld) await readAgain(core);
  return isHeld;
}

/** End the current set for all tabs, then call `provide`. */
async function signIn(core: Core, user: string | undefined): Promise<void> {
  setPage(core, { user });
  // Without consent, only the erasure is stored; the user's label follows when consent is given.
  await commitErasure(core, signedIn(core.consent ? user : undefined, core.now()));
  // A set may have arrived meanwhile, from the page or from `provide`: a label tells every tab that a set is awaited.
  await core.records.idle();
  if (!decideNow(core).token) await refreshNow(core);
}

/** Builds a session, connects it to page, tabs and consent, and offers the public methods. */

import { ownMembers } from '../token/checks.ts';
import { ignoreFailure, TokenError } from '../token/errors.ts';
import { createClock, createTimer } from './browser/clock.ts';
import { watchLifecycle } from './browser/lifecycle.ts';
import { indexedDbStore } from './browser/store.ts';
import { createTabs } from './browser/tabs.ts';
import { getToken, refreshNow, signIn, supply } from './calls.ts';
import { commit, commitErasure, releaseCalls, reportFailure } from './commit.ts';
import { askConsent } from './consent.ts';
import { type Core, noToken, publish, reportError } from './core.ts';
import { createEvents } from './events.ts';
import { explain } from './explain/entry.ts';
import { parseOptions, userHashOf, userOf } from './options.ts';
import { catchUp, check, disconnect, leave, readAgain, reconcile, wake } from './reconcile.ts';
import { withinStoreTime } from './record/record-store.ts';
import { createShownRecord } from './record/shown-record.ts';
import { loggedOut, othersEnded } from './rules/host-changes.ts';
import { NOTHING_EMITTED, type PageState, pageStateAfter } from './rules/page-state.ts';
import type { Change } from './rules/record.ts';
import type { SessionState } from './rules/state.ts';
import type { Session, SessionOptions } from './types.ts';

/**
 * Create a session.
 *
 * @throws {TypeError} for an invalid option; the message names the option, what was expected and what was passed.
 * @example const session = createSession({ baseUrl: 'https://operator.example', provide });
 */
export function createSession(options: SessionOptions): Session {
  return sessionOf(createCore(options));
}

/** Start the session of a core, and offer its methods. */
export function sessionOf(core: Core): Session {
  const { settings, events } = core;
  const stopWatching = explain?.watchMistakes(settings);
  // A page frozen in Chromium's back/forward cache while it creates the database blocks `indexedDB.open` in every other tab. A
  // message on a channel that it listens to makes Chromium evict it.
  core.tabs.notify();
  // What was rendered into the page comes before every other call.
  if (settings.tokens) reportFailure(core, supply(core, settings.tokens, core.user, true));
  askConsent(core);
  publish(core);
  // One microtask later, so that a gate that has already answered has queued the first read.
  const ready = Promise.resolve()
    .then(() => withinStoreTime(core.shown.idle))
    .then(() => {}, core.log);

  /** Run a public method; its promise may be ignored. */
  const run = <T>(method: () => Promise<T>): Promise<T> =>
    ignoreFailure(async () => {
      if (core.isClosed) throw noToken(core);
      return method();
    })!;
  const session: Session = {
    ready,
    get advertisingToken() {
      return catchUp(core).token;
    },
    get state() {
      catchUp(core);
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
      return run(() => signIn(core, user));
    },
    on: events.on,
    subscribe: (listener) => events.on('state', listener),
    close: () => {
      stopWatching?.();
      close(core);
    },
  };
  return explain ? explain.checkArguments(session, core) : session;
}

/** Create the inside of a session. Its parts call one another only once all of them exist. `adopt`: see `RecordStoreOwner`. */
export function createCore(options: SessionOptions, adopt?: Change): Core {
  const settings = parseOptions(options);
  const { name, logger } = settings;
  const { now, follow } = createClock(settings.now);
  // A missing IndexedDB (Node, some webviews) is not a failure.
  const store = settings.store ?? ('indexedDB' in globalThis ? indexedDbStore(name) : undefined);
  // Opening the store is the slowest step before the first token: start it, and build the session meanwhile.
  if (!settings.consent) ignoreFailure(() => store?.open?.());
  const log = (what: unknown): void => void ignoreFailure(() => logger?.debug('tessera', what));
  // All members are own: a link may set members of `Object.prototype`.
  const core = ownMembers<Core>({
    canProvide: !!settings.provide,
    canRefresh: settings.refresh !== 'off',
    user: userHashOf(settings, settings.user ?? undefined),
    isClosed: false,
    isAway: false,
    hiddenAt: 0,
    callers: 0,
    cause: 'load',
    emitted: NOTHING_EMITTED,
    settings,
    now,
    log,
    events: createEvents(),
    shown: createShownRecord(settings.baseUrl, store, {
      follow,
      now,
      adopt,
      mayWrite: (isErasure): boolean => isErasure || core.consent !== false,
      onRecord: (...seen) => Object.assign<PageState, Partial<PageState>>(core, pageStateAfter(core, ...seen)),
      onResumed: () => {
        core.tabs.notify();
        check(core);
      },
      onFailure: (cause) => {
        reportError(core, new TokenError('storage_failed', explain?.storeFailedReason, { cause }));
        reconcile(core);
      },
    }),
    tabs: createTabs(name, (isOver) => void readAgain(core, isOver)),
    setTimer: createTimer(now, () => check(core)),
    unwatch: watchLifecycle({
      onCheck: () => check(core),
      onWake: (isOnline) => wake(core, isOnline),
      onLeave: () => {
        leave(core);
        // A frame that was removed from its page has no timers, and says that it is closed only after its events.
        void Promise.resolve().then(() => globalThis.closed && close(core));
      },
    }),
    waiting: [],
    lastAttempt: Promise.resolve(),
  });
  return core;
}

function close(core: Core): void {
  core.isClosed = true;
  core.unwatch();
  releaseCalls(core, noToken(core));
  void disconnect(core);
}

/** The document now shows a page that was rendered for `user`, or for nobody if that is empty: as when a page is loaded. */
export function followPage(core: Core, user: string): void {
  core.user = userHashOf(core.settings, user || undefined);
  core.provideResult = undefined;
  reportFailure(core, commit(core, othersEnded(core.user, core.now())));
}

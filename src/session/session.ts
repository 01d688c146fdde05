/**
 * `createSession`: builds the shell, connects it to page, tabs and consent, and offers the public methods.
 *
 * `shell.ts` carries out decisions; `rules/` makes them.
 */

import { isDevelopment } from '../token/development.ts';
import { startAttempt } from './attempt.ts';
import { createClock } from './browser/clock.ts';
import { watchPage } from './browser/page.ts';
import { defaultStore } from './browser/store.ts';
import { createTabs } from './browser/tabs.ts';
import { checkArguments, checkCallOptions } from './call-checks.ts';
import { askConsent } from './consent.ts';
import { createEvents } from './events.ts';
import { getToken, noteSignal, refreshNow, signIn, supply, supplyRendered, userHashOf } from './host-calls.ts';
import { ignoreFailure } from './ignore-failure.ts';
import { parseOptions, type SessionOptions } from './options.ts';
import { type PageOwner, setPage } from './page-owner.ts';
import { createRecordStore } from './record-store.ts';
import { initialPage, wentAway } from './rules/page-state.ts';
import { loggedOut } from './rules/record.ts';
import {
  commit,
  decideNow,
  disconnect,
  ERASURE,
  noToken,
  publish,
  readAgain,
  reconcile,
  releaseCalls,
  type Shell,
  wake,
} from './shell.ts';
import { STORE_MS } from './store-queue.ts';
import { withTimeout } from './timeout.ts';
import type { Session } from './types.ts';
import { watchMistakes } from './warnings.ts';

/**
 * Create a session.
 *
 * @throws {TypeError} for an invalid option; the message names the option, what was expected and what was passed.
 * @example const session = createSession({ baseUrl: 'https://operator.example', provide });
 */
export function createSession(options: SessionOptions): Session {
  const shell = createShell(options);
  const { settings, records, tabs, events } = shell;
  const stopWatching = isDevelopment ? watchMistakes(settings) : undefined;
  // A page frozen in Chromium's back/forward cache while it creates the database blocks `indexedDB.open` in every other tab. A
  // message on a channel that it listens to makes Chromium evict it.
  tabs.notify(false);
  // The set that was rendered into the page is queued first, so that every later call replaces it.
  supplyRendered(shell);
  askConsent(shell);
  publish(shell, decideNow(shell));
  // One microtask later, so that a gate that has already answered has queued the first read.
  const ready = Promise.resolve()
    .then(() => withTimeout(STORE_MS, records.idle(), 'the store'))
    .then(() => {}, events.log);

  /** Run a public method; its promise may be ignored. */
  const run = <T>(method: () => Promise<T>): Promise<T> => {
    const promise = shell.page.isClosed ? Promise.reject(noToken(shell)) : method();
    promise.catch(() => {});
    return promise;
  };
  /** Publish what the page may see now, so that a caller that gets no token is notified when there is one again. */
  const publishNow = () => {
    shell.pageWatch.checkTimer();
    return publish(shell, decideNow(shell));
  };
  const session: Session = {
    ready,
    get advertisingToken() {
      return publishNow().token;
    },
    get state() {
      return publishNow().state;
    },
    getToken: (given) => run(() => getToken(shell, given?.timeoutMs ?? settings.timeoutMs)),
    setTokens: (answer, given) => {
      checkCallOptions('setTokens', ['user'], given);
      const userHash = userHashOf(settings, given?.user);
      return run(() => supply(shell, answer, userHash));
    },
    clear: (given) => run(() => commit(shell, loggedOut(shell.clock.now(), given?.forget), ERASURE)),
    refresh: () => run(() => refreshNow(shell)),
    signIn: (given) => {
      const userHash = userHashOf(settings, given?.user);
      return run(() => signIn(shell, userHash));
    },
    noteSignal: () => run(() => noteSignal(shell)),
    on: events.on,
    subscribe: (listener) => events.on('change', listener),
    close: () => {
      stopWatching?.();
      close(shell);
    },
  };
  return isDevelopment ? checkArguments(session) : session;
}

/**
 * Build the shell. Its parts call one another only once all of them exist. The record store gets the same object as `owner`, so
 * that both see one page state.
 */
function createShell(options: SessionOptions): Shell {
  const settings = parseOptions(options);
  const user = userHashOf(settings, settings.user ?? undefined);
  const { baseUrl, name, provide, refresh } = settings;
  const clock = createClock(settings.now);
  const store = settings.store ?? defaultStore(name);
  // Opening the store is the slowest step before the first token: start it, and build the session meanwhile.
  if (!settings.consent) ignoreFailure(() => store.open?.());
  const page = { ...initialPage(provide !== undefined, refresh === 'auto', store.kind ?? 'custom'), user };
  const owner: PageOwner = { page, clock, events: createEvents(settings.logger) };
  const shell: Shell = Object.assign<PageOwner, Omit<Shell, keyof PageOwner>>(owner, {
    settings,
    records: createRecordStore(baseUrl, store, owner),
    tabs: createTabs(name, (isChanged) => void readAgain(shell, isChanged)),
    pageWatch: watchPage(clock.now, {
      onTimer: () => reconcile(shell),
      onWake: () => wake(shell),
      onLeave: () => leave(shell),
    }),
    startAttempt: (plan) => startAttempt(shell, plan),
    awaitingConsent: [],
    attemptResult: Promise.resolve(undefined),
  });
  return shell;
}

/** The page is about to be frozen, cached or unloaded. From now on it receives no messages. */
function leave(shell: Shell): void {
  shell.page = wentAway(shell.page);
  void disconnect(shell);
}

function close(shell: Shell): void {
  setPage(shell, { isClosed: true, attempt: undefined });
  shell.pageWatch.close();
  releaseCalls(shell, noToken(shell));
  void disconnect(shell);
}

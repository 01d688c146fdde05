/**
 * `createSession`: builds the shell, connects it to page, tabs and consent, and gives the page its methods.
 *
 * What happens inside is in `shell.ts`; what is decided, and why, in `rules/`.
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
import { initialPage, wentAway, wokeUp } from './rules/page-state.ts';
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
} from './shell.ts';
import { STORE_MS } from './store-queue.ts';
import { withTimeout } from './timeout.ts';
import type { Session } from './types.ts';
import { watchMistakes } from './warnings.ts';

/**
 * Create a session.
 *
 * @throws {TypeError} for a wrong option, naming it, what was expected and what came.
 * @example const session = createSession({ baseUrl: 'https://operator.example', provide });
 */
export function createSession(options: SessionOptions): Session {
  const shell = createShell(options);
  const { settings, records, tabs, events } = shell;
  const stopWatching = isDevelopment ? watchMistakes(settings) : undefined;
  // A page frozen in Chromium's back/forward cache while it creates the database blocks `indexedDB.open` in every other tab. A
  // message on a channel that it listens to makes Chromium evict it.
  tabs.notify(false);
  // What the page was rendered with is queued first: every later call outranks it.
  supplyRendered(shell);
  askConsent(shell);
  publish(shell, decideNow(shell));
  // One microtask later, so that an answer of the gate that is there already has queued the first read.
  const ready = Promise.resolve()
    .then(() => withTimeout(STORE_MS, records.idle(), 'the store'))
    .then(() => {}, events.log);

  /** Run a public method; its promise may be ignored. */
  const run = <T>(method: () => Promise<T>): Promise<T> => {
    const promise = shell.page.isClosed ? Promise.reject(noToken(shell)) : method();
    promise.catch(() => {});
    return promise;
  };
  /** What the page may see now. It is published, so that a caller who is told that there is no token hears when there is one again. */
  const publishNow = () => {
    shell.pageWatch.checkTimer();
    publish(shell, decideNow(shell));
    return shell.published;
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
 * Build the shell. Its parts call each other only later, when all of them are there. It is the same object as `owner`: the record
 * store replaces the page state of the shell.
 */
function createShell(options: SessionOptions): Shell {
  const settings = parseOptions(options);
  const user = userHashOf(settings, settings.user ?? undefined);
  const { baseUrl, name, provide, refresh } = settings;
  const clock = createClock(settings.now);
  const store = settings.store ?? defaultStore(name);
  // Opening takes longer than all the rest until the token is there: it goes on while the session is built.
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
    controller: new AbortController(),
    attemptResult: Promise.resolve(undefined),
    published: { state: { phase: 'empty', persistence: page.persistence }, token: undefined },
  });
  return shell;
}

/** The page is shown, restored, thawed or online again. */
function wake(shell: Shell): void {
  // It has disconnected: connect again.
  if (shell.page.isAway) shell.tabs.notify(false);
  shell.page = wokeUp(shell.page, shell.clock.now());
  void readAgain(shell, false);
}

/** The page is about to be frozen, cached or unloaded: it receives no message from now on. */
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

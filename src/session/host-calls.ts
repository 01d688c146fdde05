/**
 * What the page calls: supply a set, wait for a token, refresh, sign in. Each function is one public method.
 *
 * What a call changes is a transition of `rules/`; when an attempt starts, `decide` says.
 */

import { typeFault } from '../token/checks.ts';
import { isDevelopment } from '../token/development.ts';
import { TokenError } from '../token/errors.ts';
import { parseAnswer, type TokenSet } from '../token/token-set.ts';
import { startAttempt } from './attempt-lifecycle.ts';
import { explicitPlan } from './rules/decide.ts';
import { isSameSet, renderedWithPage, setByHost, setByOwner, signalNoted, type Transition } from './rules/record.ts';
import { awaitedUser, hashUser, renderedFor, signedIn } from './rules/user.ts';
import {
  commit,
  commitAnswer,
  decideNow,
  ERASURE,
  HOST_CALL,
  noToken,
  reconcile,
  reportError,
  type Shell,
  setPage,
} from './shell.ts';
import { withTimeout } from './timeout.ts';

/**
 * The page was rendered with a set, or for a user. The record of another user is ended first, whatever the set turns out to
 * be. Failures are emitted, except missing consent, which is no failure.
 */
export function supplyRendered(shell: Shell): void {
  const { settings, clock } = shell;
  const user = labelOf(shell, settings.user);
  const supplied = (set: TokenSet, now: number) => renderedWithPage(set, now, user);
  const calls = [
    user && commit(shell, renderedFor(user, clock.now()), HOST_CALL),
    settings.tokens && (async () => commitAnswer(shell, parseAnswer(settings.tokens), supplied))(),
  ];
  for (const call of calls)
    if (call)
      call.catch((error: TokenError) => {
        if (error.code !== 'no_consent') reportError(shell, error);
      });
}

/** Hash the label of a user, if there is one. Throws a TypeError. */
export function labelOf({ settings }: Shell, user: unknown): string | undefined {
  if (user === undefined) return undefined;
  const fault = typeFault('user', 'string', user);
  if (fault) throw new TypeError(fault);
  return hashUser(user as string, `${settings.baseUrl} ${settings.name}`);
}

export async function supply(shell: Shell, input: unknown, user: string | undefined): Promise<void> {
  const answer = parseAnswer(input);
  setPage(shell, { notBefore: 0 });
  const supplied = shell.page.canRefresh ? setByHost : setByOwner;
  await commitAnswer(shell, answer, (set, now) => (record) => supplied(set, now, user ?? awaitedUser(record))(record));
}

/** Wait until `check` returns a value; it is called after every reconciliation. */
function waitFor<T>(shell: Shell, timeoutMs: number, what: string, check: () => T | undefined): Promise<T> {
  let off = () => {};
  const found = new Promise<T>((resolve, reject) => {
    off = shell.events.on('reconciled', () => {
      try {
        const value = check();
        if (value !== undefined) resolve(value);
      } catch (error) {
        reject(error);
      }
    });
  });
  reconcile(shell);
  return withTimeout(timeoutMs, found, what).finally(off);
}

export async function getToken(shell: Shell, timeoutMs: number): Promise<string> {
  setPage(shell, { callers: shell.page.callers + 1 });
  const check = () => {
    const { token, isTokenExpected } = decideNow(shell);
    if (!token && !isTokenExpected) throw noToken(shell);
    return token;
  };
  try {
    return await waitFor(shell, timeoutMs, 'getToken', check);
  } finally {
    setPage(shell, { callers: shell.page.callers - 1 });
  }
}

/** Message of the development build. */
const TOO_EARLY = 'refresh: too early to ask the service again; see state.next';

/** How long `refresh()` waits for another tab, beyond the time limit of that tab: for an attempt that follows here, ms. */
const FOLLOW_UP_MS = 4_000;

export async function refreshNow(shell: Shell): Promise<void> {
  const { records, settings } = shell;
  await records.flushed();
  if (shell.page.isClosed || shell.page.consent !== 'granted') throw noToken(shell);
  setPage(shell, { provideResult: undefined });
  const before = records.record;
  const plan = explicitPlan(before, shell.page, shell.clock.now());
  if (!plan) throw noToken(shell);
  const error = await (shell.page.attempt ? shell.attemptEnded : startAttempt(shell, plan));
  // Another tab may be refreshing: its message, or its time limit, ends the wait. An attempt may follow here.
  const isOver = () => (!shell.page.attempt && shell.page.otherTabUntil <= shell.clock.now()) || undefined;
  await waitFor(shell, settings.timeoutMs + FOLLOW_UP_MS, 'refresh in another tab', isOver);
  if (error || records.record.ended || !decideNow(shell).token) throw error ?? noToken(shell);
  if (plan.kind === 'refresh' && isSameSet(records.record, before))
    throw shell.page.lastError ?? new TokenError('network', isDevelopment ? TOO_EARLY : undefined);
}

/** End the set in force for all tabs, then ask `provide`. */
export async function signIn(shell: Shell, user: string | undefined): Promise<void> {
  await commit(shell, signedIn(user, shell.clock.now()), ERASURE);
  // With a label, every tab knows that a set is awaited: `provide` may have answered already.
  if (!decideNow(shell).token) await refreshNow(shell);
}

export async function noteSignal(shell: Shell): Promise<boolean> {
  let isOfOther = false;
  const noted: Transition = (record) => {
    const { generation, signalGeneration = generation } = record;
    // A write that was interrupted runs again, on the record that it has left.
    isOfOther ||= signalGeneration !== generation;
    return signalNoted(record);
  };
  await commit(shell, noted, { cause: 'tab', isHostCall: false });
  return isOfOther;
}

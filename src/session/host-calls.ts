/**
 * The public methods that take several steps: supply a set, wait for a token, refresh, sign in. Also the set and the user that
 * the page was rendered with.
 *
 * The transitions, and what `refresh()` attempts, are in `rules/`.
 */

import { throwIf, typeFault } from '../token/checks.ts';
import { isDevelopment } from '../token/development.ts';
import { TokenError } from '../token/errors.ts';
import type { TokenSet } from '../token/token-set.ts';
import { OTHER_TAB_MARGIN_MS } from './attempt.ts';
import { parseGiven, warnIfNoSet } from './given-answer.ts';
import type { Settings } from './options.ts';
import { reportError, setPage } from './page-owner.ts';
import { explicitPlan } from './rules/decide.ts';
import { attemptError } from './rules/no-token.ts';
import { isActive } from './rules/page-state.ts';
import {
  isSameSet,
  renderedWithPage,
  setByHost,
  setByRefreshingHost,
  signalNoted,
  type Transition,
} from './rules/record.ts';
import { hashUser, renderedFor, signedIn } from './rules/user.ts';
import {
  commit,
  commitAnswer,
  decideNow,
  ERASURE,
  HOST_CALL,
  INTERNAL,
  noToken,
  readAgain,
  reconcile,
  type Shell,
} from './shell.ts';
import { withTimeout } from './timeout.ts';

/**
 * End the record of any user other than the one for whom the page was rendered. Called whenever consent is given, before the
 * calls that wait for it.
 */
export function endOtherUser(shell: Shell): void {
  const { settings, clock, page } = shell;
  // A page without a label can use every record, unless it was rendered for nobody. After a sign-in, `page.user` is the new user.
  if (!page.user && settings.user !== null) return;
  const transition = renderedFor(page.user, clock.now(), renderedSet(shell));
  commit(shell, transition, HOST_CALL).catch((error: TokenError) => reportUnlessConsent(shell, error));
}

/**
 * The set that was rendered into the page, if it is for the page's user. {@link supplyRendered} reports one that cannot be
 * parsed.
 */
function renderedSet({ settings, page }: Shell): TokenSet | undefined {
  const { tokens, user } = settings;
  // Another user may have signed in on this page since it was rendered.
  const isForPageUser = userHashOf(settings, user ?? undefined) === page.user;
  if (!tokens || !isForPageUser) return undefined;
  try {
    const answer = parseGiven(tokens);
    return answer === 'optout' ? undefined : answer;
  } catch {
    return undefined;
  }
}

/** Supply the set that was rendered into the page. Failures are emitted. */
export function supplyRendered(shell: Shell): void {
  const { tokens } = shell.settings;
  if (!tokens) return;
  // An async function, so that a set that cannot be parsed is a failure like any other.
  const supplying = (async () =>
    commitAnswer(shell, parseGiven(tokens), (set, now) => renderedWithPage(set, now, shell.page.user)))();
  if (isDevelopment) supplying.catch((error) => warnIfNoSet('tokens', error));
  supplying.catch((error: TokenError) => reportUnlessConsent(shell, error));
}

/** Report an error, except missing consent, which is not a failure. */
function reportUnlessConsent(shell: Shell, error: TokenError): void {
  if (error.code !== 'no_consent') reportError(shell, error);
}

/** Hash the label of a user, if there is one. Throws a TypeError. */
export function userHashOf({ baseUrl, name }: Settings, label: unknown): string | undefined {
  if (label === undefined) return undefined;
  throwIf(typeFault('user', 'string', label));
  return hashUser(label as string, `${baseUrl} ${name}`);
}

export async function supply(shell: Shell, input: unknown, userHash: string | undefined): Promise<void> {
  const answer = parseGiven(input);
  const user = userHash ?? shell.page.user;
  setPage(shell, { notBefore: 0, user });
  const supplied = shell.page.canRefresh ? setByHost : setByRefreshingHost;
  await commitAnswer(shell, answer, (set, now) => supplied(set, now, user));
}

/** Wait until `check`, which is called after every reconciliation, returns a value or throws. */
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

/** Add to a timeout of `getToken` the reason why there was no token; for the development build. Other errors are not changed. */
function explainTimeout(shell: Shell, error: TokenError): TokenError {
  // The last failure may also be a time-out, of `provide`.
  if (error.code !== 'timeout' || error === shell.page.lastError) return error;
  return new TokenError('timeout', `${error.message}. ${noToken(shell).message}`);
}

export async function getToken(shell: Shell, timeoutMs: number): Promise<string> {
  setPage(shell, { callers: shell.page.callers + 1 });
  const check = () => {
    const { token, isTokenExpected } = decideNow(shell);
    if (!token && !isTokenExpected) throw noToken(shell);
    return token;
  };
  const waiting = waitFor(shell, timeoutMs, 'getToken', check).finally(() =>
    setPage(shell, { callers: shell.page.callers - 1 }),
  );
  if (!isDevelopment) return waiting;
  return waiting.catch((error: TokenError) => {
    throw explainTimeout(shell, error);
  });
}

/** Messages of the development build. */
const HELD = 'refresh: another tab is refreshing, and has brought no newer set';
const TOO_EARLY = 'refresh: too early to ask the service again; see state.next';

/**
 * How long `refresh()` waits for another tab beyond the time limit of a refresh, ms: the margin of that tab, then 2 s for an
 * attempt of this tab that follows. A hidden page waits for all of it, because it has no timer for the other tab's time limit.
 */
const OTHER_TAB_WAIT_MS = OTHER_TAB_MARGIN_MS + 2_000;

export async function refreshNow(shell: Shell): Promise<void> {
  const { records } = shell;
  await records.idle();
  if (!isActive(shell.page)) throw noToken(shell);
  setPage(shell, { provideResult: undefined });
  const before = records.record;
  const plan = explicitPlan(before, shell.page, shell.clock.now());
  if (!plan) throw noToken(shell);
  const error = await (shell.page.attempt ? shell.attemptResult : shell.startAttempt(plan));
  const timeout = await otherTabEnded(shell);
  if (error || records.record.ended || !decideNow(shell).token) throw error ?? timeout ?? noToken(shell);
  if (plan.kind === 'refresh' && isSameSet(records.record, before)) throw notRefreshed(shell);
}

/**
 * Wait until another tab that may be refreshing sends its message, or until its time limit. An attempt of this tab may follow.
 *
 * @returns the time-out, if nothing ended the wait earlier.
 */
async function otherTabEnded(shell: Shell): Promise<TokenError | undefined> {
  const isOver = () => {
    const { attempt, otherTabUntil } = shell.page;
    const isIdle = !attempt && otherTabUntil <= shell.clock.now();
    return isIdle || !isActive(shell.page) || undefined;
  };
  const waiting = waitFor(shell, shell.settings.timeoutMs + OTHER_TAB_WAIT_MS, 'refresh in another tab', isOver);
  const timeout = await waiting.then(
    () => undefined,
    (error: TokenError) => error,
  );
  // The message of that tab may have been lost.
  if (shell.page.lockRefusals) await readAgain(shell, false);
  return timeout;
}

/** Why a call of `refresh()` that did not fail left the set unchanged. */
function notRefreshed({ page }: Shell): TokenError {
  if (page.lockRefusals) return new TokenError('timeout', isDevelopment ? HELD : undefined);
  return attemptError(page) ?? new TokenError('network', isDevelopment ? TOO_EARLY : undefined);
}

/** End the current set for all tabs, then call `provide`. */
export async function signIn(shell: Shell, user: string | undefined): Promise<void> {
  setPage(shell, { user });
  // Without consent, only the erasure is stored; the user's label follows when consent is given.
  const stored = shell.page.consent === 'granted' ? user : undefined;
  await commit(shell, signedIn(stored, shell.clock.now()), ERASURE);
  // A set may have arrived meanwhile, from the page or from `provide`: a label tells every tab that a set is awaited.
  await shell.records.idle();
  if (!decideNow(shell).token) await refreshNow(shell);
}

export async function noteSignal(shell: Shell): Promise<boolean> {
  let isOfOther = false;
  const noted: Transition = (record) => {
    const { generation, signalGeneration = generation } = record;
    // An interrupted write runs again, on the record that it left behind.
    isOfOther ||= signalGeneration !== generation;
    return signalNoted(record);
  };
  await commit(shell, noted, INTERNAL);
  return isOfOther;
}

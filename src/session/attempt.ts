/**
 * One attempt to get a token: a call of `provide`, or a refresh as the only tab. It writes its result and records how it ended.
 *
 * `rules/` decides when an attempt starts.
 */

import { isDevelopment } from '../token/development.ts';
import { TokenError } from '../token/errors.ts';
import type { Answer } from '../token/token-set.ts';
import { refreshSet } from './browser/refresh-request.ts';
import { parseGiven, warnIfNoSet } from './given-answer.ts';
import type { ProvideOption, ProvideRequest, Settings } from './options.ts';
import { reportError, setPage } from './page-owner.ts';
import { htmlFault, pathOf, provideFault, responseFault } from './provide-fault.ts';
import type { AttemptPlan, ProvidePlan, RefreshPlan } from './rules/attempt-plan.ts';
import { type AttemptEnd, attemptEnded } from './rules/page-state.ts';
import {
  ifSameSet,
  isSameSet,
  optedOut,
  provideClaimed,
  provideEnded,
  type SessionRecord,
  setByProvide,
} from './rules/record.ts';
import { type Claim, claimRefresh, refreshAnswered, refreshFailed } from './rules/refresh.ts';
import { isRefusal } from './rules/retry.ts';
import { commit, commitAnswer, followClock, INTERNAL, reconcile, type Shell } from './shell.ts';
import { withTimeout } from './timeout.ts';

/** How long a tab waits for another tab's attempt beyond that attempt's time limit, ms. */
export const OTHER_TAB_MARGIN_MS = 2_000;

/** How an attempt ended. */
interface Outcome {
  /** Another tab is refreshing, or calls `provide`. */
  readonly isOtherTab?: boolean;
  /** Why it failed. */
  readonly error?: TokenError;
  /** The record whose set was sent, if the attempt failed after that. */
  readonly sent?: SessionRecord | undefined;
}

/**
 * The attempt did not fail: the answer was written, was late, or says that nobody is signed in; or nothing was sent, because the
 * attempt was aborted, the set has changed, or it is too early to ask the service again.
 */
const DONE: Outcome = {};
const OTHER_TAB: Outcome = { isOtherTab: true };

/** What one attempt works with. */
interface Attempt {
  readonly shell: Shell;
  /** The record at its start. */
  readonly before: SessionRecord;
  /** Aborts it: its outcome is then ignored. */
  readonly signal: AbortSignal;
  /** This tab holds the Web Lock. Without it, a lease in the record keeps other tabs from an attempt. */
  readonly hasLock: boolean;
}

/** How long other tabs wait for an attempt of this tab, ms. */
const leaseMs = ({ timeoutMs }: Settings): number => timeoutMs + OTHER_TAB_MARGIN_MS;

/** Start an attempt; resolves when it has ended, with its error if it failed. */
export function startAttempt(shell: Shell, plan: AttemptPlan): Promise<TokenError | undefined> {
  const controller = new AbortController();
  const { signal } = controller;
  shell.controller = controller;
  const before = shell.records.record;
  setPage(shell, { attempt: { plan, generation: before.generation, startedAt: shell.clock.now() } });
  // A void previous attempt may still hold the Web Lock, and this attempt would mistake it for another tab's lock.
  shell.attemptResult = shell.attemptResult
    .then(() => runAttempt(shell, plan, before, signal))
    .then((outcome) => endAttempt(shell, plan, outcome, signal))
    // After a time-out the request still runs.
    .finally(() => controller.abort());
  return shell.attemptResult;
}

/** Run an attempt; never rejects. */
function runAttempt(shell: Shell, plan: AttemptPlan, before: SessionRecord, signal: AbortSignal): Promise<Outcome> {
  return shell.tabs.withLock(async (lock): Promise<Outcome> => {
    // No caller waits for the lock any more.
    if (signal.aborted) return DONE;
    if (lock === 'taken' && !plan.ignoresLock) return OTHER_TAB;
    const attempt: Attempt = { shell, before, signal, hasLock: lock === 'held' };
    return plan.kind === 'provide' ? callProvide(attempt, plan) : refresh(attempt, plan);
  });
}

async function callProvide(attempt: Attempt, { reason }: ProvidePlan): Promise<Outcome> {
  const { shell, signal, hasLock } = attempt;
  const { settings, records, clock } = shell;
  try {
    // Another tab may have stored a set before this one obtained the lock.
    if (await isLate(attempt)) return DONE;
    const claimedAt = clock.now();
    if (!hasLock && !(await records.update(provideClaimed(claimedAt, leaseMs(settings)), INTERNAL))) return OTHER_TAB;
    try {
      // While the store was read, consent may have been withdrawn, or the session closed.
      if (signal.aborted) return DONE;
      const asked = ask(settings.provide, { signal, reason });
      const answer = await withTimeout(settings.timeoutMs, asked, 'provide', signal);
      // It may be a response, with its status.
      const response = Object(answer) as Response;
      const { status, ok } = response;
      if (isDevelopment && ok) throwIfPage(response);
      if (ok === false && status) throw responseFault(pathOf(response), status);
      const isNobody = answer === null || answer === undefined || status === 204;
      await recordProvided(attempt, isNobody ? undefined : parseGiven(answer));
      return DONE;
    } finally {
      if (!hasLock) await records.update(provideEnded(claimedAt), INTERNAL);
    }
  } catch (error) {
    if (isDevelopment) warnIfNoSet('provide', error);
    return { error: provideFault(error) };
  }
}

/** Read the record again; tell whether its set has changed since the start of the attempt. */
async function isLate({ shell: { records }, before }: Attempt): Promise<boolean> {
  await records.reload();
  return !isSameSet(records.record, before);
}

/** Call `provide`; rejects with a TokenError, or with the error that occurred while what it threw was read. */
async function ask(provide: ProvideOption | undefined, request: ProvideRequest): Promise<unknown> {
  try {
    return await provide?.(request);
  } catch (thrown) {
    throw provideFault(thrown);
  }
}

/** Reject an HTML page, such as a login page, that `provide` returned. */
function throwIfPage(response: Response): void {
  const fault = htmlFault(pathOf(response), response);
  if (fault) throw fault;
}

/** Write what `provide` returned, unless it is late; undefined means that nobody is signed in. */
async function recordProvided(attempt: Attempt, answer: Answer | undefined): Promise<void> {
  const { shell, before } = attempt;
  // Another tab may have logged the user in or out meanwhile.
  if ((await isLate(attempt)) || shell.page.isClosed) return;
  setPage(shell, { provideResult: answer ? undefined : 'nobody' });
  if (!answer) return;
  // Count this attempt now: writing the set raises the generation, and an attempt of an earlier generation is dropped uncounted.
  noteEnd(shell, 'done');
  const optedOutIfSame = (now: number) => ifSameSet(before, optedOut(now));
  const written = commitAnswer(shell, answer, setByProvide(before, shell.page.user), 'provide', optedOutIfSame);
  // A failed write is not a failure of `provide`: the record store reports it.
  await written.catch(() => {});
}

async function refresh(attempt: Attempt, { isExplicit }: RefreshPlan): Promise<Outcome> {
  const { shell, signal } = attempt;
  const { timeoutMs, baseUrl, fetch } = shell.settings;
  let sent: SessionRecord | undefined;
  try {
    const claim = await withTimeout(timeoutMs, claimSet(attempt, isExplicit), 'the store', signal);
    if (claim === 'superseded') return DONE;
    if (claim === 'other_tab') return OTHER_TAB;
    sent = claim;
    const request = refreshSet(baseUrl, fetch, claim.set, signal);
    const { result, dateMs } = await withTimeout(timeoutMs, request, 'refresh', signal);
    followClock(shell);
    // If the record has changed (newer set, logout, opt-out), this changes nothing, and memory adopts what is stored.
    const transition = refreshAnswered(sent, result, dateMs, shell.clock.now());
    await commit(shell, transition, { ...INTERNAL, cause: 'refresh' });
    return DONE;
  } catch (error) {
    // Errors that are not TokenErrors are not passed on: a parser's message may quote what it rejects.
    const own = error instanceof TokenError ? error : new TokenError('network', 'refresh failed');
    return { error: own, sent };
  }
}

/** Read the record again and, in the same atomic update, record that a refresh starts. */
async function claimSet({ shell, before, hasLock }: Attempt, isExplicit: boolean): Promise<Claim> {
  const { settings, records, clock } = shell;
  let claim: Claim = 'superseded';
  const claimed = (record: SessionRecord) => {
    const options = { hasLock, isExplicit, leaseMs: leaseMs(settings), wakeAttemptAt: shell.page.wakeAttemptAt };
    claim = claimRefresh(record, before, options, clock.now());
    return typeof claim === 'string' ? record : claim;
  };
  await records.update(claimed, INTERNAL);
  reconcile(shell);
  return claim;
}

/** Record in the page state how the attempt in progress has ended. */
function noteEnd(shell: Shell, end: AttemptEnd): void {
  const { settings, page, clock } = shell;
  shell.page = attemptEnded(page, end, clock.now(), settings, leaseMs(settings));
}

/** Apply the outcome of an attempt. */
async function endAttempt(
  shell: Shell,
  plan: AttemptPlan,
  outcome: Outcome,
  signal: AbortSignal,
): Promise<TokenError | undefined> {
  // No caller waits for an aborted attempt.
  const { error, sent } = signal.aborted ? DONE : outcome;
  if (error) await noteFailure(shell, plan, error, sent);
  // Another tab may be waiting for this attempt. The record has not changed, so no other message says that the attempt is over.
  if (signal.aborted || shell.page.provideResult === 'nobody') shell.tabs.notify(false);
  // Compare the plan: a clock correction replaces the object of the attempt.
  if (shell.page.attempt?.plan === plan) {
    const isRecorded = sent && shell.records.record.retry;
    const failure = isRecorded ? 'failed' : 'failed_unrecorded';
    noteEnd(shell, error ? failure : outcome.isOtherTab ? 'other_tab' : 'done');
  }
  reconcile(shell);
  return error;
}

/** Write a failed refresh to the record for all tabs; emit each rejection by the service, and the first of all other failures in a series. */
async function noteFailure(
  shell: Shell,
  plan: AttemptPlan,
  error: TokenError,
  sent: SessionRecord | undefined,
): Promise<void> {
  if (sent) {
    const failed = refreshFailed(sent, error, shell.settings, shell.clock.now(), shell.page.wakeAttemptAt);
    if (await shell.records.update(failed, INTERNAL)) shell.tabs.notify();
  }
  const isRefused = plan.kind === 'refresh' && isRefusal(error);
  reportError(shell, error, !shell.page.isErrorEmitted || isRefused);
  setPage(shell, { isErrorEmitted: true });
  if (plan.kind === 'provide') setPage(shell, { provideResult: 'failed' });
}

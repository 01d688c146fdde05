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
import type { Settings } from './options.ts';
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

/** The error if the page's code threw or returned an unreadable value: its codes, and the message of the development build. */
const UNREADABLE_CODES = { provide: 'provide_failed', refresh: 'network' } as const;
const UNREADABLE = 'the code of this page threw or returned a value that cannot be read';

/** How an attempt ended. */
interface Outcome {
  readonly end: AttemptEnd;
  /** Why it failed. */
  readonly error?: TokenError;
}

/**
 * The attempt did not fail: the answer was written, was too late, or says that nobody is signed in; or nothing was sent, because the
 * attempt was aborted, the set has changed, or it is too early to ask the service again.
 */
const DONE: Outcome = { end: 'done' };
const OTHER_TAB: Outcome = { end: 'other_tab' };

/** What one attempt works with. */
interface Attempt {
  readonly shell: Shell;
  /** The record at its start. */
  readonly before: SessionRecord;
  /** Aborts the attempt, whose outcome is then ignored. */
  readonly signal: AbortSignal;
  /** This tab holds the Web Lock. Without it, a lease in the record keeps other tabs from an attempt. */
  readonly hasLock: boolean;
}

/** How long other tabs wait for an attempt of this tab, ms. */
const leaseMs = ({ timeoutMs }: Settings): number => timeoutMs + OTHER_TAB_MARGIN_MS;

/** Start an attempt. Resolves when it has ended, with its error if it failed. */
export function startAttempt(shell: Shell, plan: AttemptPlan): Promise<TokenError | undefined> {
  const controller = new AbortController();
  const { signal } = controller;
  shell.controller = controller;
  const before = shell.records.record;
  setPage(shell, { attempt: { plan, generation: before.generation, startedAt: shell.clock.now() } });
  // The previous attempt may be void but still hold the Web Lock, which this attempt would mistake for another tab's lock.
  shell.attemptResult = shell.attemptResult
    .then(() => runAttempt(shell, plan, before, signal))
    // Reading a value that `provide` or `fetch` threw or returned may itself throw. The next attempt must follow even then.
    .catch((): Outcome => {
      const message = isDevelopment ? `${plan.kind}: ${UNREADABLE}` : undefined;
      return { end: 'failed_unrecorded', error: new TokenError(UNREADABLE_CODES[plan.kind], message) };
    })
    .then((outcome) => endAttempt(shell, plan, outcome, signal))
    // After a time-out, the request is still running.
    .finally(() => controller.abort());
  return shell.attemptResult;
}

/** Run an attempt. Rejects only if a value from the page's code cannot be read. */
function runAttempt(shell: Shell, plan: AttemptPlan, before: SessionRecord, signal: AbortSignal): Promise<Outcome> {
  return shell.tabs.withLock(async (lock): Promise<Outcome> => {
    // No caller is waiting for the lock any more.
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
      // Consent may have been withdrawn, or the session closed, while the store was being read.
      if (signal.aborted) return DONE;
      // An async function, because `provide` may throw instead of rejecting, or return its answer instead of a promise.
      const asked = (async () => settings.provide?.({ signal, reason }))();
      const answer: unknown = await withTimeout(settings.timeoutMs, asked, 'provide', signal);
      // `provide` may have returned a `Response`.
      const response = Object(answer) as Response;
      const { status, ok } = response;
      if (isDevelopment && ok) throwIfPage(response);
      // A string never passes this comparison. JSON may have one as its `status`, and an error message would quote it.
      if (ok === false && status > 0) throw responseFault(pathOf(response), response);
      const isNobody = answer === null || answer === undefined || status === 204;
      await recordProvided(attempt, isNobody ? undefined : parseGiven(answer));
      return DONE;
    } finally {
      if (!hasLock) await records.update(provideEnded(claimedAt), INTERNAL);
    }
  } catch (error) {
    if (isDevelopment) warnIfNoSet('provide', error);
    return { end: 'failed_unrecorded', error: provideFault(error) };
  }
}

/** Read the record again, and tell whether its set has changed since the attempt started. */
async function isLate({ shell: { records }, before }: Attempt): Promise<boolean> {
  await records.reload();
  return !isSameSet(records.record, before);
}

/** Reject an HTML page, such as a login page, that `provide` returned. */
function throwIfPage(response: Response): void {
  const fault = htmlFault(pathOf(response), response);
  if (fault) throw fault;
}

/** Write what `provide` returned, unless it is too late; undefined means that nobody is signed in. */
async function recordProvided(attempt: Attempt, answer: Answer | undefined): Promise<void> {
  const { shell, before } = attempt;
  // Another tab may have logged the user in or out meanwhile.
  if ((await isLate(attempt)) || shell.page.isClosed) return;
  setPage(shell, { provideResult: answer ? undefined : 'nobody' });
  if (!answer) return;
  // Count the attempt before its set is written: `decide` drops an attempt of an earlier generation without counting it.
  noteEnd(shell, DONE);
  const optedOutIfSame = (now: number) => ifSameSet(before, optedOut(now));
  const written = commitAnswer(shell, answer, setByProvide(before, shell.page.user), 'provide', optedOutIfSame);
  // A failed write is not a failure of `provide`: the record store reports it.
  await written.catch(() => {});
}

async function refresh(attempt: Attempt, { isExplicit }: RefreshPlan): Promise<Outcome> {
  const { shell, signal, hasLock } = attempt;
  const { settings, records, clock } = shell;
  let sent: SessionRecord | undefined;
  try {
    const claim = await claimSet(attempt, isExplicit);
    // Consent may have been withdrawn, or the session closed, while the record was being written.
    if (claim === 'superseded' || signal.aborted) return DONE;
    if (claim === 'other_tab') return OTHER_TAB;
    sent = claim;
    const request = refreshSet(settings.baseUrl, settings.fetch, claim.set, signal);
    const { result, dateMs } = await withTimeout(settings.timeoutMs, request, 'refresh', signal);
    followClock(shell);
    // If the record has changed (newer set, logout, opt-out), this changes nothing, and memory adopts what is stored.
    const transition = refreshAnswered(sent, result, dateMs, clock.now());
    await commit(shell, transition, { ...INTERNAL, cause: 'refresh' });
    return DONE;
  } catch (error) {
    // Pass on only a TokenError: the message of a parser, for example, may quote the rejected input.
    const failure = error instanceof TokenError ? error : new TokenError('network', 'refresh failed');
    const { aborted } = signal;
    const failed =
      sent && refreshFailed(sent, aborted ? undefined : failure, settings, clock.now(), shell.page.wakeAttemptAt);
    // Written under the lock, so that the next tab to obtain it finds the pause. After an abort the lock is released without a
    // write, which might not finish before the page is frozen.
    const isRecorded = failed && !(aborted && hasLock) && (await records.update(failed, INTERNAL));
    return { end: isRecorded ? 'failed' : 'failed_unrecorded', error: failure };
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
function noteEnd(shell: Shell, { end, error }: Outcome): void {
  const { settings, page, clock } = shell;
  const pauses = { ...settings, otherTabMs: leaseMs(settings), retryAfterMs: error?.retryAfterMs };
  shell.page = attemptEnded(page, end, clock.now(), pauses);
}

/** Apply the outcome of an attempt. */
function endAttempt(shell: Shell, plan: AttemptPlan, ended: Outcome, { aborted }: AbortSignal): TokenError | undefined {
  // No caller waits for an aborted attempt, even if it was aborted while its failure was written.
  const outcome = aborted ? DONE : ended;
  const { end, error } = outcome;
  if (error) noteFailure(shell, plan, error);
  // Another tab may be waiting for this attempt. If the record has not changed, no other message says that the attempt is over.
  const isRecorded = end === 'failed';
  if (isRecorded || aborted || shell.page.provideResult === 'nobody') shell.tabs.notify(isRecorded);
  // Compare plans, because a clock correction replaces the attempt object.
  if (shell.page.attempt?.plan === plan) noteEnd(shell, outcome);
  reconcile(shell);
  return error;
}

/** Report a failed attempt. Emit each rejection by the service, and the first of all other failures in a series. */
function noteFailure(shell: Shell, { kind }: AttemptPlan, error: TokenError): void {
  const isEmitted = !shell.page.isErrorEmitted || (kind === 'refresh' && isRefusal(error));
  setPage(shell, { isErrorEmitted: true, ...(kind === 'provide' && { provideResult: 'failed' }) });
  // Last, because a logger may supply another set.
  reportError(shell, error, isEmitted);
}

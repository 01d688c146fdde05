/**
 * The attempts of a session: starts one with what it may do, writes what it brings, and notes how it ended.
 */

import type { TokenError } from '../token/errors.ts';
import { type AttemptPorts, type Outcome, runAttempt } from './attempt.ts';
import { refreshSet } from './browser/refresh-request.ts';
import { type AttemptEnd, type AttemptInProgress, type AttemptPlan, attemptEnded } from './rules/page-state.ts';
import {
  ifSameSet,
  isSameSet,
  optedOut,
  provideClaimed,
  provideEnded,
  type SessionRecord,
  setByProvide,
  type Transition,
} from './rules/record.ts';
import { type Claim, claimRefresh, refreshAnswered, refreshFailed } from './rules/refresh.ts';
import { isRefusal } from './rules/retry.ts';
import { commit, commitAnswer, followClock, INTERNAL, reconcile, reportError, type Shell, setPage } from './shell.ts';

/** How much longer than its own limit another tab's refresh is waited for, ms. */
export const OTHER_TAB_MARGIN_MS = 2_000;

/** What an attempt may do while it runs; `before` is the record at its start. */
function attemptPorts(shell: Shell, before: SessionRecord): AttemptPorts {
  const { settings, records, clock, tabs } = shell;
  const isLate = async () => {
    await records.reload();
    return !isSameSet(records.record, before);
  };
  const { timeoutMs, provide, baseUrl, fetch } = settings;
  const leaseMs = timeoutMs + OTHER_TAB_MARGIN_MS;
  let claimedAt = 0;
  return {
    timeoutMs,
    provide,
    withLock: tabs.withLock,
    async claimProvide(hasLock) {
      if (await isLate()) return 'superseded';
      if (hasLock) return 'claimed';
      claimedAt = clock.now();
      return (await records.update(provideClaimed(claimedAt, leaseMs), INTERNAL)) ? 'claimed' : 'other_tab';
    },
    releaseProvide: () => records.update(provideEnded(claimedAt), INTERNAL),
    async recordProvided(answer) {
      // Another tab may have logged the user in or out meanwhile.
      if ((await isLate()) || shell.page.isClosed) return;
      setPage(shell, { provideResult: answer ? undefined : 'nobody' });
      if (!answer) return;
      // Count this attempt now: writing the set raises the generation, and an attempt of an earlier generation is dropped uncounted.
      noteEnd(shell, 'done');
      const optedOutIfSame = (now: number) => ifSameSet(before, optedOut(now));
      const written = commitAnswer(shell, answer, setByProvide(before, shell.page.user), 'provide', optedOutIfSame);
      // `provide` has not failed if the write has: the record store reports that.
      await written.catch(() => {});
    },
    async claim(isExplicit, hasLock) {
      let claim: Claim = { type: 'superseded' };
      const claimed: Transition = (record) => {
        const options = { hasLock, isExplicit, leaseMs, wakeAttemptAt: shell.page.wakeAttemptAt };
        claim = claimRefresh(record, before, options, clock.now());
        return claim.type === 'claimed' ? claim.record : record;
      };
      await records.update(claimed, INTERNAL);
      reconcile(shell);
      return claim;
    },
    send: (set, signal) => refreshSet(baseUrl, fetch, set, signal),
    async write(sent, { result, dateMs }) {
      followClock(shell);
      // If the record has changed (newer set, logout, opt-out), this changes nothing, and memory adopts what is stored.
      const transition = refreshAnswered(sent, result, dateMs, clock.now());
      await commit(shell, transition, { ...INTERNAL, cause: 'refresh' });
    },
  };
}

/** Start an attempt; resolves when it has ended, with the error it failed with. */
export function startAttempt(shell: Shell, plan: AttemptPlan): Promise<TokenError | undefined> {
  const controller = new AbortController();
  const { signal } = controller;
  shell.controller = controller;
  const before = shell.records.record;
  const attempt: AttemptInProgress = { plan, generation: before.generation, startedAt: shell.clock.now() };
  setPage(shell, { attempt });
  // The previous attempt may be void and still hold the Web Lock: this one would take the lock for that of another tab.
  shell.attemptResult = shell.attemptResult
    .then(() => runAttempt(plan, attemptPorts(shell, before), signal))
    .then((outcome) => endAttempt(shell, attempt, outcome, signal))
    // After a time-out the request still runs.
    .finally(() => controller.abort());
  return shell.attemptResult;
}

/** Note on the page how the attempt in progress has ended. */
function noteEnd(shell: Shell, end: AttemptEnd): void {
  const { settings, page, clock } = shell;
  shell.page = attemptEnded(page, end, clock.now(), settings, settings.timeoutMs + OTHER_TAB_MARGIN_MS);
}

/** Do what follows from the outcome of an attempt. */
async function endAttempt(
  shell: Shell,
  attempt: AttemptInProgress,
  outcome: Outcome,
  signal: AbortSignal,
): Promise<TokenError | undefined> {
  const failed = outcome.type === 'failed' && !signal.aborted ? outcome : undefined;
  const { error, sent } = failed ?? {};
  if (error) await noteFailure(shell, attempt.plan, error, sent);
  // Another tab may be waiting for this attempt, and the record has not changed: no other message tells it that the wait is over.
  if (signal.aborted || shell.page.provideResult === 'nobody') shell.tabs.notify(false);
  // By its plan: a correction of the clock makes a new object of the attempt.
  if (shell.page.attempt?.plan === attempt.plan) {
    const isRecorded = sent && shell.records.record.retry;
    const failure = isRecorded ? 'failed' : 'failed_unrecorded';
    noteEnd(shell, error ? failure : outcome.type === 'other_tab' ? 'other_tab' : 'done');
  }
  reconcile(shell);
  return error;
}

/** Write a failure to the record for all tabs, and emit it: each refusal, and the first outage of a run. */
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

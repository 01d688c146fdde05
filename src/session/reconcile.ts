/**
 * The shell of a session: it holds what only this page knows, calls `decide`, and carries out the result.
 *
 *   setTokens, clear, the outcome of an attempt          timer, page shown, message of a tab, consent answered
 *                    |                                                      |
 *    change of the record: shown, one atomic write                     reconcile()
 *                    |                                                      |
 *                    +--------> decide(view, page, now) <-------------------+
 *                                         |
 *                start or abort an attempt, emit events, publish the state, set the timer
 *
 * `reconcile` may run at any time and any number of times. The decisions are in `rules/`. Only this file assigns the page.
 */

import { TokenError } from '../token/errors.ts';
import type { createEvents } from './async.ts';
import { type AttemptContext, type Outcome, runAttempt } from './attempt.ts';
import { isPageVisible, type watchPage } from './browser/page.ts';
import { explain } from './explain/entry.ts';
import { attemptError, type Decision, decide, isActive, whyNoToken } from './rules/decide.ts';
import { type Attempt, changesBetween, type Page, type Plan, type SessionState } from './rules/page.ts';
import { isRefusal, NEVER, wokeUp } from './rules/retry.ts';

/** The inside of a session: what only this page knows, and the handles that act on browser and network. */
export interface Core extends Page, AttemptContext {
  readonly events: ReturnType<typeof createEvents>;
  readonly pageWatch: ReturnType<typeof watchPage>;
  /** Log with the host's logger, if there is one. */
  log(what: unknown): void;
  /** What `state` returns; absent before the first decision. */
  state?: SessionState;
  attempt: (Attempt & { readonly controller: AbortController }) | undefined;
  /** Host calls that wait for the first consent, in order. */
  readonly waitingCalls: ((error?: TokenError) => void)[];
  /** Resolves when the last attempt has ended, with its error if it failed. */
  lastAttempt: Promise<TokenError | undefined>;
}

/** A page that wakes up tries again within this time, at random: all pages of a device wake up at once, ms. */
const WAKE_SPREAD_MS = 2_000;

/** A page that was hidden for no longer than this has missed no message, and a page after `pagehide` may still be ending, ms. */
const SHORT_ABSENCE_MS = 2_000;

/** Change what only this page knows. */
export function setPage(core: Page, change: Partial<Page>): void {
  Object.assign(core, change);
}

/**
 * Notice that the page has been hidden or shown: a webview may do either without an event. A page may also stay after `pagehide`, for
 * example for a download: it has stayed if it is visible at a later event, or calls the session a while later.
 *
 * @param isEvent  an event has shown that the page has stayed.
 * @returns        whether it is visible.
 */
function noticeVisibility(core: Core, isEvent = false): boolean {
  const isVisible = isPageVisible();
  if (!isVisible) core.hiddenAt ||= core.now();
  else if (core.hiddenAt && (isEvent || !core.isAway || wasAbsent(core))) wake(core);
  return isVisible;
}

/** Tell whether the page was hidden or left so long ago that it may have missed messages. */
function wasAbsent({ hiddenAt, now }: Core): boolean {
  return hiddenAt > 0 && Math.abs(now() - hiddenAt) > SHORT_ABSENCE_MS;
}

export function decideNow(core: Core, isExplicit?: boolean): Decision {
  return decide(core.records.view, core, core.now(), isExplicit);
}

/**
 * Call `decide` and carry out the result.
 *
 * @param isExplicit  the page calls `refresh()`.
 */
export function reconcile(core: Core, isExplicit?: boolean): void {
  const { records, events } = core;
  const isVisible = noticeVisibility(core);
  // A logout, another user or an opt-out, in any tab, makes the attempt void.
  const { attempt } = core;
  const voided = attempt && attempt.generation !== records.latest().generation ? attempt : undefined;
  if (voided) core.attempt = undefined;
  const decision = decideNow(core, isExplicit);
  const { due, isSettled } = decision;
  if (due) startAttempt(core, due);
  const isAwaited = core.callers > 0 && decision.isTokenExpected;
  core.pageWatch.setTimer(isVisible || isAwaited ? decision.wakeAt : NEVER);
  if (isSettled) {
    const changes = changesBetween(core.emitted, core, decision);
    core.emitted = changes.emitted;
    for (const [event, payload] of changes.events) events.emit(event, payload);
  }
  publish(core);
  events.emit('reconciled');
  // Last, because `provide` may listen to this abort and call the session.
  voided?.controller.abort();
}

/** Show the state if anything in it has changed. Another token is always accompanied by another state. */
export function publish(core: Core): Decision {
  const decision = decideNow(core);
  const { state } = decision;
  const before = core.state;
  const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
  if (before && state.lastError === before.lastError && isSame(state, before)) return decision;
  // Before the log, because a logger may read the state, which would be published and logged again.
  core.state = Object.freeze(state);
  Object.freeze(state.next);
  if (!isSame(state.next, before?.next)) core.log(state.next);
  core.events.emit('change');
  return decision;
}

/**
 * Publish what the page may see now, for a page that asks. A timer may be late, throttled or off, so this also starts what is due.
 */
export function publishNow(core: Core): Decision {
  noticeVisibility(core);
  const decision = publish(core);
  const isLate = decision.due || decision.token !== core.emitted.token;
  if (decision.isSettled && isLate) queueMicrotask(() => reconcile(core));
  return decision;
}

/** Why there is no token now. */
export function noToken(core: Core): TokenError {
  const decision = decideNow(core);
  const why = whyNoToken(decision, core);
  return typeof why === 'string' ? new TokenError(why, explain?.noToken(why, decision, core)) : why;
}

/**
 * Report a failure: as `state.lastError`, to the logger, and by the event `error`.
 *
 * @param isEmitted  false to emit no event, because the first failure of this series was emitted.
 */
export function reportError(core: Core, error: TokenError, isEmitted = true): void {
  if (core.isClosed) return;
  core.lastError = error;
  core.log(error);
  if (isEmitted) core.events.emit('error', error);
  // The development build warns about it.
  if (explain) core.events.emit('failure', error);
}

/** Start an attempt. */
function startAttempt(core: Core, plan: Plan): void {
  const controller = new AbortController();
  const { signal } = controller;
  const { record } = core.records.view;
  const attempt = { plan, generation: record.generation, startedAt: core.now(), controller };
  core.attempt = attempt;
  // The previous attempt may be void, but still hold the Web Lock.
  core.lastAttempt = core.lastAttempt
    .then(() => runAttempt(core, plan, record, signal))
    .then((outcome) => {
      if (core.attempt === attempt) core.attempt = undefined;
      // Aborted: the attempt is void or the page was left, so its failure counts for nobody.
      const counted: Outcome = signal.aborted ? {} : outcome;
      noteOutcome(core, plan, counted);
      reconcile(core);
      return counted.error;
    })
    // After a time-out, the request is still running.
    .finally(() => controller.abort());
}

/** Note how an attempt of this page has ended. Emit each refusal of the service, and the first of all other failures in a series. */
function noteOutcome(core: Core, plan: Plan, { error, otherLeaseId, isNobody }: Outcome): void {
  core.otherLeaseId = otherLeaseId;
  if (isNobody) core.provideResult = 'nobody';
  if (!error) return;
  const isEmitted = isRefusal(plan, error) || !attemptError(core);
  if (plan.kind === 'provide') core.provideResult = 'failed';
  // Last, because a logger may supply another set.
  reportError(core, error, isEmitted);
}

/** Read the stored record again, then reconcile. */
export async function readAgain(core: Core): Promise<void> {
  if (!isActive(core)) return;
  await core.records.read();
  reconcile(core);
}

/** The timer has run, or an event has shown that the page has stayed. */
export function check(core: Core): void {
  noticeVisibility(core, true);
  reconcile(core);
}

/** The page is shown, restored, thawed or online again: it tries again soon. */
export function wake(core: Core): void {
  const { records } = core;
  const now = core.now();
  // The channel was closed when the page was left: connect again.
  if (core.isAway) core.tabs.notify();
  // A browser may suspend a hidden page without an event, and the page then misses messages. The clock of the host, or one that has
  // followed another page, may have gone back meanwhile.
  if (core.isAway || wasAbsent(core)) records.loseTrack();
  core.isAway = false;
  core.hiddenAt = 0;
  // Its tab may have ended meanwhile without ending the lease.
  core.otherLeaseId = undefined;
  if (!isActive(core)) return;
  void readAgain(core);
  const soon = wokeUp(now + Math.random() * WAKE_SPREAD_MS);
  const record = records.latest();
  if (soon(record) !== record) void records.change(soon).then(() => reconcile(core));
}

/** The page is about to be frozen, cached or unloaded. From now on it receives no messages. */
export function leave(core: Core): void {
  core.records.loseTrack();
  core.isAway = true;
  // Also if it was hidden before: `disconnect` must not take it for a page that has stayed.
  core.hiddenAt = core.now();
  void disconnect(core);
}

/**
 * The page is away or closed: give up the attempt in progress, then release channel and connection. A logout that is being written,
 * and the end of the attempt, reach the other tabs first.
 */
export async function disconnect(core: Core): Promise<void> {
  const { records } = core;
  core.attempt?.controller.abort();
  reconcile(core);
  await core.lastAttempt;
  await records.idle();
  await records.isConfirmed();
  if (!core.isAway && !core.isClosed) return;
  records.release();
  core.tabs.disconnect();
}

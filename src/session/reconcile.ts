/**
 * The shell of a session: calls `decide`, and carries out the result. `reconcile` may run at any time and any number of times.
 *
 * It also follows the page: one that may have missed messages reads the record again, and one that is left releases what it holds.
 */

import { runAttempt } from './attempt/attempt.ts';
import { isPageVisible } from './browser/lifecycle.ts';
import { type Core, decideNow, publish, reportError } from './core.ts';
import type { Outcome } from './rules/attempt-changes.ts';
import { attemptError, type Decision, isActive } from './rules/decide.ts';
import { isRefusal, NEVER, type Plan, wokeUp } from './rules/retry.ts';
import { eventsFor } from './rules/session-events.ts';

/** A page that wakes up tries again within this time, at random: all pages of a device wake up at once, ms. */
const WAKE_SPREAD_MS = 2_000;

/** A page that was hidden for at most this time has missed no message. After `pagehide`, it may still be ending for this time. In ms. */
const SHORT_ABSENCE_MS = 2_000;

/**
 * A webview may hide or show a page without an event. A page may also stay after `pagehide`, for example for a download: it has
 * stayed if it is visible at a later event, or calls the session a while later. Returns whether it is visible.
 */
function noticeVisibility(core: Core, isEvent?: boolean): boolean {
  const isVisible = isPageVisible();
  if (!isVisible) core.hiddenAt ||= core.now();
  else if (core.hiddenAt && (isEvent || !core.isAway || wasAbsent(core))) wake(core);
  return isVisible;
}

/**
 * Whether the page was hidden for so long that it may have missed messages. The time may be negative: the clock of the host, or one
 * that follows another page, may have gone back.
 */
function wasAbsent({ hiddenAt, now }: Core): boolean {
  return hiddenAt > 0 && Math.abs(now() - hiddenAt) > SHORT_ABSENCE_MS;
}

/** `isExplicit`: the page calls `refresh()`. */
export function reconcile(core: Core, isExplicit?: boolean): void {
  const { shown, events } = core;
  const isVisible = noticeVisibility(core);
  // A logout, another user or an opt-out, in any tab, makes the attempt void, and ends its lease.
  const { attempt } = core;
  const { generation, lease } = shown.latest();
  const voided = attempt && attempt.generation !== generation && attempt.id !== lease?.id ? attempt : undefined;
  if (voided) core.attempt = undefined;
  const decision = decideNow(core, isExplicit);
  const { start, isSettled } = decision;
  if (start) startAttempt(core, start);
  const isAwaited = core.callers && decision.isTokenExpected;
  core.setTimer(isVisible || isAwaited ? decision.wakeAt : NEVER);
  if (isSettled) {
    const after = eventsFor(core, decision);
    core.emitted = after.emitted;
    for (const [event, payload] of after.events) events.emit(event, payload);
  }
  publish(core);
  events.emit('reconciled');
  // Last, because `provide` may listen to this abort and call the session.
  voided?.controller.abort();
}

/** For a page that asks now: a timer may be late, throttled or off, so this also starts what is due. */
export function catchUp(core: Core): Decision {
  noticeVisibility(core);
  const decision = publish(core);
  const isStale = decision.start || decision.token !== core.emitted.token;
  if (decision.isSettled && isStale) queueMicrotask(() => reconcile(core));
  return decision;
}

function startAttempt(core: Core, plan: Plan): void {
  const controller = new AbortController();
  const { signal } = controller;
  const { record } = core.shown.view;
  const attempt = { id: Math.random(), plan, generation: record.generation, startedAt: core.now(), controller };
  core.attempt = attempt;
  // The previous attempt may be void, but still hold the Web Lock.
  core.lastAttempt = core.lastAttempt
    .then(() => runAttempt(core, attempt, record, signal))
    .then((outcome) => {
      if (core.attempt === attempt) core.attempt = undefined;
      // Aborted: the attempt is void or the page was left, so its failure counts for nobody.
      if (!signal.aborted) noteOutcome(core, plan, outcome);
      reconcile(core);
      // A request that was given up is still running.
      controller.abort();
    });
}

/** Each refusal of the service is emitted, and the first of all other failures in a series. */
function noteOutcome(core: Core, plan: Plan, outcome: Outcome): void {
  const { kind } = outcome;
  if (kind === 'nobody') core.provideResult = kind;
  if (kind !== 'failed') return;
  const { error } = outcome;
  if (plan.kind === 'provide') core.provideResult = kind;
  // Last, because a logger may supply another set.
  reportError(core, error, isRefusal(plan, error) || !attemptError(core));
}

/** `isOver`: another tab has ended an attempt. */
export async function readAgain(core: Core, isOver?: unknown): Promise<void> {
  if (!isActive(core)) return;
  await core.shown.read();
  // If the store is late, what that tab has written cannot be read yet.
  if (isOver && !core.shown.isLate()) core.otherLeaseId = undefined;
  reconcile(core);
}

/** The timer has run, or an event has shown that the page has stayed. */
export function check(core: Core): void {
  noticeVisibility(core, true);
  reconcile(core);
}

export function wake(core: Core, isOnline?: boolean): void {
  // The channel was closed when the page was left: connect again.
  if (core.isAway) core.tabs.notify();
  // A browser may suspend a hidden page without an event, and the page then misses messages.
  const hasBeenAway = core.isAway || wasAbsent(core);
  if (hasBeenAway) core.shown.loseTrack();
  core.isAway = false;
  core.hiddenAt = 0;
  // The tab of that lease may have ended without releasing it.
  core.otherLeaseId = undefined;
  if (hasBeenAway || isOnline) core.events.emit('woken');
  void retrySoon(core, true);
}

/** `hasWoken`: false if consent has just been given, usually on a new page: if there is a token, the pause goes on. */
export async function retrySoon(core: Core, hasWoken: boolean): Promise<void> {
  await readAgain(core);
  // The page may have been rendered with a set, or for a user.
  await core.shown.idle();
  const { isSettled, retry, token } = decideNow(core);
  if (!isSettled || !retry || (!hasWoken && token)) return;
  await core.shown.update(wokeUp(core.now() + Math.random() * WAKE_SPREAD_MS));
  reconcile(core);
}

/** The page is about to be frozen, cached or unloaded. From now on it receives no messages. */
export function leave(core: Core): void {
  core.shown.loseTrack();
  core.isAway = true;
  // Even if it was hidden before: otherwise, `disconnect` could take it for a page that has stayed.
  core.hiddenAt = core.now();
  void disconnect(core);
}

/**
 * Give up the attempt in progress, then release channel and connection. A logout that is being written, and the end of the
 * attempt, reach the other tabs first.
 */
export async function disconnect(core: Core): Promise<void> {
  const { shown } = core;
  core.attempt?.controller.abort();
  reconcile(core);
  await core.lastAttempt;
  await shown.settled();
  if (!core.isAway && !core.isClosed) return;
  shown.close();
  core.tabs.disconnect();
}

/**
 * The shell of a session: it holds the record and the page state, calls `decide`, and carries out the result.
 *
 *   setTokens, clear, an answer of service or provide        timer, page shown, message of a tab, consent answered
 *                        |                                                        |
 *      commit(transition): memory, one atomic write                         reconcile()
 *                        |                                                        |
 *                        +---------> decide(record, page, now) <------------------+
 *                                              |
 *              start or abort an attempt, emit events, publish the state, set the timer
 *
 * `reconcile` may run at any time and any number of times. The decisions are in `rules/`.
 */

import { isDevelopment } from '../token/development.ts';
import { TokenError } from '../token/errors.ts';
import type { Answer, TokenSet } from '../token/token-set.ts';
import { isPageVisible, type watchPage } from './browser/page.ts';
import type { createTabs } from './browser/tabs.ts';
import type { Settings } from './options.ts';
import { followClockOnPage, type PageOwner } from './page-owner.ts';
import type { RecordStore, UpdateOptions } from './record-store.ts';
import type { AttemptPlan } from './rules/attempt-plan.ts';
import { type Decision, decide } from './rules/decide.ts';
import { noTokenError } from './rules/no-token.ts';
import { type Cause, isActive, isSettled, waitEnded, wasHidden, wokeUp } from './rules/page-state.ts';
import { isSameFlat, isSameState, type SessionState } from './rules/public-state.ts';
import { clockSetBack, optedOut, type Transition } from './rules/record.ts';

/** What `state` and `advertisingToken` return. */
export interface Published {
  readonly state: SessionState;
  readonly token: string | undefined;
}

/** The internals of a session: its page state, and the handles that act on browser and network. */
export interface Shell extends PageOwner {
  readonly settings: Settings;
  readonly records: RecordStore;
  readonly tabs: ReturnType<typeof createTabs>;
  readonly pageWatch: ReturnType<typeof watchPage>;
  /** Absent before the first decision. */
  published?: Published;
  /** Start an attempt; resolves when it has ended, with its error if it failed. */
  startAttempt(plan: AttemptPlan): Promise<TokenError | undefined>;
  /** Host calls that wait for the first consent, in order; see {@link releaseCalls}. */
  readonly awaitingConsent: ((error?: TokenError) => void)[];
  /** Aborts the last attempt; absent before the first. */
  controller?: AbortController;
  /** Resolves when the last attempt has ended, with its error if it failed. */
  attemptResult: Promise<TokenError | undefined>;
}

/** Messages of the development build. */
const LATER_CALL = 'Superseded by a later call before consent was given.';
const UNCONFIRMED = 'storage: the store did not confirm; the next page may find the former set';

/**
 * The host supplies a set (by a call, `tokens` or `provide`) or names its user, or the clock was set back. Memory changes at once if
 * the stored record is known.
 */
export const HOST_CALL: UpdateOptions = { cause: 'set', isHostCall: true };
/** A change that only erases: a logout, an opt-out, a withdrawal of consent. Memory changes at once. */
export const ERASURE: UpdateOptions = { cause: 'set', isHostCall: true, isErasure: true };
/** Any other change: by a refresh, of the retry state, of a lease, of the signal. Memory changes after the write. */
export const INTERNAL: UpdateOptions = { isHostCall: false };

export function decideNow({ records, page, clock }: Shell): Decision {
  return decide(records.record, page, clock.now());
}

/** Call `decide` and carry out the result. */
export function reconcile(shell: Shell): void {
  followClock(shell);
  const isVisible = isPageVisible();
  if (!isVisible) shell.page = wasHidden(shell.page, shell.clock.now());
  // A webview may show a page again without an event.
  else if (shell.page.hiddenAt && !shell.page.isAway) wake(shell);
  const decision = decideNow(shell);
  // The controller of the attempt that may be void: `startAttempt` replaces it.
  const { controller } = shell;
  shell.page = decision.page;
  if (decision.attempt) void shell.startAttempt(decision.attempt);
  const isAwaited = decision.isTokenExpected && decision.page.callers > 0;
  shell.pageWatch.setTimer(decision.wakeAt, isVisible || isAwaited);
  for (const [event, payload] of decision.events) shell.events.emit(event, payload);
  // After the start, so that the state contains the instant of the new attempt.
  publish(shell, decision.attempt ? decideNow(shell) : decision);
  shell.events.emit('reconciled');
  // Last, because `provide` may listen to this abort and call the session.
  if (decision.isAttemptVoid) controller?.abort();
}

/** Show the state if anything in it has changed. Returns what is shown. */
export function publish(shell: Shell, { state, token }: Decision): Published {
  const { published } = shell;
  if (published && isSameState(state, published.state) && token === published.token) return published;
  // Before the log, because a logger may read the state, which would be published and logged again.
  shell.published = { state: Object.freeze(state), token };
  Object.freeze(state.next);
  if (!isSameFlat(state.next, published?.state.next)) shell.events.log(state.next);
  shell.events.emit('change');
  return shell.published;
}

/**
 * If the wall clock was set back, correct the instants of page and record. `clock.ts` detects the step, `clockSetBack` corrects
 * the record for all tabs, `pageClockSetBack` this page; `adopt` in `record-store.ts` follows a correction by another tab;
 * `serviceTime` covers a step while no page was open; `currentRetry` and `provideClaimed` ignore instants in the future. While the
 * record is being read or written, nothing is corrected: a later reconciliation finds the same step.
 */
export function followClock(shell: Shell): void {
  const backMs = isSettled(shell.page) ? followClockOnPage(shell) : 0;
  const { record } = shell.records;
  if (backMs && record.set) commit(shell, clockSetBack(record, backMs), HOST_CALL).catch(() => {});
}

/** Why there is no token now. */
export function noToken({ records, page, clock }: Shell): TokenError {
  return noTokenError(records.record, page, clock.now());
}

/**
 * Change the record; settles after the write.
 *
 * Erasing needs no consent: a logout and an opt-out are recorded at once, whatever the consent gate says. Everything else
 * waits for consent, and rejects if it is refused, or withdrawn meanwhile.
 *
 * @throws {TokenError} `no_consent`; `storage_failed` if neither a write nor an erasure could be confirmed, so that the next
 *   page may still find the previous user.
 */
export async function commit(shell: Shell, transition: Transition, options: UpdateOptions): Promise<void> {
  const { records, tabs, awaitingConsent, page } = shell;
  const needsConsent = !options.isErasure;
  if (needsConsent && page.consent === 'pending')
    return new Promise((resolve, reject) => {
      awaitingConsent.push((error) => (error ? reject(error) : resolve(commit(shell, transition, options))));
    });
  // Without consent, a call that gets here erases, or is refused below. It replaces the older calls that wait for consent.
  if (options.isHostCall && page.consent !== 'granted')
    releaseCalls(shell, new TokenError('no_consent', isDevelopment ? LATER_CALL : undefined));
  if (needsConsent && page.consent === 'refused') throw noToken(shell);
  const writing = records.update(transition, options);
  reconcile(shell);
  const isChanged = await writing;
  // Listeners do not wait for a store that has failed.
  reconcile(shell);
  const isConfirmed = await records.hostCallsConfirmed();
  if (isChanged) tabs.notify();
  // The page may call this while it is being left, for example in a listener for `pagehide`.
  if (shell.page.isAway) void disconnect(shell);
  if (needsConsent && shell.page.consent !== 'granted') throw noToken(shell);
  if (options.isHostCall && !isConfirmed)
    throw new TokenError('storage_failed', isDevelopment ? UNCONFIRMED : undefined);
}

/**
 * The page is away or closed: give up the attempt in progress, then release channel and connection. A logout that is being written,
 * and the end of the attempt, reach the other tabs first.
 */
export async function disconnect(shell: Shell): Promise<void> {
  const { records, tabs } = shell;
  shell.controller?.abort();
  reconcile(shell);
  await shell.attemptResult;
  await records.idle();
  await records.hostCallsConfirmed();
  if (!shell.page.isAway && !shell.page.isClosed) return;
  records.disconnect();
  tabs.disconnect();
}

/** Run the calls that wait for consent, or reject them with `error`. */
export function releaseCalls({ awaitingConsent }: Shell, error?: TokenError): void {
  for (const release of awaitingConsent.splice(0)) release(error);
}

/** Record an answer from outside: a set, by the transition `onSet`, or an opt-out, by the transition `onOptOut`. */
export async function commitAnswer(
  shell: Shell,
  answer: Answer,
  onSet: (set: TokenSet, now: number) => Transition,
  cause: Cause = 'set',
  onOptOut: (now: number) => Transition = optedOut,
): Promise<void> {
  followClock(shell);
  const now = shell.clock.now();
  if (answer === 'optout') await commit(shell, onOptOut(now), { ...ERASURE, cause });
  else await commit(shell, onSet(answer, now), { ...HOST_CALL, cause });
}

/** The page is shown, restored, thawed or online again. */
export function wake(shell: Shell): void {
  // The channel was closed when the page was left: connect again.
  if (shell.page.isAway) shell.tabs.notify(false);
  shell.page = wokeUp(shell.page, shell.clock.now());
  void readAgain(shell, false);
}

/** Read the stored record again, then reconcile. */
export async function readAgain(shell: Shell, isChanged: boolean): Promise<void> {
  if (!isActive(shell.page)) return;
  await shell.records.reload(isChanged);
  shell.page = waitEnded(shell.page, isChanged, shell.clock.now());
  reconcile(shell);
}

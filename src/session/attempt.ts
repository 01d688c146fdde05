/**
 * One attempt to get a token, of either kind: it takes the lease, asks the service or `provide`, and applies the outcome. Each of the
 * two writes is one atomic update of the record.
 *
 * `rules/` decides when an attempt starts.
 */

import { TokenError } from '../token/errors.ts';
import { parsePlainAnswer, type TokenSet } from '../token/token-set.ts';
import { withTimeout } from './async.ts';
import { refreshSet, retryAfterOf } from './browser/refresh-request.ts';
import type { createTabs } from './browser/tabs.ts';
import { explain } from './explain/entry.ts';
import type { Plan } from './rules/page.ts';
import { type Change, isSameSet, type SessionRecord } from './rules/record.ts';
import {
  attemptClaimed,
  attemptEnded,
  attemptFailed,
  DAY_MS,
  isLeased,
  type Pause,
  provideAnswered,
  refreshAnswered,
} from './rules/retry.ts';
import type { ShownRecord } from './shown-record.ts';
import type { Settings } from './types.ts';

/** How long other tabs wait for an attempt beyond its time limit, ms. */
export const OTHER_TAB_MARGIN_MS = 2_000;

/** What an attempt works with. */
export interface AttemptContext {
  readonly settings: Settings;
  readonly records: ShownRecord;
  readonly tabs: ReturnType<typeof createTabs>;
  /** The user of the page, hashed. */
  user: string | undefined;
  now(): number;
}

/** How an attempt ended. Without members: its outcome was applied or came too late, or it is too early to ask the service again. */
export interface Outcome {
  readonly error?: TokenError;
  /** Another tab has the lease until then, local epoch ms. */
  readonly otherTabUntil?: number;
  /** `provide` said that nobody is signed in. */
  readonly isNobody?: boolean;
  /** The tab had the lease. */
  readonly wasMade?: boolean;
}

/**
 * Make an attempt. Rejects only if a value that the page's code threw or returned cannot be read.
 *
 * @param asked   the record at its start.
 * @param signal  aborts the attempt, which then does not count.
 * @param pause   of the record if it fails.
 */
export function runAttempt(
  context: AttemptContext,
  plan: Plan,
  asked: SessionRecord,
  signal: AbortSignal,
  pause: Pause,
): Promise<Outcome> {
  const { settings, records, tabs, now } = context;
  return tabs.withLock(signal, async (hasLock): Promise<Outcome> => {
    // No caller is waiting any more.
    if (signal.aborted) return {};
    const ms = Math.min(settings.timeoutMs + OTHER_TAB_MARGIN_MS, DAY_MS);
    const lease = { id: Math.random(), at: now(), ms, isLocked: hasLock };
    const { after: claimed } = await records.change((record) => {
      // The device may have slept while this waited for the store, and another tab may have taken the lease.
      lease.at = now();
      return attemptClaimed(asked, plan, lease)(record);
    });
    const { lease: holder } = claimed;
    if (holder !== lease)
      return holder && isLeased(claimed, now(), hasLock) ? { otherTabUntil: holder.at + holder.ms } : {};
    const { change, ...outcome } = await ask(context, plan, claimed, signal, pause).catch((thrown) => {
      const error = thrown instanceof TokenError ? thrown : failure(plan, thrown);
      if (plan.kind === 'provide') explain?.warnIfNoSet('provide', error);
      return { change: attemptFailed(plan, error, pause, now()), error, isNobody: false };
    });
    // An attempt that nobody waits for does not count.
    const counted = signal.aborted ? UNCHANGED : change;
    const isFailure = 'error' in outcome;
    const { after } = await records.change(attemptEnded(claimed, counted, isFailure), { cause: plan.kind });
    // Other tabs may wait for the end of this attempt.
    tabs.notify();
    const isNobody = outcome.isNobody === true && isSameSet(after, claimed);
    return { ...outcome, isNobody, wasMade: true };
  });
}

const UNCHANGED: Change = (record) => record;

/** Ask the service or `provide`. Returns what came of it, as a change of the record. */
async function ask(
  { settings, user, now }: AttemptContext,
  { kind, need: reason = 'empty' }: Plan,
  claimed: SessionRecord,
  signal: AbortSignal,
  pause: Pause,
): Promise<Outcome & { readonly change: Change }> {
  const aborted = { change: UNCHANGED };
  if (signal.aborted) return aborted;
  if (kind === 'refresh') {
    const request = refreshSet(settings.baseUrl, settings.fetch, claimed.set as TokenSet, signal);
    const answer = await withTimeout(settings.timeoutMs, request, kind, signal);
    if (answer === 'aborted') return aborted;
    return { change: refreshAnswered(claimed, answer.result, answer.dateMs, pause, now()) };
  }
  // An async function, because `provide` may throw instead of rejecting, or return its answer instead of a promise.
  const asking = (async (): Promise<unknown> => settings.provide?.({ signal, reason }))();
  const given = await withTimeout(settings.timeoutMs, asking, kind, signal);
  if (given === 'aborted') return aborted;
  explain?.provided(given);
  // `provide` may have returned a `Response`.
  const { status, ok } = Object(given) as Response;
  // Only a number is an HTTP status: JSON may have a text as its `status`, and a message would quote it.
  if (ok === false && status > 0) throw provideError(given, true);
  const isNobody = given === null || given === undefined || status === 204;
  const answer = isNobody ? undefined : (explain?.parseAnswer ?? parsePlainAnswer)(given);
  return { change: provideAnswered(answer, user, pause, now()), isNobody };
}

/** A response of the publisher's server, or an object that looks like one. */
interface ServerAnswer {
  readonly status?: unknown;
  readonly headers?: Partial<Pick<Headers, 'get'>> | undefined;
}

/** Pass on no other error than a TokenError: the message of a parser, for example, may quote the rejected input. */
function failure({ kind }: Plan, thrown: unknown): TokenError {
  return kind === 'provide' ? provideError(thrown, false) : new TokenError('network');
}

/**
 * Why `provide` failed. What it threw may be the response itself, or contain it.
 *
 * @param isReturned  `provide` returned the response instead of throwing it.
 */
function provideError(thrown: unknown, isReturned: boolean): TokenError {
  const { status: own, headers, response } = Object(thrown) as ServerAnswer & { readonly response?: ServerAnswer };
  const status = [own, response?.status].find((value): value is number => Number.isInteger(value));
  const message = explain?.provideFault(thrown, status, isReturned);
  return new TokenError('provide_failed', message, {
    status,
    retryAfterMs: retryAfterOf(response?.headers ?? headers),
  });
}

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
  attemptAnswered,
  attemptClaimed,
  attemptEnded,
  attemptFailed,
  drawPause,
  type Found,
  isLeased,
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
  /** The lease that another tab has, by its id. */
  readonly otherLeaseId?: number;
  /** `provide` said that nobody is signed in. */
  readonly isNobody?: boolean;
}

/**
 * Make an attempt.
 *
 * @param asked   the record at its start.
 * @param signal  aborts the attempt, which then does not count.
 */
export async function runAttempt(
  context: AttemptContext,
  plan: Plan,
  asked: SessionRecord,
  signal: AbortSignal,
): Promise<Outcome> {
  const { settings, records, tabs, user, now } = context;
  const isLocked = await tabs.takeLock(signal);
  if (signal.aborted) return {};
  const pause = drawPause(settings);
  const lease = { id: Math.random(), at: 0, ms: settings.timeoutMs + OTHER_TAB_MARGIN_MS, isLocked };
  const { after: claimed } = await records.change((record) => {
    // The device may have slept while this waited for the store, and another tab may have taken the lease.
    lease.at = now();
    return attemptClaimed(asked, plan, lease)(record);
  });
  // This very object: a lease that was read from the store is another one.
  const { lease: holder } = claimed;
  if (holder !== lease) return holder && isLeased(claimed, now(), isLocked) ? { otherLeaseId: holder.id } : {};
  const { change, ...outcome } = await ask(context, plan, claimed.set, signal).then(
    (found): Outcome & { readonly change?: Change } =>
      found === 'aborted'
        ? {}
        : { change: attemptAnswered(claimed, plan, found, user, pause, now()), isNobody: !found.result },
    (thrown) => {
      const error = errorOf(plan, thrown);
      return { change: attemptFailed(plan, error, pause, now()), error };
    },
  );
  const ending = attemptEnded(claimed, signal.aborted ? undefined : change, !!outcome.error);
  const { after } = await records.change(ending, plan.kind);
  // Other tabs may wait for the end of this attempt.
  tabs.notify();
  // Another set: either this attempt has supplied it, or the outcome came too late. Neither leaves anything to report.
  return isSameSet(after, claimed) ? outcome : {};
}

/** Ask the service or `provide`, within the time limit. */
async function ask(
  { settings }: AttemptContext,
  { kind, need = 'empty' }: Plan,
  set: TokenSet | undefined,
  signal: AbortSignal,
): Promise<Found | 'aborted'> {
  const { baseUrl, fetch, provide, timeoutMs } = settings;
  if (signal.aborted) return 'aborted';
  if (kind === 'refresh')
    return withTimeout(timeoutMs, refreshSet(baseUrl, fetch, set as TokenSet, signal), kind, signal);
  // An async function, because `provide` may throw instead of rejecting, or return its answer instead of a promise.
  const asking = (async (): Promise<unknown> => provide?.({ signal, reason: need }))();
  const given = await withTimeout(timeoutMs, asking, kind, signal);
  if (given === 'aborted') return given;
  explain?.provided(given);
  // `provide` may have returned a `Response`.
  const { status, ok } = Object(given) as Response;
  // Only a number is an HTTP status: JSON may have a text as its `status`, and a message would quote it.
  if (ok === false && status > 0) throw provideError(given, true);
  const isNobody = given === null || given === undefined || status === 204;
  return { result: isNobody ? undefined : (explain?.parserOf('provide') ?? parsePlainAnswer)(given) };
}

/** A response of the publisher's server, or an object that looks like one. */
interface ServerAnswer {
  readonly status?: unknown;
  readonly headers?: Partial<Pick<Headers, 'get'>> | undefined;
}

/** Pass on no other error than a TokenError: the message of a parser, for example, may quote the rejected input. */
function errorOf({ kind }: Plan, thrown: unknown): TokenError {
  try {
    if (thrown instanceof TokenError) return thrown;
    if (kind === 'provide') return provideError(thrown, false);
  } catch {
    // Reading a value that the page's code threw may itself throw.
  }
  return new TokenError(kind === 'provide' ? 'provide_failed' : 'network', explain?.unreadable(kind));
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

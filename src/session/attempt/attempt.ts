/**
 * One attempt to get a token, of either kind: it takes the lease, asks the service or `provide`, and applies the outcome, each
 * time by one atomic update. `rules/` decides when.
 */

import { ignoreFailure, TokenError } from '../../token/errors.ts';
import { parsePlainAnswer, type TokenSet } from '../../token/token-set.ts';
import type { createTabs } from '../browser/tabs.ts';
import type { createEvents } from '../events.ts';
import { explain } from '../explain/entry.ts';
import type { ShownRecord } from '../record/shown-record.ts';
import { attemptClaimed, attemptEnded, type Outcome } from '../rules/attempt-changes.ts';
import type { Attempt, PageState } from '../rules/page-state.ts';
import { isSameSet, type SessionRecord } from '../rules/record.ts';
import { drawPause, type Plan } from '../rules/retry.ts';
import { withTimeout } from '../timeout.ts';
import type { Settings } from '../types.ts';
import { refreshSet, retryAfterOf } from './refresh-request.ts';

/** A request ends when it is answered, fails, is made void or its page is left; otherwise after this time, ms. */
const REQUEST_MS = 60_000;

/** A worker whose page is left ends within this time after its requests, ms. */
const WORKER_MS = 500;

/** The connection of an older request may be lost when the page wakes up or is online again, ms. */
const OLD_MS = 10_000;

const VOID: Outcome = { kind: 'void' };

export interface AttemptContext extends Pick<PageState, 'user' | 'otherLeaseId' | 'isAway' | 'isClosed'> {
  readonly settings: Settings;
  readonly events: ReturnType<typeof createEvents>;
  readonly shown: ShownRecord;
  readonly tabs: ReturnType<typeof createTabs>;
  now(): number;
}

/** `asked`: the record at the start of the attempt. An attempt that is aborted does not count. */
export async function runAttempt(
  context: AttemptContext,
  { id, plan }: Attempt,
  asked: SessionRecord,
  signal: AbortSignal,
): Promise<Outcome> {
  const { settings, shown, tabs, user, now } = context;
  const isLocked = await tabs.takeLock(id, signal);
  const { lease: other } = asked;
  const goneId = other?.isLocked && (await tabs.takeLock(other.id, signal)) ? other.id : undefined;
  if (signal.aborted) return VOID;
  const pause = drawPause(settings);
  const lease = { id, at: 0, isLocked };
  const { after: claimed } = await shown.update((record, found) => {
    // The device may have slept while this waited for the store, and another tab may have taken the lease.
    if (!found) lease.at = now();
    return attemptClaimed(asked, plan, lease, pause, goneId)(record, found);
  });
  // Compared as objects: a lease that was read from the store is never the object that was created here.
  const { lease: holder } = claimed;
  if (holder !== lease) {
    context.otherLeaseId = holder?.id === goneId ? undefined : holder?.id;
    return VOID;
  }
  const outcome = await ask(context, plan, claimed.set, signal).catch(
    (thrown): Outcome => ({ kind: 'failed', error: errorOf(plan, thrown, settings.baseUrl) }),
  );
  const end = attemptEnded(claimed, plan, signal.aborted ? VOID : outcome, user, pause, now());
  // A page that is left must not write: in WebKit, that blocks the store for the next page. Its Web Lock is
  // released, which tells other tabs that the lease is over.
  const mayWrite = !signal.aborted || !(context.isAway || (context.isClosed && isLocked));
  const after = mayWrite ? (await shown.update(end, plan.kind)).after : claimed;
  // Other tabs may wait for the end of this attempt.
  tabs.notify(true);
  // If there is another set, this attempt has supplied it, or the outcome came too late: there is nothing to report.
  return isSameSet(after, claimed) ? outcome : VOID;
}

/** Ask the service or `provide`. An abort rejects. */
async function ask(
  context: AttemptContext,
  { kind, need = 'empty' }: Plan,
  set: TokenSet | undefined,
  signal: AbortSignal,
): Promise<Outcome> {
  const { baseUrl, fetch, provide } = context.settings;
  const withinRequestTime = <T>(work: () => T | PromiseLike<T>) =>
    withTimeout(REQUEST_MS, () => unlessLeft(context, kind, work, signal), kind);
  if (kind === 'refresh') return withinRequestTime(() => refreshSet(baseUrl, fetch, set as TokenSet, signal));
  const given = await withinRequestTime<unknown>(() => provide?.({ signal, reason: need }));
  explain?.checkProvided(given);
  const { status, ok } = Object(given) as Response;
  // Only a number is an HTTP status: JSON may have a text as its `status`, and a message would quote it.
  if (ok === false && status > 0) throw given;
  if (given === null || status === 204) return { kind: 'nobody' };
  return { kind: 'answered', answer: (explain?.parserOf('provide') ?? parsePlainAnswer)(given) };
}

/**
 * Firefox and Safari end the requests of a page at the start of a navigation, before `pagehide`. That is no failure of the
 * service: the attempt goes on until the page is gone or, if it stays, until the time limit.
 */
function unlessLeft<T>(
  { events, now }: AttemptContext,
  kind: string,
  work: () => T | PromiseLike<T>,
  signal: AbortSignal,
): Promise<T> {
  const startedAt = now();
  let isLeft = false;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject();
    const onUnload = () => {
      isLeft = true;
    };
    // Only during an attempt: Firefox does not keep a page that listens for this event in its back/forward cache.
    globalThis.addEventListener?.('beforeunload', onUnload);
    const off = events.on('woken', () => {
      if (now() - startedAt > OLD_MS) reject(new TokenError('timeout', explain?.wokenReason(kind)));
    });
    // Not the property `onabort`: the host's `provide` may set that on the same signal.
    signal.addEventListener('abort', () => {
      reject();
      off();
      globalThis.removeEventListener?.('beforeunload', onUnload);
    });
    Promise.resolve(work()).then(resolve, (error) => {
      // A worker does not hear that it is about to be ended.
      if ('WorkerGlobalScope' in globalThis) setTimeout(reject, WORKER_MS, error);
      else if (!isLeft) reject(error);
    });
  });
}

/** A response of the publisher's server, or an object that looks like one. */
interface ServerAnswer {
  readonly status?: unknown;
  readonly headers?: Partial<Pick<Headers, 'get'>> | undefined;
}

/**
 * What `provide` threw may be the response itself, or contain it. Nothing but a TokenError is passed on: the message of a parser
 * may quote the rejected input.
 */
function errorOf({ kind }: Plan, thrown: unknown, baseUrl: string): TokenError {
  // Reading a value that the page's code threw may itself throw.
  const error = ignoreFailure(() => {
    if (thrown instanceof TokenError) return thrown;
    if (kind === 'refresh') return new TokenError('network', explain?.noAnswerReason(baseUrl, thrown));
    const { status: own, headers, response } = Object(thrown) as ServerAnswer & { readonly response?: ServerAnswer };
    const status = Number(own ?? response?.status) || undefined;
    const retryAfterMs = retryAfterOf(response?.headers ?? headers);
    return new TokenError('provide_failed', explain?.provideFault(thrown, status), { status, retryAfterMs });
  });
  return error ?? new TokenError(kind === 'refresh' ? 'network' : 'provide_failed', explain?.unreadableFault(kind));
}

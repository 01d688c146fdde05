/**
 * One attempt to get a token: a call of `provide`, or a refresh as the only tab.
 *
 * An attempt returns an outcome. When to start one and what follows from its outcome is decided elsewhere; what it must
 * write while it holds the lock, it asks of its ports.
 */

import { isDevelopment } from '../token/development.ts';
import { TokenError } from '../token/errors.ts';
import type { Answer, TokenSet } from '../token/token-set.ts';
import type { RefreshAnswer } from './browser/refresh-request.ts';
import type { LockResult } from './browser/tabs.ts';
import { parseGiven, warnIfNoSet } from './given-answer.ts';
import type { ProvideOption, ProvideRequest } from './options.ts';
import { htmlFault, pathOf, provideFault, responseFault } from './provide-fault.ts';
import type { AttemptPlan, ProvidePlan, RefreshPlan } from './rules/page-state.ts';
import type { SessionRecord } from './rules/record.ts';
import type { Claim } from './rules/refresh.ts';
import { withTimeout } from './timeout.ts';

/** How an attempt ended. */
export type Outcome =
  /** The service or `provide` answered, and the answer is written. */
  | { readonly type: 'answered' }
  /** Another tab is refreshing, or calls `provide`. */
  | { readonly type: 'other_tab' }
  /** Nothing was sent: the attempt was aborted, the set is another one by now, or it is too early to ask the service again. */
  | { readonly type: 'superseded' }
  /** It failed; `sent` is absent if nothing was sent. */
  | { readonly type: 'failed'; readonly error: TokenError; readonly sent?: SessionRecord | undefined };

/** What an attempt needs of the session around it. */
export interface AttemptPorts {
  readonly timeoutMs: number;
  readonly provide: ProvideOption | undefined;
  withLock<T>(work: (lock: LockResult) => Promise<T>): Promise<T>;
  /** Read the record again and, in the same atomic update, note that an attempt starts. */
  claim(isExplicit: boolean, hasLock: boolean): Promise<Claim>;
  send(set: TokenSet, signal: AbortSignal): Promise<RefreshAnswer>;
  /**
   * Read the record again: whether it still needs a set. Without the Web Lock the record has a lease: `other_tab` if another
   * tab holds it.
   */
  claimProvide(hasLock: boolean): Promise<'claimed' | 'other_tab' | 'superseded'>;
  /** Release the lease. */
  releaseProvide(): Promise<unknown>;
  /** Write what `provide` returned, unless it is late; undefined: nobody is signed in. */
  recordProvided(answer: Answer | undefined): Promise<void>;
  /** Write the service's answer to `sent`. */
  write(sent: SessionRecord, answer: RefreshAnswer): Promise<void>;
}

/**
 * Run an attempt; never rejects.
 *
 * @param signal  aborts it: the outcome is `failed` or `superseded` then.
 */
export function runAttempt(plan: AttemptPlan, ports: AttemptPorts, signal: AbortSignal): Promise<Outcome> {
  return ports.withLock(async (lock): Promise<Outcome> => {
    // Nobody waits for the lock any more.
    if (signal.aborted) return { type: 'superseded' };
    if (lock === 'taken' && !plan.ignoresLock) return { type: 'other_tab' };
    const hasLock = lock === 'held';
    return plan.kind === 'provide' ? callProvide(plan, ports, signal, hasLock) : refresh(plan, ports, signal, hasLock);
  });
}

async function callProvide(
  { reason }: ProvidePlan,
  ports: AttemptPorts,
  signal: AbortSignal,
  hasLock: boolean,
): Promise<Outcome> {
  const { provide, timeoutMs } = ports;
  try {
    // Another tab may have brought a set before this one obtained the lock.
    const claim = await ports.claimProvide(hasLock);
    if (claim !== 'claimed') return { type: claim };
    try {
      // While the store was read, consent may have been withdrawn, or the session closed.
      if (signal.aborted) return { type: 'superseded' };
      const answer = await withTimeout(timeoutMs, ask(provide, { signal, reason }), 'provide', signal);
      // It may be a response, with its status.
      const response = Object(answer) as Response;
      const { status, ok } = response;
      if (isDevelopment && ok) throwIfPage(response);
      if (ok === false && status) throw responseFault(pathOf(response), status);
      const isNobody = answer === null || answer === undefined || status === 204;
      await ports.recordProvided(isNobody ? undefined : parseGiven(answer));
      return { type: 'answered' };
    } finally {
      if (!hasLock) await ports.releaseProvide();
    }
  } catch (error) {
    if (isDevelopment) warnIfNoSet('provide', error);
    return { type: 'failed', error: provideFault(error) };
  }
}

/** Call `provide`; rejects with a TokenError, or with the error that reading what it threw has caused. */
async function ask(provide: ProvideOption | undefined, request: ProvideRequest): Promise<unknown> {
  try {
    return await provide?.(request);
  } catch (thrown) {
    throw provideFault(thrown);
  }
}

/** A login page, or another one, is no answer of `provide`. */
function throwIfPage(response: Response): void {
  const fault = htmlFault(pathOf(response), response);
  if (fault) throw fault;
}

async function refresh(
  { isExplicit }: RefreshPlan,
  ports: AttemptPorts,
  signal: AbortSignal,
  hasLock: boolean,
): Promise<Outcome> {
  const { timeoutMs } = ports;
  let sent: SessionRecord | undefined;
  try {
    const claim = await withTimeout(timeoutMs, ports.claim(isExplicit, hasLock), 'the store', signal);
    if (claim.type !== 'claimed') return claim;
    sent = claim.record;
    const answer = await withTimeout(timeoutMs, ports.send(claim.set, signal), 'refresh', signal);
    await ports.write(sent, answer);
    return { type: 'answered' };
  } catch (error) {
    // Whatever is not of our making is not passed on: a parser quotes what it rejects.
    const own = error instanceof TokenError ? error : new TokenError('network', 'refresh failed');
    return { type: 'failed', error: own, sent };
  }
}

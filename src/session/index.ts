/**
 * The session: what a page runs, the errors it rejects with, the stores it may use.
 *
 * Where to look:
 * - the public methods: `session.ts`; what follows from a change or an event: `reconcile.ts`
 * - an answer that comes too late: `attemptEnded` in `rules/retry.ts`, `voided` in `reconcile.ts`
 * - several tabs at once: `attemptClaimed` and `isLeased` in `rules/retry.ts`, `runAttempt` in `attempt.ts`; the Web Lock:
 *   `browser/tabs.ts`
 * - why an attempt waits: `WaitReason` in `rules/record.ts` (all tabs), `waitOf` in `rules/decide.ts` (this page)
 * - why there is no token: `whyNoToken` in `rules/decide.ts`; in words, `noTokenReason` in `explain/no-token.ts`
 * - a clock that was set back: within a page `createClock` in `browser/page.ts`; across pages `serviceTime` in `rules/record.ts` and
 *   `isFuture` in `rules/retry.ts`; one that differs from the service's: `refreshed` in `rules/retry.ts`
 * - a store that fails: `shown-record.ts`; a database that is closed or damaged: `browser/store.ts`
 */
export type { ErrorCode, TokenErrorDetails } from '../token/errors.ts';
export { isTokenError, TokenError } from '../token/errors.ts';
export type { Phase } from '../token/phase.ts';
export type { TokenAnswer, WireTokenSet } from '../token/token-set.ts';
export type { Store } from './browser/store.ts';
export { indexedDbStore, memoryStore } from './browser/store.ts';
export type {
  Cause,
  EventName,
  NeedReason,
  NextReason,
  NextStep,
  SessionEvents,
  SessionState,
} from './rules/page.ts';
export type { WaitReason } from './rules/record.ts';
export { createSession } from './session.ts';
export type { Listener, ProvideOption, ProvideRequest, Session, SessionOptions } from './types.ts';

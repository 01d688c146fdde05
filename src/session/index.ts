/**
 * The session: what a page runs, the errors it rejects with, the stores it may use.
 *
 * Where to look:
 * - the public methods: `createSession` in `session.ts`; what takes more than one step: `calls.ts`
 * - what follows from a change or an event: `reconcile` in `reconcile.ts`; what the page sees: `publish` in `core.ts`
 * - a change of the host: `commit` in `commit.ts`, `rules/host-changes.ts`; how it shows before it is written: `shown-record.ts`
 * - an answer that comes too late: `attemptEnded` in `rules/attempt-changes.ts`, `voided` in `reconcile.ts`
 * - several tabs at once: `attemptClaimed` in `rules/attempt-changes.ts`, `isLeased` in `rules/retry.ts`, `runAttempt` in `attempt.ts`;
 *   messages and the Web Lock: `createTabs` in `browser/tabs.ts`
 * - why an attempt waits: `WaitReason` in `rules/record.ts` (all tabs), `waitOf` in `rules/decide.ts` (this page)
 * - why there is no token: `whyNoToken` in `rules/decide.ts`; in words, `noTokenReason` in `explain/no-token.ts`
 * - a clock that was set back: within a page `createClock` in `browser/clock.ts`; across pages `serviceTime` in `rules/record.ts` and
 *   `isFuture` in `rules/retry.ts`; one that differs from the service's: `refreshed` in `rules/attempt-changes.ts`
 * - a store that fails: `createAccess` in `shown-record.ts`; a database that is closed or damaged: `openDatabase` in `browser/store.ts`
 */
export type { ErrorCode, TokenErrorDetails } from '../token/errors.ts';
export { isTokenError, TokenError } from '../token/errors.ts';
export type { Phase } from '../token/phase.ts';
export type { TokenAnswer, WireTokenSet } from '../token/token-set.ts';
export type { Store } from './browser/store.ts';
export { indexedDbStore, memoryStore } from './browser/store.ts';
export type { Cause } from './rules/page-state.ts';
export type { WaitReason } from './rules/record.ts';
export type { NeedReason } from './rules/retry.ts';
export type { EventName, SessionEvents } from './rules/session-events.ts';
export type { NextReason, NextStep, SessionState } from './rules/state.ts';
export { createSession } from './session.ts';
export type { Listener, ProvideOption, ProvideRequest, Session, SessionOptions } from './types.ts';

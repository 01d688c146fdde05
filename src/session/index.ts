/** `tessera-id`: the session that a page runs, the errors it rejects with, the stores it may use. */
export type { ErrorCode, TokenErrorDetails } from '../token/errors.ts';
export { isTokenError, TokenError } from '../token/errors.ts';
export type { Phase } from '../token/phase.ts';
export type { TokenAnswer, WireTokenSet } from '../token/token-set.ts';
export type { Store } from './browser/store.ts';
export { indexedDbStore, memoryStore } from './browser/store.ts';
export type { ProvideOption, ProvideRequest, SessionOptions } from './options.ts';
export type { NeedReason } from './rules/attempt-plan.ts';
export type { Cause } from './rules/page-state.ts';
export type { EventName, NextReason, NextStep, SessionEvents, SessionState } from './rules/public-state.ts';
export type { WaitReason } from './rules/retry.ts';
export { createSession } from './session.ts';
export type { Listener, Session } from './types.ts';

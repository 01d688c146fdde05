/** The session: what a page runs, the errors it rejects with, the stores it may use. CONTRIBUTING.md says what is where. */
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

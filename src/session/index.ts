/** The session: what a page runs, the errors it rejects with, the stores it may use. */
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

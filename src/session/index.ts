/** `tessera-id`: the session that a page runs, the errors it rejects with, the stores it may use. */
export type { ErrorCode, TokenErrorDetails } from '../token/errors.ts';
export { isTokenError, TokenError } from '../token/errors.ts';
export type { Phase } from '../token/phase.ts';
export type { Session, SessionState } from './contract.ts';
export type { Cause, EventName, Listener, NeedReason, SessionEvents } from './events.ts';
export type { ProvideRequest, SessionOptions } from './options.ts';
export { createSession } from './session.ts';
export type { Store } from './store.ts';
export { indexedDbStore, memoryStore } from './store.ts';

/** What a session is to those who use it. Types only. */

import type { TokenError } from '../token/errors.ts';
import type { Phase } from '../token/phase.ts';
import type { EventName, Listener } from './events.ts';

/** What a session shows of itself: the same frozen object until something changes; holds no token. */
export interface SessionState {
  readonly phase: Phase;
  /** When a refresh is due; this and the next two are epoch ms in the service's time. */
  readonly refreshAt?: number | undefined;
  /** When the advertising token expires. */
  readonly expiresAt?: number | undefined;
  /** When the refresh token expires. */
  readonly endsAt?: number | undefined;
  /** Where the record lives: `indexeddb`, `memory`, or the `kind` of the given store (`custom` where it has none). */
  readonly persistence: string;
  /** What stands between now and a token. */
  readonly waitingFor?: 'consent' | 'storage' | 'provide' | 'refresh' | undefined;
  /** The last failure; gone once another set is in force. */
  readonly lastError?: TokenError | undefined;
  /** The service's clock minus this device's, ms, where it is known to be off. */
  readonly clockOffsetMs?: number | undefined;
}

/**
 * Keeps one token set alive. Promises settle in bounded time, but for those that wait for consent, which end with it or
 * with `close()`. An ignored one causes no unhandled rejection.
 */
export interface Session {
  /** Stored state is loaded, or given up on (1.5 s). Never rejects. While consent is pending it resolves with nothing loaded. */
  readonly ready: Promise<void>;
  /** The token in force: never an expired one, never an opted-out user's. Undefined until the stored state is known. */
  readonly advertisingToken: string | undefined;
  readonly state: SessionState;
  /**
   * The token in force, in the same task; else the one that `provide` or a refresh brings.
   *
   * @param options.timeoutMs  how long to wait for it; default: the session's `timeoutMs`.
   * @throws {TokenError} `opted_out`, `no_token`, `no_consent`, `timeout`, `closed`, or what the try failed with.
   */
  getToken(options?: { timeoutMs?: number | undefined }): Promise<string>;
  /**
   * Supply a set. The token changes at once where the stored state is known; the promise settles after the write. Before
   * the decision about consent set and promise wait for it, also over a refusal that is followed by consent.
   *
   * @param answer  a generate answer `{ status, body }`, its body, or `{ status: 'optout' }`.
   * @throws {TokenError} `invalid_token_set` (nothing has changed), `no_consent` (denied before, or withdrawn), `closed`.
   */
  setTokens(answer: unknown): Promise<void>;
  /**
   * Log out, in all tabs. An opt-out outlives it. Settles after the write.
   *
   * @param options.forget  also forget which sets there were: nothing that tells of the user is left, but a page from a
   *   cache may then bring its set back.
   */
  clear(options?: { forget?: boolean | undefined }): Promise<void>;
  /**
   * Refresh now, or ask `provide` where there is nothing to refresh; one request in all tabs. Settles after the write.
   *
   * @throws {TokenError} what the try failed with; `no_token` where there is nothing to refresh and nobody to ask.
   */
  refresh(): Promise<void>;
  /** Listen to an event; returns the unsubscribe function. */
  on<E extends EventName>(event: E, listener: Listener<E>): () => void;
  /** Be called after any change of `state` or of the token; returns the unsubscribe function. */
  subscribe(listener: () => unknown): () => void;
  /** Stop: no timer, listener, lock or connection is left. What is stored stays. */
  close(): void;
}

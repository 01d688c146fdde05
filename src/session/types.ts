/** What a session is to those who use it. Types only. */

import type { TokenAnswer } from '../token/token-set.ts';
import type { EventName, SessionEvents, SessionState } from './rules/public-state.ts';

/** What `session.on` calls; a promise that it returns may reject. */
export type Listener<E extends EventName> = (payload: SessionEvents[E]) => unknown;

/**
 * Keeps one token set alive. In the development build every method throws a TypeError at once for a wrong argument; in production
 * only `setTokens` and `signIn` do. Every promise settles in bounded time, except those that wait for consent, which settle with
 * the answer or with `close()`. An ignored one causes no unhandled rejection.
 */
export interface Session {
  /**
   * The stored state is loaded or given up on (1.5 s); never rejects. While consent is pending it resolves with nothing
   * loaded.
   */
  readonly ready: Promise<void>;
  /** The token in force: never an expired one, never an opted-out user's. Undefined until the stored state is known. */
  readonly advertisingToken: string | undefined;
  /** A frozen snapshot: the same object until something changes. */
  readonly state: SessionState;
  /**
   * Get the token in force at once, or wait for the one that `provide` or a refresh brings.
   *
   * @param options.timeoutMs  how long to wait, ms. Default: the session's `timeoutMs`.
   * @throws {TokenError} `opted_out`, `no_token` (nobody is signed in, or there is no `provide`), `no_consent`, `timeout`,
   *   `refresh_rejected`, `closed`, or what the attempt failed with.
   * @example const token = await session.getToken({ timeoutMs: 500 });
   */
  getToken(options?: { timeoutMs?: number | undefined }): Promise<string>;
  /**
   * Supply a set. The token changes at once if the stored state is known; the promise settles after the write. Before the
   * decision about consent, set and promise wait for it, even over a refusal that is followed by consent; a logout or an
   * opt-out that comes meanwhile drops them.
   *
   * @param answer        a generate answer `{ status, body }`, its body, or `{ status: 'optout' }`.
   * @param options.user  whose set it is, as the option `user` of the session. Default: the user for whom the session waits for
   *   a set; a set that replaces another one belongs to no known user.
   * @throws {TypeError} at once, for options other than `user`, and for a `user` that is not a string.
   * @throws {TokenError} `invalid_token_set` (nothing has changed), `no_consent` (refused before, withdrawn,
   *   or dropped by a logout before consent), `closed`;
   *   `storage_failed` if the write was given up on and the next page may find the previous user.
   * @example await session.setTokens(await response.json());
   */
  setTokens(answer: TokenAnswer, options?: { user?: string | undefined }): Promise<void>;
  /**
   * Log out, in all tabs. An opt-out outlives a logout. Settles after the write.
   *
   * @param options.forget  also forget which sets there were: nothing that identifies the user is left, but a page from a
   *   cache may then bring its set back. Default false.
   * @throws {TokenError} `storage_failed` if neither a write nor an erasure could be confirmed, so that the next page may find
   *   the previous user; `closed`.
   * @example await session.clear();
   */
  clear(options?: { forget?: boolean | undefined }): Promise<void>;
  /**
   * Refresh now, or call `provide` if there is nothing to refresh; one request in all tabs. Settles after the write. It keeps
   * the user: after a sign-in call {@link Session.signIn} or `setTokens`.
   *
   * @throws {TokenError} what the attempt failed with: `network`, `timeout`, `http_status`, `malformed_response`,
   *   `decrypt_failed`, `provide_failed`, `invalid_token_set` or `storage_failed`; `refresh_rejected` or `opted_out` by the
   *   service's answer; `no_token` if there is nothing to refresh and no `provide`, if nobody is signed in, or if the page is
   *   being left; `no_consent`; `closed`; `timeout` if another tab is refreshing and has brought no newer set; `network` if
   *   `Retry-After` or the budget of attempts forbids one now.
   * @example await session.refresh();
   */
  refresh(): Promise<void>;
  /**
   * Somebody has signed in: end the set in force at once, in all tabs, then ask `provide`, whoever was signed in before.
   * `refresh()` would refresh the previous user's set. A page that has the new set already calls `setTokens` instead.
   *
   * @param options.user  who has signed in, as the option `user` of the session. Default: not known.
   * @throws {TypeError} at once, for a `user` that is not a string.
   * @throws {TokenError} as {@link Session.refresh}; the former set is gone in any case. `storage_failed` as
   *   {@link Session.clear}: `provide` was not asked.
   * @example form.addEventListener('submit', async () => { await signInOnServer(); await session.signIn(); });
   */
  signIn(options?: { user?: string | undefined }): Promise<void>;
  /**
   * Note that the token goes to a cache outside of the session, one that outlives the page: for adapters of ad platforms. The
   * record remembers for whom that cache was filled, even over pages without the adapter.
   *
   * @returns true if the cache may still hold the token of a previous user (a switch of user, a logout or an opt-out has come
   *   since): clear it.
   * @throws {TokenError} `no_consent`, `closed`.
   * @example if (await session.noteSignal()) cache.clear();
   */
  noteSignal(): Promise<boolean>;
  /**
   * Listen to an event; returns the unsubscribe function.
   *
   * @example const off = session.on('token', ({ advertisingToken }) => bid(advertisingToken));
   */
  on<E extends EventName>(event: E, listener: Listener<E>): () => void;
  /** Be called after any change of `state` or of the token; returns the unsubscribe function. */
  subscribe(listener: () => unknown): () => void;
  /** Stop: no timer, listener, lock or connection is left. What is stored stays. */
  close(): void;
}

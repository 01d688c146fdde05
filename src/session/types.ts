/** The public types of a session: its options and its methods. Nothing here exists at run time. */

import type { TokenAnswer } from '../token/token-set.ts';
import type { Store } from './browser/store.ts';
import type { NeedReason } from './rules/retry.ts';
import type { EventName, SessionEvents } from './rules/session-events.ts';
import type { SessionState } from './rules/state.ts';

/** What `provide` receives. */
export interface ProvideRequest {
  /** Aborted once the answer is no longer needed: it is late, another set has arrived, or the session was closed. */
  readonly signal: AbortSignal;
  /** Why a set is needed. */
  readonly reason: NeedReason;
}

/**
 * Asks the publisher's server for a set. null: nobody is signed in.
 *
 * @example
 * const provide: ProvideOption = async ({ signal }) => {
 *   const response = await fetch('/token', { method: 'POST', signal });
 *   if (!response.ok) throw response; // the error reports the HTTP status
 *   return response.status === 204 ? null : response.json();
 * };
 */
export type ProvideOption = (request: ProvideRequest) => Promise<TokenAnswer | null>;

/** Options of `createSession`. Only `baseUrl` is required. */
export interface SessionOptions {
  /** The operator: https; http for localhost, or for every host with `allowInsecure`. */
  baseUrl: string;
  /** One identity per name: the names of the database, lock and channel contain it. Default `tessera`. */
  name?: string | undefined;
  /**
   * A set that was rendered into the page, in the forms that `setTokens` accepts. It counts if its `identity_expires` is later than that
   * of every set before it: a page from a cache may contain an old one.
   */
  tokens?: TokenAnswer | null | undefined;
  /**
   * The user for whom the page was rendered: an opaque label, for example an account ID; null if nobody is signed in. A stored set with
   * another label, or without one, is ended at once, in all tabs. With null, a stored set that has a label is ended. Only a short hash
   * of the label is stored. Default: no label, and no such check.
   */
  user?: string | null | undefined;
  /** Asks the publisher's server for a set, in the forms that `setTokens` accepts. null or a 204 response: nobody is signed in. */
  provide?: ProvideOption | undefined;
  /**
   * Whether storage and network are allowed; `onChange(granted)` reports later changes. Until the answer is true, neither is used. If
   * it throws, rejects, or returns anything but a boolean, there is no consent, and the session emits `error` (`no_consent`).
   */
  consent?: ((onChange: (granted: boolean) => void) => boolean | Promise<boolean>) | undefined;
  /**
   * `off`: a native host or another owner refreshes, and this page adopts its sets. The session relies on that owner: a set passed to
   * `setTokens` lifts an opt-out. Default `auto`.
   */
  refresh?: 'auto' | 'off' | undefined;
  /** Default: the global `fetch`, looked up at each call. */
  fetch?: typeof globalThis.fetch | undefined;
  /** Default: IndexedDB. */
  store?: Store | undefined;
  /**
   * The local clock, epoch ms. Default: `Date.now`, without its steps back on an open page. If the clock of another tab is ahead, the
   * session follows that one.
   */
  now?: (() => number) | undefined;
  /**
   * How long `getToken` and `refresh()` wait, ms. Default 10,000. A refresh or a call of `provide` ends after 60 s at the latest, and its
   * answer counts until then.
   */
  timeoutMs?: number | undefined;
  /** The pause after a failure of the network, the service or `provide`: it doubles from `firstMs` (5,000) to `maxMs` (300,000), ms, and is at least a second. */
  retry?: { firstMs?: number | undefined; maxMs?: number | undefined } | undefined;
  /**
   * `debug('tessera', what)` receives every value of `state.next` (an object), and each background failure (a TokenError). You can pass
   * `console`. Neither contains a token, key or DII. Default: none.
   */
  logger?: { debug(message: string, ...more: unknown[]): void } | undefined;
  /** Without `logger`: print with `console.log` what a logger would receive, including every change of `state.next`. */
  debug?: boolean | undefined;
  /** Allow http to any host. */
  allowInsecure?: boolean | undefined;
}

/** The options, with every default filled in; those of `retry` are members too. */
export interface Settings extends SessionOptions, Required<NonNullable<SessionOptions['retry']>> {
  name: string;
  timeoutMs: number;
  firstMs: number;
  maxMs: number;
}

/** A listener of `session.on`. What it throws, or rejects with, is reported as by an EventTarget (`reportError`). The session goes on. */
export type Listener<E extends EventName> = (payload: SessionEvents[E]) => unknown;

/**
 * Keeps one token set valid. In the development build, every method throws a TypeError at once for an invalid argument; in production,
 * only `setTokens` and `signIn` do. Every promise settles in bounded time, except one that waits for consent: it settles when consent
 * is given, when a later call replaces it, or at `close()`. A rejection that the page does not handle is not reported as an unhandled
 * rejection.
 */
export interface Session {
  /**
   * Resolves when the stored state is loaded, or after 1.5 s; at once while consent is pending. Never rejects.
   */
  readonly ready: Promise<void>;
  /** The current token: never an expired one, or that of an opted-out user. Undefined until one is known. */
  readonly advertisingToken: string | undefined;
  /** A frozen snapshot: the same object until something changes. */
  readonly state: SessionState;
  /**
   * Get the current token at once, or wait for the one from `provide` or a refresh.
   *
   * @param options.timeoutMs  how long to wait, ms. Default: the session's `timeoutMs`.
   * @throws {TokenError} `opted_out`, `no_token` (nobody is signed in, or there is no `provide`), `no_consent`, `timeout`,
   *   `refresh_rejected`, `closed`, or the error of the failed attempt.
   * @example const token = await session.getToken({ timeoutMs: 500 });
   */
  getToken(options?: { timeoutMs?: number | undefined }): Promise<string>;
  /**
   * Supply a set. The token changes at once if the stored state is known; the promise settles after the write. While consent is
   * pending, the set is held and the promise does not settle, even if consent is first refused and then given. A logout or an opt-out
   * in the meantime discards the set.
   *
   * @param answer        a generate response `{ status, body }`, its body, or `{ status: 'optout' }`.
   * @param options.user  the label of the set's user, as in the session's option `user`. Default: the label of this page, from the
   *   option `user` or the last `signIn` or `setTokens`, if it has one.
   * @throws {TypeError} at once, for options other than `user`, and for a `user` that is not a string.
   * @throws {TokenError} `invalid_token_set` (nothing has changed); `no_consent` (consent was refused before the call or
   *   withdrawn, or the set was discarded before consent); `closed`; `storage_failed` if the write was not confirmed and the next
   *   page may still find the previous user.
   * @example await session.setTokens(await response.json());
   */
  setTokens(answer: TokenAnswer, options?: { user?: string | undefined }): Promise<void>;
  /**
   * Log out, in all tabs. The tombstone of an opt-out stays. Settles after the write.
   *
   * @param options.forget  also forget until when earlier sets were valid. Nothing about the user is left, but a cached page may then
   *   restore its set. Default false.
   * @throws {TokenError} `storage_failed` if neither a write nor an erasure could be confirmed, so that the next page may still find
   *   the previous user; after 10 s without an answer of the store, which is still carried out when it answers; `closed`.
   */
  clear(options?: { forget?: boolean | undefined }): Promise<void>;
  /**
   * Refresh now, or call `provide` if there is nothing to refresh. All tabs together make one request. Settles after the write. It
   * keeps the user: after sign-in, call {@link Session.signIn} or `setTokens`.
   *
   * @throws {TokenError} the error of the failed attempt: `network`, `timeout`, `http_status`, `malformed_response`,
   *   `decrypt_failed`, `provide_failed` or `invalid_token_set`; `refresh_rejected` or `opted_out` if the service says so;
   *   `no_token` if there is nothing to refresh and no `provide`, if nobody is signed in, or if the user is leaving the page;
   *   `no_consent`; `closed`; `timeout` if another tab is refreshing and has stored no newer set; `network` if the service
   *   has asked for a longer pause (`Retry-After`). Nothing delays a call of `provide`.
   */
  refresh(): Promise<void>;
  /**
   * Call this after sign-in: it ends the current set at once, in all tabs, then calls `provide`. Do not call `refresh()` instead: that
   * refreshes the previous user's set. A page that already has the new set calls `setTokens`.
   *
   * @param options.user  the label of the user who has signed in, as in the session's option `user`. Default: no label.
   * @throws {TypeError} at once, for a `user` that is not a string.
   * @throws {TokenError} as {@link Session.refresh}; the previous set is ended in any case. `storage_failed` as in {@link
   *   Session.clear}; `provide` was called all the same.
   * @example form.addEventListener('submit', async () => { await signInOnServer(); await session.signIn(); });
   */
  signIn(options?: { user?: string | undefined }): Promise<void>;
  /** Listen to an event, `session.on('token', ({ advertisingToken }) => bid(advertisingToken))`; returns the unsubscribe function. */
  // Spelt out, so that the compiler's error about another name lists these.
  on<E extends 'token' | 'expired' | 'optout' | 'needsTokens' | 'error'>(event: E, listener: Listener<E>): () => void;
  /** Listen to every change of `state` or of the token; returns the unsubscribe function. */
  subscribe(listener: () => unknown): () => void;
  /**
   * Only in the development build; `inspect(session).explain()` of `tessera-id/inspector` is in every build. Describe the state in two
   * sentences: what the session has and what failed last; what it does next, when, and why.
   */
  explain?(): string;
  /** Stop: no timer, listener, lock or connection is left. The stored record stays. */
  close(): void;
}

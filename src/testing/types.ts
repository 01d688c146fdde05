/** What a testbed is to a test. Types only. */

import type { Operator, OperatorOptions } from '../operator/index.ts';
import type { Client, Dii } from '../server/index.ts';
import type { Session, SessionOptions, TokenAnswer } from '../session/index.ts';
import type { Span, SpanText } from './span.ts';

/** Lifetimes of the operator's tokens: text as `'15 min'`, or seconds as in the options of an operator. */
export interface Lifetimes {
  /** Age from which a set is refreshed. Default 15 min. */
  readonly refreshFrom?: SpanText | number | undefined;
  /** Lifetime of an advertising token. Default 1 h. */
  readonly identityExpires?: SpanText | number | undefined;
  /** Lifetime of a refresh token. Default 24 h. */
  readonly refreshExpires?: SpanText | number | undefined;
}

/** Options of `createTestbed`. */
export interface TestbedOptions {
  /** Lifetimes of the tokens. Default: those of an operator for integration. */
  readonly lifetimes?: Lifetimes | undefined;
  /** The instant at which time starts: a date or epoch ms. Default 2030-01-15T12:00:00Z. */
  readonly start?: Date | number | undefined;
  /** Who is signed in at the publisher's site at the start; null: nobody. Default `{ email: 'user@example.com' }`. */
  readonly user?: Dii | null | undefined;
  /**
   * Replace the timers and clocks of this process. `false` for a page in another process, as with Playwright: then `advance`
   * moves the clock of the operator alone. Default true.
   */
  readonly installClock?: boolean | undefined;
  /** Further options of the operator, for example `{ scope: 'EUID' }`. */
  readonly operator?: Omit<OperatorOptions, 'now' | keyof Lifetimes> | undefined;
}

/** Identities with fixed behaviour, the same at every operator for integration. */
export interface ReservedUsers {
  /** Has opted out: gets no token. */
  readonly optOut: Dii;
  /** Gets a token; the first refresh says that the user has opted out. */
  readonly refreshOptOut: Dii;
  /** Gets a token even after an opt-out; its token validates. */
  readonly validate: Dii;
}

/**
 * An operator, a publisher's server and a page in one process, under one clock.
 *
 * Time stands still between two calls of `advance`, so nothing times out while real work is done.
 */
export interface Testbed {
  /** The embedded operator. */
  readonly operator: Operator;
  /** The address of the operator: the `baseUrl` of sessions. */
  readonly baseUrl: string;
  /** The publisher's server client of this operator. Its requests reach the operator while the page is offline. */
  readonly client: Client;
  /**
   * The page's `fetch`: reaches the operator, and `handler` at `/token` of `https://publisher.example` (also as a relative URL).
   * Anything else is answered with 404.
   */
  readonly fetch: typeof globalThis.fetch;
  /** The publisher's token handler; answers for the user that is signed in. */
  readonly handler: (request: Request) => Promise<Response>;
  /** Identities with fixed behaviour. */
  readonly users: ReservedUsers;
  /** The time of the page's device, epoch ms. */
  readonly now: () => number;
  /**
   * Move time, running timers in order; wait after each until Web Crypto and the operator are done.
   *
   * @param span  text as `'20 min'`, or ms. Default 0: only wait until everything is done.
   * @throws what a timer throws, and an Error after `close()`.
   * @example await testbed.advance('20 min');
   */
  advance(span?: Span): Promise<void>;
  /**
   * Create a session of the page: with the operator's address, this network, a store in memory and `provide` from `handler`.
   * Sessions of one name share a store, as tabs do and as one page after another does. `close()` closes them.
   *
   * @param options  override or complete these; `provide: undefined` for none.
   * @throws {Error} after `close()`.
   * @example const session = testbed.session({ consent: () => false });
   */
  session(options?: Partial<SessionOptions>): Session;
  /**
   * Generate a set for a user, as the publisher's server passes it to the page. Not affected by faults.
   *
   * @param dii  default: who is signed in, else `{ email: 'user@example.com' }`.
   * @example await session.setTokens(await testbed.tokensFor({ email: 'someone@example.com' }));
   */
  tokensFor(dii?: Dii): Promise<TokenAnswer>;
  /**
   * A user signs in at the publisher's site: `handler` answers for this user from now on. Sessions are not notified.
   *
   * @throws {TypeError} for anything but exactly one email address, phone number or hash. The value is never in the message.
   */
  signIn(dii: Dii): void;
  /** Nobody is signed in at the publisher's site any more: `handler` answers 204. Sessions are not notified. */
  signOut(): void;
  /** Record at the operator that a user has opted out. Not affected by faults. */
  optOut(dii: Dii): Promise<void>;
  /** The page has no network: its requests reject. In a page the event `offline` follows. */
  offline(): void;
  /** End every fault. A request that hangs goes on hanging. In a page that was offline the event `online` follows. */
  online(): void;
  /**
   * The operator answers every request with this status, in plain text, to pages and servers.
   *
   * @param headers  for example `{ 'retry-after': '120' }`.
   * @param body     default empty.
   * @example testbed.answer(503);
   */
  answer(status: number, headers?: Record<string, string>, body?: string): void;
  /** The operator takes every request and never answers. */
  hang(): void;
  /** Set the clock of the page's device `ms` ahead of the service's (below 0: behind it). 0: it is right again. */
  skewClock(ms: number): void;
  /** Close the sessions, stop the operator, restore timers and clocks. Timers that still wait never fire. */
  close(): Promise<void>;
}

/** The interface of a testbed. Types only. */

import type { Operator, OperatorOptions } from '../operator/index.ts';
import type { Client, Dii } from '../server/index.ts';
import type { Session, SessionOptions, TokenAnswer } from '../session/index.ts';
import type { Span, SpanText } from './span.ts';

/** Lifetimes of the operator's tokens: text such as `'15 min'`, or seconds as in the options of an operator. */
export interface Lifetimes {
  /** Age at which a set is due for a refresh. Default 15 min. */
  readonly refreshFrom?: SpanText | number | undefined;
  /** Lifetime of an advertising token. Default 1 h. */
  readonly identityExpires?: SpanText | number | undefined;
  /** Lifetime of a refresh token. Default 24 h. */
  readonly refreshExpires?: SpanText | number | undefined;
}

/** Options of `createTestbed`. */
export interface TestbedOptions {
  /** Lifetimes of the tokens. Default: those of an operator in integration. */
  readonly lifetimes?: Lifetimes | undefined;
  /** The instant at which time starts: a date or epoch ms. Default 2030-01-15T12:00:00Z. */
  readonly start?: Date | number | undefined;
  /** The user who is signed in at the publisher's site at the start; null: nobody. Default `{ email: 'user@example.com' }`. */
  readonly user?: Dii | null | undefined;
  /**
   * Replace the timers and clocks of this process. Default true. With `false`, for a page in another process, as with Playwright,
   * `advance` moves only the clock of the operator.
   */
  readonly installClock?: boolean | undefined;
  /** Further options of the operator, for example `{ scope: 'EUID' }`. */
  readonly operator?: Omit<OperatorOptions, 'now' | keyof Lifetimes> | undefined;
}

/** Identities with fixed behaviour, the same at every operator in integration. */
export interface ReservedUsers {
  /** Has opted out: receives no token. */
  readonly optOut: Dii;
  /** Receives a token, but the first refresh says that the user has opted out. */
  readonly refreshOptOut: Dii;
  /** Receives a token even after an opt-out. The token passes `validate`. */
  readonly validate: Dii;
}

/**
 * An operator, a publisher's server and a page in one process, under one clock. Time stands still between two calls of `advance`,
 * so nothing times out while real work is done.
 */
export interface Testbed {
  readonly operator: Operator;
  /** The address of the operator: the `baseUrl` of sessions. */
  readonly baseUrl: string;
  /** The client of the publisher's server for this operator. Its requests reach the operator even while the page is offline. */
  readonly client: Client;
  /**
   * The page's `fetch`. It reaches the operator, and `handler` at `/token` of `https://publisher.example` (also by relative URL);
   * anything else is answered with 404.
   */
  readonly fetch: typeof globalThis.fetch;
  /** The publisher's token handler, which answers for the signed-in user. */
  readonly handler: (request: Request) => Promise<Response>;
  readonly users: ReservedUsers;
  /** The time of the page's device, epoch ms. */
  readonly now: () => number;
  /**
   * Move time and run timers in order. After each timer, wait until Web Crypto and the operator are done. `span`: text such as
   * `'20 min'`, or ms. Default 0: only wait until everything is done.
   * @throws the error of a timer that throws, and an Error after `close()`.
   * @example await testbed.advance('20 min');
   */
  advance(span?: Span): Promise<void>;
  /**
   * Create a session of the page, with the operator's address, this network, a store in memory and `provide` through `handler`,
   * unless `options` say otherwise (`provide: undefined` for none). Sessions with the same name share a store, like tabs, or like
   * one page after another. `close()` closes them.
   * @throws {Error} after `close()`.
   * @example const session = testbed.session({ consent: () => false });
   */
  session(options?: Partial<SessionOptions>): Session;
  /**
   * Generate a set for a user, as the publisher's server passes it to the page. Not affected by faults.
   * @param dii  default: the signed-in user, otherwise `{ email: 'user@example.com' }`.
   * @example await session.setTokens(await testbed.tokensFor({ email: 'someone@example.com' }));
   */
  tokensFor(dii?: Dii): Promise<TokenAnswer>;
  /**
   * Sign in a user at the publisher's site: `handler` answers for this user from now on. Sessions are not notified.
   * @throws {TypeError} for anything other than exactly one email address, phone number or hash. It never contains the value.
   */
  signIn(dii: Dii): void;
  /** Sign out the user at the publisher's site: `handler` answers 204. Sessions are not notified. */
  signOut(): void;
  /** Record at the operator that a user has opted out. Not affected by faults. */
  optOut(dii: Dii): Promise<void>;
  /** Disconnect the page from the network: its requests reject. In a page, the event `offline` follows. */
  offline(): void;
  /** End every fault. A request that hangs continues to hang. In a page that was offline, the event `online` follows. */
  online(): void;
  /**
   * Make the operator answer every request, of pages and servers, with this status, in plain text; headers and body: default
   * none.
   * @example testbed.answer(503, { 'retry-after': '120' });
   */
  answer(status: number, headers?: Record<string, string>, body?: string): void;
  /** Make the operator accept every request and never answer. */
  hang(): void;
  /** Set the clock of the page's device `ms` ahead of the service's (below 0: behind it); 0 makes it correct again. */
  skewClock(ms: number): void;
  /** Close the sessions, stop the operator, restore timers and clocks. Pending timers never fire. */
  close(): Promise<void>;
}

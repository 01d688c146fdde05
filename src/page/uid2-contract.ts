/** What the drop-in shows to pages written for the ecosystem's own browser SDK, version 4. Types only. */

import type { CookieOptions, Stored } from './uid2-places.ts';

/** The body of a generate answer, in its wire names. */
export type Identity = Stored;

export type EventType = 'SdkLoaded' | 'InitCompleted' | 'IdentityUpdated' | 'OptoutReceived';
export type Callback = (event: EventType, payload: { readonly identity?: Identity | null }) => unknown;

/** What a legacy `callback` is told. */
export interface LegacyPayload {
  readonly advertisingToken: string | undefined;
  readonly advertising_token: string | undefined;
  /** 0 established, 1 refreshed, 100 expired but refreshable, -1 none, -2 invalid, -3 refresh expired, -4 opted out. */
  readonly status: number;
  readonly statusText: string;
}

export interface InitOptions extends CookieOptions {
  /** The body of a generate answer. */
  identity?: unknown;
  /** Default: the production service of the product. */
  baseUrl?: string | undefined;
  /** First span of the back-off, ms, 1,000 or more. Default 5,000. */
  refreshRetryPeriod?: number | undefined;
  /** Deprecated: push a function onto `callbacks` instead. */
  callback?: ((payload: LegacyPayload) => unknown) | undefined;
}

/** The global. */
export interface Uid2 {
  callbacks: Callback[];
  /**
   * Start, or go on with other options. May be called again: what is left out stays.
   *
   * @throws {TypeError | RangeError} for a wrong option.
   */
  init(options: InitOptions): void;
  /** The token in force, or undefined. Before `init` that of what is stored in the old places. */
  getAdvertisingToken(): string | undefined;
  /** The token in force, or the one that a refresh brings; before `init` it waits for it. Rejects where there is none. */
  getAdvertisingTokenAsync(): Promise<string>;
  /** @throws {Error} before `init`. */
  setIdentity(identity: unknown): void;
  getIdentity(): Identity | null;
  /** Whether the user has to be identified anew; undefined until `InitCompleted`. */
  isLoginRequired(): boolean | undefined;
  /** Whether there is an identity that is in force or can be refreshed; undefined until `InitCompleted`. */
  isIdentityAvailable(): boolean | undefined;
  /** Undefined until `InitCompleted`. */
  hasOptedOut(): boolean | undefined;
  isInitComplete(): boolean;
  /** Log out, in all tabs, and remove the identity from local storage and from the cookie. An opt-out outlives it. */
  disconnect(): void;
  /** Stop, and tell nothing more. What is stored stays; `init` starts anew. */
  abort(): void;
  /** Generation in the page is not supported: these reject with a TypeError that says what to do instead. */
  setIdentityFromEmail(): Promise<never>;
  setIdentityFromEmailHash(): Promise<never>;
  setIdentityFromPhone(): Promise<never>;
  setIdentityFromPhoneHash(): Promise<never>;
}

declare global {
  interface Window {
    __uid2?: Uid2 | { callbacks?: Callback[] } | undefined;
    __euid?: Uid2 | { callbacks?: Callback[] } | undefined;
  }
}

/** The public interface of the drop-in: that of the UID2 JavaScript SDK, version 4. Types only. */

import type { Session } from '../../session/index.ts';

/** The two products of one protocol. */
export type Product = 'uid2' | 'euid';

/** The body of a generate response, with its wire names. */
export type Identity = Readonly<Record<string, unknown>>;

/** Events of the drop-in's callbacks. */
export type EventType = 'SdkLoaded' | 'InitCompleted' | 'IdentityUpdated' | 'OptoutReceived';

/** With `SdkLoaded`, an identity that an earlier page has left, or nothing if a callback is pushed later. */
export interface CallbackPayload {
  readonly identity?: Identity | null;
}

/** A function in `callbacks`. */
export type Callback = (event: EventType, payload: CallbackPayload) => unknown;

/** What a legacy `callback` receives. */
export interface LegacyPayload {
  readonly advertisingToken: string | undefined;
  readonly advertising_token: string | undefined;
  /** 0 established, 1 refreshed, 100 expired but refreshable, -1 none, -2 invalid, -3 refresh expired, -4 opted out. */
  readonly status: number;
  readonly statusText: string;
}

/** The callback that `init` takes. */
export type LegacyCallback = (payload: LegacyPayload) => unknown;

/** Whether and where the identity is kept in a cookie. */
export interface CookieOptions {
  /** Keep the identity in a cookie, and adopt one that a server sets there. Default false: local storage. */
  useCookie?: boolean | undefined;
  /** Default: the page's own host. */
  cookieDomain?: string | undefined;
  /** Default `/`. */
  cookiePath?: string | undefined;
}

/** Options of `init`. */
export interface InitOptions extends CookieOptions {
  /** The body of a generate response. */
  identity?: unknown;
  /** Default: the production service of the product. */
  baseUrl?: string | undefined;
  /** First delay of the back-off, ms, at least 1,000. Default 5,000. */
  refreshRetryPeriod?: number | undefined;
  /** Deprecated: push a function onto `callbacks` instead. Each call of `init` may add one. */
  callback?: LegacyCallback | undefined;
}

/** The global `__uid2` or `__euid`. */
export interface Uid2 {
  callbacks: Callback[];
  /** A later call keeps the options that it leaves out, and emits `InitCompleted` too. Throws a TypeError or RangeError for a wrong option. */
  init(options: InitOptions): void;
  /** Before `init`, the token that is stored where the UID2 SDK keeps it. */
  getAdvertisingToken(): string | undefined;
  /** Resolves with the current token, or that of a pending refresh; rejects if there is none. */
  getAdvertisingTokenAsync(): Promise<string>;
  /** @throws {Error} before `init`. */
  setIdentity(identity: unknown): void;
  /** Null unless the token is valid. */
  getIdentity(): Identity | null;
  /** Whether a new identity must be generated. False after an opt-out. */
  isLoginRequired(): boolean;
  /** Whether there is a valid token that can be refreshed, a refresh under way, or an opt-out. Before `init`, undefined instead of false. */
  isIdentityAvailable(): boolean | undefined;
  /** Undefined before `init`. */
  hasOptedOut(): boolean | undefined;
  isInitComplete(): boolean;
  /** Log out in all tabs, also in local storage and the cookie. An opt-out stays. */
  disconnect(): void;
  /** Stop, and emit nothing more. Stored values stay; `init` starts again. */
  abort(): void;
  /** For the Inspector and `onVitals`; undefined before `init` and after `abort`. Not in the UID2 SDK. */
  readonly session: Session | undefined;
  /** Not supported, like the three below: rejects with a TypeError that says what to do. */
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

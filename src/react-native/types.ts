/** The public types of `tessera-id/react-native`. */

import type { TokenAnswer } from '../token/token-set.ts';

/** Where the app keeps the identity. It contains secrets: {@link secureStorage}. */
export interface TesseraStorage {
  /** Two storages with one name are one. Default: every object is another storage. */
  readonly name?: string | undefined;
  /** Return what was last written; null: nothing was. Reject if that cannot be told now. */
  read(): Promise<string | null>;
  write(text: string): Promise<unknown>;
}

/** The ref of a `<WebView>`. */
export interface TesseraView {
  injectJavaScript(script: string): void;
}

/** The app owns the identity and has no set of the user who is signed in, or one that the service no longer accepts. */
export interface TokenRequest {
  /**
   * Answer with what your server has received from the operator for the user who is signed in there; null logs out. Resolves
   * to false if the answer is late: after another sign-in, a logout, an opt-out or another answer, it changes nothing.
   * @throws {TokenError} as {@link TesseraHost.signedIn}.
   */
  renew(answer: TokenAnswer | null): Promise<boolean>;
}

/** Options of {@link createTesseraHost}. */
export interface TesseraHostOptions {
  /** The operator, `https://operator.example`. */
  readonly baseUrl: string;
  /** The origins of your pages, `https://www.publisher.example`. Messages of other pages are ignored. */
  readonly origins: readonly string[];
  readonly storage: TesseraStorage;
  /** Who refreshes the identity. `app` (default): pages have `owner: 'host'` and `refresh: 'off'`; `page`: the defaults. */
  readonly owner?: 'app' | 'page' | undefined;
  /** There is another advertising token, or, if it is undefined, none any more. */
  readonly onToken?: ((advertisingToken: string | undefined) => void) | undefined;
  /** Called again at the next start of the app and at each `resume` until the request is answered. */
  readonly onNeedsTokens?: ((request: TokenRequest) => unknown) | undefined;
  /** A line for a debug log. It contains no token and no key. */
  readonly onLog?: ((line: string) => void) | undefined;
  /** Permit plain http to every host, for tests. */
  readonly allowInsecure?: boolean | undefined;
}

/** The app's side. Changes show at once, and their promises settle when they are stored. */
export interface TesseraHost {
  /** The token for the app's own ads; undefined if there is none, if it has expired, and after a logout or an opt-out. */
  readonly advertisingToken: string | undefined;
  /**
   * A user has signed in in the app. `answer`: what your server has received from the operator, a `generate` answer, its body or
   * an opt-out.
   * @throws {TokenError} `invalid_token_set` for anything else: nothing has changed. `storage_failed`: the storage has refused
   *   the change, or has not confirmed it within 10 s. It is tried again at the next change, at `resume` and at `pause`.
   */
  signedIn(answer: TokenAnswer): Promise<void>;
  signedOut(): Promise<void>;
  optedOut(): Promise<void>;
  /** The app is in the foreground (`AppState` is `active`), or the network is back. What is due starts now. */
  resume(): void;
  /** The app is in the background: no refresh starts until `resume`. */
  pause(): void;
  /**
   * `onMessage` of the `<WebView>`, with its ref. From react-native-webview 13.13.1, `url` is that of the frame that has sent the message;
   * before, and in an Android WebView without `WEB_MESSAGE_LISTENER`, it is that of the page, so frames of other sites count as the page.
   */
  onMessage(event: { readonly nativeEvent: { readonly data: string; readonly url: string } }, view: TesseraView): void;
  /** Listen to a view again that was detached. The others are attached by their first message. */
  attach(view: TesseraView): void;
  /** The `<WebView>` is unmounted. */
  detach(view: TesseraView): void;
  /** End timers, requests and messages. Resolves when every write has ended: then another host may have the storage. */
  close(): Promise<void>;
}

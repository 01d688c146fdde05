/** Names that the examples of the documentation use and that a reader brings along. Each has its real type where there is one. */

import 'tessera-id/global';
import type { ReactNode } from 'react';
import type { ProvideOption, Session } from 'tessera-id';
import type { Tessera } from 'tessera-id/global';
import type { Dii, WireAnswer } from 'tessera-id/server';

declare global {
  const session: Session;
  /** `window.tessera` once the script has loaded and there is a session. */
  const tessera: Tessera & { session: Session };
  const baseUrl: string;
  const apiKey: string;
  const clientSecret: string;
  const provide: ProvideOption;
  const createSession: typeof import('tessera-id').createSession;
  const connectWebview: typeof import('tessera-id/webview').connectWebview;
  /** Resolves once the adapter for Prebid is connected, or blocked. */
  const connected: Promise<unknown>;
  const connectPrebid: typeof import('tessera-id/prebid').connectPrebid;
  const onVitals: typeof import('tessera-id/vitals').onVitals;
  const tcfConsent: typeof import('tessera-id/consent').tcfConsent;

  function bid(advertisingToken: string | undefined): void;
  function report(code: string, message: string): void;
  function send(report: object): void;
  function removeAds(): void;
  /** Google Analytics 4, and a meter of OpenTelemetry. */
  function gtag(kind: 'event', name: string, parameters: object): void;
  const meter: {
    createCounter(name: string): { add(by: number, attributes: Record<string, string | undefined>): void };
  };
  function hideAds(): void;
  function forgetUser(): void;
  function askServer(reason?: string): Promise<object>;
  function sendToPage(answer: WireAnswer): void;
  function signInOnYourServer(form: HTMLFormElement): Promise<void>;
  function signedInUser(request: Request): Promise<Dii | null>;
  /** The token handler of another block, and an app of Express. */
  const tokens: (request: Request) => Promise<Response>;
  const toNodeListener: typeof import('tessera-id/server/node').toNodeListener;
  const app: { use(path: string, listener: ReturnType<typeof import('tessera-id/server/node').toNodeListener>): void };
  const account: { readonly id: string };
  const answer: WireAnswer;
  const form: HTMLFormElement;
  const logoutButton: HTMLButtonElement;
  const rows: AsyncIterable<Dii>;
  const shop: {
    on(event: 'privacy', listener: (choice: { ads: boolean }) => void): void;
    privacy(): Promise<{ ads: boolean }>;
  };
  const pbjs: { readonly que: { push(call: () => void): void }; requestBids(options: object): void };
  /** The UID2 JavaScript SDK, which the drop-in replaces. */
  const __uid2: {
    init(options: object): void;
    setIdentity(identity: object): void;
    isLoginRequired(): boolean | undefined;
    getAdvertisingToken(): string | undefined;
  };
  interface Window {
    // biome-ignore lint/suspicious/noExplicitAny: the UID2 SDK has no types.
    __uid2: any;
  }
  function Slot(props: {
    token: string | undefined;
    why?: string | undefined;
    onLogin?: (form: FormData) => Promise<void>;
    onLogout?: () => void;
  }): ReactNode;

  function tokensOfTheUser(): Promise<WireAnswer>;
}

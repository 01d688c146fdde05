/** Runs before the script of the UID2 JavaScript SDK, as its documentation shows: `init` with the identity of a sign-in, else without. */

import { isSignIn, parameters, visit } from './visit.ts';

interface Sdk {
  init(options: { baseUrl: string; identity?: unknown }): void;
  getAdvertisingToken(): string | undefined;
  disconnect(): void;
}

const page = globalThis as unknown as { __uid2: Sdk | { callbacks: ((event: string) => void)[] } };
const first = isSignIn()
  ? fetch(`/uid2/token${location.search}`, { method: 'POST' }).then((answer) => answer.json())
  : undefined;

page.__uid2 = {
  callbacks: [
    (event) => {
      if (event !== 'SdkLoaded') return;
      const sdk = page.__uid2 as Sdk;
      const baseUrl = parameters().operator;
      if (!first) sdk.init({ baseUrl });
      visit({
        signIn: async () => sdk.init({ baseUrl, identity: ((await first) as { body: unknown }).body }),
        open: async () => sdk.getAdvertisingToken(),
        ask: async () => sdk.getAdvertisingToken(),
        signOut: async () => sdk.disconnect(),
      });
    },
  ],
};

import { createSession } from 'tessera-id';

/** What this page uses of Prebid's global; before Prebid has loaded, only the queue exists. */
interface Pbjs {
  que: (() => void)[];
  addAdUnits(units: object[]): void;
  requestBids(request: { bidsBackHandler(): void }): void;
}
const scope = window as unknown as { pbjs?: Partial<Pbjs> };
scope.pbjs ??= {};
scope.pbjs.que ??= [];
const { que } = scope.pbjs;

const session = createSession({
  baseUrl: import.meta.env.VITE_TESSERA_BASE_URL ?? 'http://127.0.0.1:8080',
  provide: async ({ signal }) => {
    const response = await fetch('/token', { method: 'POST', signal });
    return response.status === 200 ? response.json() : response; // 204: nobody is signed in
  },
});

// Prebid gets every new token, even in the middle of a page view; logout, opt-out and expiry remove it.
const connected = import('tessera-id/prebid').then(
  ({ connectPrebid }) => connectPrebid(session),
  () => {}, // a content blocker has blocked the adapter: the session works without it
);

// The first auction waits for the adapter and the token, but not long for the token.
await Promise.all([connected, session.getToken({ timeoutMs: 500 }).catch(() => {})]);
que.push(() => {
  const pbjs = scope.pbjs as Pbjs;
  pbjs.addAdUnits([{ code: 'slot', mediaTypes: { banner: { sizes: [[300, 250]] } }, bids: [] }]);
  pbjs.requestBids({ bidsBackHandler: () => console.log('auction ended') });
});

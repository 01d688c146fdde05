/**
 * A scripted service: it decrypts what the client sends and gives the answers, or faults, that the test lists.
 *
 * It encrypts with `src/token`, so the bytes are real. `operator.test.ts` tests the client against the real operator.
 */

import type { ClientOptions } from '../../src/server/index.ts';
import { type Bytes, fromB64, toB64 } from '../../src/token/bytes.ts';
import { aesKey } from '../../src/token/cipher.ts';
import { openRequest, sealRefresh, sealResponse } from '../../src/token/envelope.ts';

export const NOW = Date.UTC(2026, 5, 1, 12);
export const SECRET = toB64(new Uint8Array(32).fill(7));
export const RESPONSE_KEY = toB64(new Uint8Array(32).fill(9));
export const API_KEY = 'UID2-C-T-999-abcdef.key-that-nobody-may-see-in-an-error';

/** A request that arrived: the decrypted payload, or the raw body of a refresh. */
export interface Seen {
  readonly path: string;
  readonly headers: Headers;
  readonly length: number;
  readonly sealed: Bytes;
  readonly at: number;
  readonly nonce: Bytes;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the endpoint takes; tests look into it
  readonly payload: any;
}

/** One answer. It may throw (a lost connection) or never settle. */
export type Step = (seen: Seen, signal: AbortSignal) => Response | Promise<Response>;

const key = () => aesKey(fromB64(SECRET));

export const opened =
  (json: unknown, { at = NOW, nonce }: { at?: number; nonce?: Bytes } = {}): Step =>
  async (seen) => {
    const text = typeof json === 'string' ? json : JSON.stringify(json);
    const bytes = await sealResponse(await key(), { at, nonce: nonce ?? seen.nonce, json: text });
    return seen.headers.get('content-type') === 'application/octet-stream'
      ? new Response(bytes, { status: 200, headers: { 'content-type': 'application/octet-stream' } })
      : new Response(toB64(bytes), { status: 200, headers: { 'content-type': 'text/plain' } });
  };

export const refreshed =
  (json: unknown, responseKey = RESPONSE_KEY): Step =>
  async () =>
    new Response(toB64(await sealRefresh(await aesKey(fromB64(responseKey)), JSON.stringify(json))));

export const plain =
  (status: number, body: unknown = '', headers: Record<string, string> = {}): Step =>
  () =>
    new Response(typeof body === 'string' ? body : JSON.stringify(body), { status, headers });

export const broken: Step = () => {
  throw new TypeError('fetch failed');
};

/** No answer: rejects when the signal aborts, as `fetch` does. */
export const silent: Step = (_, signal) =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

const seenOf = async (url: string, init: RequestInit): Promise<Seen> => {
  const path = new URL(url).pathname;
  const headers = new Headers(init.headers);
  const length = typeof init.body === 'string' ? init.body.length : (init.body as Bytes).length;
  const common = { path, headers, length };
  if (path.endsWith('/token/refresh'))
    return { ...common, sealed: new Uint8Array(), at: 0, nonce: new Uint8Array(8), payload: init.body };
  const sealed = typeof init.body === 'string' ? fromB64(init.body) : (init.body as Bytes);
  const { at, nonce, json } = await openRequest(await key(), sealed);
  return { ...common, sealed, at, nonce, payload: JSON.parse(json) };
};

/** A service that answers with `steps` in turn and repeats the last one. `seen` lists the requests. */
export const scriptedService = (...steps: Step[]) => {
  const seen: Seen[] = [];
  const inits: RequestInit[] = [];
  let next = 0;
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const step = steps[Math.min(next++, steps.length - 1)]!;
    inits.push(init);
    const request = await seenOf(url, init);
    seen.push(request);
    return step(request, init.signal as AbortSignal);
  };
  return { fetch, seen, inits };
};

export const optionsFor = (service: { fetch: ClientOptions['fetch'] }): ClientOptions => ({
  baseUrl: 'https://operator.example',
  apiKey: API_KEY,
  clientSecret: SECRET,
  fetch: service.fetch,
  now: () => NOW,
});

export const SET = {
  advertising_token: 'advertising-token',
  refresh_token: 'r'.repeat(388),
  refresh_response_key: RESPONSE_KEY,
  refresh_from: NOW + 900_000,
  identity_expires: NOW + 3_600_000,
  refresh_expires: NOW + 86_400_000,
};

export const rejectionOf = async (promise: Promise<unknown>): Promise<Error & { code?: string; status?: number }> => {
  try {
    await promise;
  } catch (e) {
    return e as Error;
  }
  throw new Error('expected a rejection, got a result');
};

/**
 * An operator with a clock that the test sets, and a participant who calls it.
 *
 * The client half of the protocol is written here from the protocol's rules, and shares no code with `src/server`.
 */

import { type Credentials, createOperator, type Operator, type OperatorOptions } from '../../src/operator/index.ts';
import { fromB64, toB64 } from '../../src/token/bytes.ts';
import { aesKey } from '../../src/token/cipher.ts';
import { openRefresh, openResponse, sealRequest } from '../../src/token/index.ts';

export const BASE = 'http://operator.test';
export const NOON = Date.UTC(2026, 5, 1, 12);
export const SECOND = 1000;
export const DAY = 86_400_000;
export const ROOT = Uint8Array.from({ length: 32 }, (_, index) => 13 + index);
/** Every role: without `roles` a participant has two. */
export const ALL_ROLES = ['GENERATOR', 'MAPPER', 'ID_READER', 'SHARER', 'OPTOUT'] as const;

export interface Answer {
  readonly http: number;
  readonly headers: Headers;
  /** JSON of the body, opened if it was sealed. */
  // biome-ignore lint/suspicious/noExplicitAny: each test asserts the shape it expects
  readonly json: any;
  /** Time in the answer's envelope, epoch ms. Plain answers and refresh answers have none. */
  readonly at?: number;
  readonly nonce?: Uint8Array;
  readonly text: string;
}

export interface CallOptions {
  /** Default: the participant of the service. */
  readonly as?: Credentials;
  /** Time in the request's envelope, epoch ms. Default: the service's clock. */
  readonly at?: number;
  /** Send bytes rather than base64. Default: false. */
  readonly binary?: boolean;
  readonly headers?: Record<string, string>;
}

export interface Calls {
  /** Seal `payload`, post it and open the answer. Undefined sends an envelope without payload. */
  call(path: string, payload: unknown, options?: CallOptions): Promise<Answer>;
  post(path: string, body: BodyInit | null, headers?: Record<string, string>): Promise<Response>;
  /** Post the refresh token of a set and open the answer. */
  // biome-ignore lint/suspicious/noExplicitAny: a token set as on the wire
  refresh(set: any, headers?: Record<string, string>): Promise<Answer>;
  /** Generate a token set; rejects if the status is not `success`. */
  // biome-ignore lint/suspicious/noExplicitAny: a token set as on the wire
  generate(payload: unknown, options?: CallOptions): Promise<any>;
}

export interface TestService extends Calls {
  readonly operator: Operator;
  /** The operator's clock, epoch ms. A test may set it. */
  now: number;
  /** The first participant of the options. */
  readonly participant: Credentials;
}

/** Seal a request. A string is sealed as it is, any other payload as JSON. */
export const envelope = async (payload: unknown, secretB64: string, at: number): Promise<Uint8Array<ArrayBuffer>> =>
  sealRequest(await aesKey(fromB64(secretB64)), {
    at,
    nonce: crypto.getRandomValues(new Uint8Array(8)),
    json: payload === undefined ? '' : typeof payload === 'string' ? payload : JSON.stringify(payload),
  });

/** Create the calls of a participant. `fetch` carries the requests, `now` is the participant's clock. */
export const createCalls = (
  fetch: (path: string, init: RequestInit) => Promise<Response>,
  participant: Credentials,
  now: () => number,
): Calls => {
  const post: Calls['post'] = (path, body, headers = {}) => fetch(path, { method: 'POST', body, headers });

  const call: Calls['call'] = async (path, payload, { as = participant, at = now(), binary, headers } = {}) => {
    const sealed = await envelope(payload, as.clientSecret, at);
    const response = await post(path, binary ? sealed : toB64(sealed), {
      authorization: `Bearer ${as.apiKey}`,
      ...(binary ? { 'content-type': 'application/octet-stream' } : {}),
      ...headers,
    });
    const bytes = new Uint8Array(await response.arrayBuffer());
    const text = new TextDecoder().decode(bytes);
    const shared = { http: response.status, headers: response.headers, text };
    if (response.status !== 200) return { ...shared, json: text && JSON.parse(text) };
    const message = await openResponse(await aesKey(fromB64(as.clientSecret)), binary ? bytes : fromB64(text));
    return { ...shared, json: JSON.parse(message.json), at: message.at, nonce: message.nonce };
  };

  return {
    call,
    post,
    refresh: async (set, headers) => {
      const response = await post('/v2/token/refresh', set.refresh_token, headers);
      const text = await response.text();
      const json = JSON.parse(response.status === 200 ? await openRefresh(text, set.refresh_response_key) : text);
      return { http: response.status, headers: response.headers, json, text };
    },
    generate: async (payload, options) => {
      const { json } = await call('/v2/token/generate', payload, options);
      if (json.status !== 'success') throw new Error(`generate: expected success, got ${json.status}`);
      return json.body;
    },
  };
};

export interface RunningOperator {
  readonly operator: Operator;
  fetch(path: string, init: RequestInit): Promise<Response>;
}

/** How `createTestService` runs an operator: in this process and in memory. `test/operator-nodes` replaces `run`. */
export const operatorRunner = {
  run: (options: OperatorOptions): RunningOperator => {
    const operator = createOperator(options);
    return { operator, fetch: (path, init) => operator.fetch(new Request(BASE + path, init)) };
  },
};

/** Create an operator at {@link NOON}, by default with one participant that has all roles. */
export const createTestService = (options: OperatorOptions = {}): TestService => {
  const clock = { now: NOON };
  const { operator, fetch } = operatorRunner.run({
    now: () => clock.now,
    rootSecret: ROOT,
    roles: ALL_ROLES,
    ...options,
  });
  const participant = operator.participants[0]!;
  return {
    operator,
    participant,
    get now() {
      return clock.now;
    },
    set now(now) {
      clock.now = now;
    },
    ...createCalls(fetch, participant, () => clock.now),
  };
};

/**
 * An operator under a clock that a test moves, and a participant who calls it: the client's half of the protocol,
 * written from the wire facts and sharing nothing with the server room.
 */

import type { Credentials, Operator, OperatorOptions } from '../../src/operator/index.ts';
import { createOperator } from '../../src/operator/index.ts';
import { fromB64, toB64 } from '../../src/token/bytes.ts';
import { aesKey } from '../../src/token/cipher.ts';
import { openRefresh, openResponse, sealRequest } from '../../src/token/index.ts';

export const BASE = 'http://operator.test';
/** 1 June 2026, noon UTC. */
export const NOON = Date.UTC(2026, 5, 1, 12);
export const SECOND = 1000;
export const DAY = 86_400_000;
/** A root secret for tests: no secret. */
export const ROOT = new Uint8Array(32).fill(7);

export interface Answer {
  readonly http: number;
  readonly headers: Headers;
  /** JSON: opened where the answer was sealed. */
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of it
  readonly json: any;
  /** Time of the answer's envelope, epoch ms; absent from plain answers and refresh answers. */
  readonly at?: number;
  readonly nonce?: Uint8Array;
  /** The body as it came. */
  readonly text: string;
}

export interface CallOptions {
  readonly as?: Credentials;
  /** Clock of the caller. Default: the operator's. */
  readonly at?: number;
  readonly binary?: boolean;
  readonly headers?: Record<string, string>;
}

export interface Fixture {
  readonly operator: Operator;
  /** The operator's clock. */
  at: number;
  /** The participant of the options. */
  readonly participant: Credentials;
  /** Seal `payload`, post it and open the answer. Undefined: an envelope without payload. */
  call(path: string, payload: unknown, options?: CallOptions): Promise<Answer>;
  /** Post a body as it is. */
  post(path: string, body: BodyInit | null, headers?: Record<string, string>): Promise<Response>;
  /** Post a refresh token and open the answer. */
  // biome-ignore lint/suspicious/noExplicitAny: a wire token set
  refresh(set: any, headers?: Record<string, string>): Promise<Answer>;
  // biome-ignore lint/suspicious/noExplicitAny: a wire token set
  generate(payload: unknown, options?: CallOptions): Promise<any>;
}

export const envelope = async (payload: unknown, secretB64: string, at: number): Promise<Uint8Array<ArrayBuffer>> =>
  sealRequest(await aesKey(fromB64(secretB64)), {
    at,
    nonce: crypto.getRandomValues(new Uint8Array(8)),
    json: payload === undefined ? '' : typeof payload === 'string' ? payload : JSON.stringify(payload),
  });

type Calls = Pick<Fixture, 'call' | 'post' | 'refresh' | 'generate'>;

/** The calls of a participant, over whatever carries requests. `now` is the participant's clock. */
export const callsOf = (
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
    const plain = await openResponse(await aesKey(fromB64(as.clientSecret)), binary ? bytes : fromB64(text));
    return { ...shared, json: JSON.parse(plain.json), at: plain.at, nonce: plain.nonce };
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
    generate: async (payload, given) => {
      const { json } = await call('/v2/token/generate', payload, given);
      if (json.status !== 'success') throw new Error(`expected a token set, got ${json.status}`);
      return json.body;
    },
  };
};

/** An operator, and how its requests get there. */
export interface HostedOperator {
  readonly operator: Operator;
  fetch(path: string, init: RequestInit): Promise<Response>;
}

/** Where scenes are set. By default in this process and in memory; `test/operator-nodes` sets them elsewhere. */
export const operatorHost = {
  create: (options: OperatorOptions): HostedOperator => {
    const operator = createOperator(options);
    return { operator, fetch: (path, init) => operator.fetch(new Request(BASE + path, init)) };
  },
};

/** An operator at {@link NOON} with all roles for one participant, unless the options say otherwise. */
export const createFixture = (options: OperatorOptions = {}): Fixture => {
  const state = { at: NOON };
  const { operator, fetch } = operatorHost.create({ now: () => state.at, rootSecret: ROOT, ...options });
  const participant = operator.participants[0]!;
  return {
    operator,
    participant,
    get at() {
      return state.at;
    },
    set at(at) {
      state.at = at;
    },
    ...callsOf(fetch, participant, () => state.at),
  };
};

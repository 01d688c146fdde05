/**
 * The service of a simulated profile: the real operator, called in the same process, and its client.
 *
 * It keeps every set that was issued, so that the user, the supplied set and the expiry of any token can be looked up. It
 * does not know pages or sessions.
 */

import { createOperator } from '../../src/operator/index.ts';
import { answerOf, createClient } from '../../src/server/index.ts';
import { fromB64, toB64 } from '../../src/token/bytes.ts';
import { aesKey } from '../../src/token/cipher.ts';
import { sealRefresh } from '../../src/token/envelope.ts';
import { NONCE_LENGTH, openRefresh, sealRequest } from '../../src/token/index.ts';

const API_KEY = 'UID2-C-L-777-model.for-stories-only-and-nothing-else-at-all';
const SECRET = 'bW9kZWwtc2VjcmV0LWZvci1zdG9yaWVzLW9ubHktMTI='.slice(0, 43).concat('=');
export const BASE_URL = 'https://operator.example';

/** Lifetimes of the operator's tokens, s. */
export interface Lifetimes {
  readonly identityExpires: number;
  readonly refreshFrom: number;
  readonly refreshExpires: number;
}

/** A set that the operator has issued. */
export interface Issued {
  readonly user: string;
  /** Number of the generated set that this one is, or descends from by refreshes. */
  readonly root: number;
  readonly wire: Wire;
  /** If it was issued by a refresh: when that was requested, as a position in the same order as `seq`. */
  readonly askedSeq?: number;
  /** Position in the order of everything that happens in a profile. */
  readonly seq: number;
}

interface Wire {
  readonly advertising_token: string;
  readonly refresh_token: string;
  readonly refresh_response_key: string;
  readonly refresh_from: number;
  readonly identity_expires: number;
  readonly refresh_expires: number;
}

const clock = { now: () => Date.now() };
type Operator = ReturnType<typeof createOperator>;
/** Building an operator takes longer than a whole run, so there is one for each choice of lifetimes. */
const operators = new Map<string, Operator>();

const operatorOf = (lifetimes: Lifetimes): Operator => {
  const key = JSON.stringify(lifetimes);
  let operator = operators.get(key);
  if (!operator) {
    operator = createOperator({
      apiKey: API_KEY,
      clientSecret: SECRET,
      siteId: 777,
      roles: ['GENERATOR', 'OPTOUT'],
      rootSecret: SECRET,
      now: () => clock.now(),
      ...lifetimes,
    });
    operators.set(key, operator);
  }
  return operator;
};

let profiles = 0;

/**
 * Build the service of one profile.
 *
 * @param now   its clock, epoch ms.
 * @param next  returns the next sequence number.
 * @param keepsRefreshToken  whether refresh answers repeat the refresh token that was sent.
 */
export const createService = (
  lifetimes: Lifetimes,
  now: () => number,
  next: () => number,
  keepsRefreshToken = false,
) => {
  const operator = operatorOf(lifetimes);
  clock.now = now;
  // Opt-outs last as long as the operator, so each profile has users of its own.
  const profile = profiles++;
  const emailOf = (user: string) => `${user}.${profile}@example.com`;
  const client = createClient({
    baseUrl: BASE_URL,
    apiKey: API_KEY,
    clientSecret: SECRET,
    now,
    fetch: (input, init) => operator.fetch(new Request(input, init)),
  });
  const byToken = new Map<string, Issued>();
  const byRefreshToken = new Map<string, Issued>();
  const optedOut = new Set<string>();
  let roots = 0;

  const keep = (issued: Issued) => {
    byToken.set(issued.wire.advertising_token, issued);
    byRefreshToken.set(issued.wire.refresh_token, issued);
    return issued;
  };

  return {
    /** Find an issued set by its advertising token or its refresh token. */
    find: (token: string): Issued | undefined => byToken.get(token) ?? byRefreshToken.get(token),
    /** All sets. */
    issued: (): Issued[] => [...byToken.values()],
    /** A generated set and all sets that descend from it. */
    descendants: (root: number | undefined): Issued[] => [...byToken.values()].filter((issued) => issued.root === root),
    /** Generate a set for a user; an opted-out user has none. */
    generate: async (user: string): Promise<{ readonly answer: unknown; readonly issued: Issued | undefined }> => {
      const answer = answerOf(await client.generate({ email: emailOf(user) }));
      if (answer.status !== 'success') return { answer, issued: undefined };
      const wire = answer.body as unknown as Wire;
      return { answer, issued: keep({ user, root: roots++, wire, seq: next() }) };
    },
    /** The operator's answer to a refresh sent at `askedSeq`, and its content: a set, an opt-out, or neither. */
    refresh: async (
      body: string,
      askedSeq: number,
    ): Promise<{ readonly status: number; readonly text: string; readonly said: 'optout' | Issued | undefined }> => {
      const response = await operator.fetch(new Request(`${BASE_URL}/v2/token/refresh`, { method: 'POST', body }));
      let text = await response.text();
      const parent = byRefreshToken.get(body);
      if (response.status !== 200 || !parent) return { status: response.status, text, said: undefined };
      const opened = JSON.parse(await openRefresh(text, parent.wire.refresh_response_key)) as {
        status: string;
        body: Wire;
      };
      if (keepsRefreshToken && opened.status === 'success') {
        const { refresh_token, refresh_response_key, refresh_expires } = parent.wire;
        opened.body = { ...opened.body, refresh_token, refresh_response_key, refresh_expires };
        const key = await aesKey(fromB64(refresh_response_key));
        text = toB64(await sealRefresh(key, JSON.stringify(opened)));
      }
      const { user, root } = parent;
      const said =
        opened.status === 'optout'
          ? ('optout' as const)
          : keep({ user, root, wire: opened.body, askedSeq, seq: next() });
      return { status: 200, text, said };
    },
    /** Seal any text as the answer to a refresh token. */
    seal: async (refreshToken: string, text: string): Promise<string> => {
      const { refresh_response_key } = byRefreshToken.get(refreshToken)!.wire;
      return toB64(await sealRefresh(await aesKey(fromB64(refresh_response_key)), text));
    },
    /** Whether a user has opted out at the service. */
    isOptedOut: (user: string): boolean => optedOut.has(user),
    /** Opt a user out at the service. */
    optOut: async (user: string): Promise<void> => {
      optedOut.add(user);
      const json = JSON.stringify({ email: emailOf(user) });
      const nonce = crypto.getRandomValues(new Uint8Array(NONCE_LENGTH));
      const key = await crypto.subtle.importKey('raw', fromB64(SECRET), 'AES-GCM', false, ['encrypt']);
      const body = await sealRequest(key, { at: now(), nonce, json });
      const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/octet-stream' };
      const request = new Request(`${BASE_URL}/v2/token/logout`, { method: 'POST', headers, body });
      const { status } = await operator.fetch(request);
      if (status !== 200) throw new Error(`opt-out: ${status}`);
    },
  };
};
export type Service = ReturnType<typeof createService>;

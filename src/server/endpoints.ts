/**
 * The token endpoints: what each sends and how its answer reads. Wire names (snake_case) of the server side live here
 * and in the endpoint files for many, `mapping.ts` and `raw-ids.ts`.
 *
 * They send through `call.ts`; `client.ts` hands them to the caller.
 */

import { isTokenError, TokenError } from '../token/errors.ts';
import { type Answer, parseAnswer, type TokenSet, toWire } from '../token/token-set.ts';
import type { Call, CallLimits, Opened } from './call.ts';
import type { SentDii } from './dii.ts';

const GENERATE = '/v2/token/generate';
const VALIDATE = '/v2/token/validate';
const REFRESH = '/v2/token/refresh';
const LOGOUT = '/v2/token/logout';

/** What `generate` and `refresh` give: look at `status` first, an opted-out user has no tokens. */
export type TokenResult = { readonly status: 'success'; readonly tokens: TokenSet } | { readonly status: 'optout' };

/** A token result as JSON for a page: what `session.setTokens` takes. */
export type WireAnswer =
  | { readonly status: 'success'; readonly body: Readonly<Record<string, string | number>> }
  | { readonly status: 'optout' };

/** What a refresh needs of a set. */
export type Refreshable = Pick<TokenSet, 'refreshToken' | 'responseKeyB64'>;

/**
 * The JSON answer for a page, with the wire names of the service.
 *
 * @example response.json(answerOf(await client.generate({ email }))); // Express
 */
export function answerOf(result: TokenResult): WireAnswer {
  return result.status === 'success' ? { status: 'success', body: toWire(result.tokens) } : { status: 'optout' };
}

/** An error for a 200 answer whose body is not what the endpoint promises. */
export function malformed(path: string, expected: string, cause?: unknown): TokenError {
  return new TokenError('malformed_response', `${path}: ${expected}`, { status: 200, cause });
}

// A set that does not parse is the service's fault here, not the caller's.
const resultOf = (path: string, { status, body }: Opened): TokenResult => {
  let answer: Answer;
  try {
    answer = parseAnswer({ status, body });
  } catch (cause) {
    throw malformed(path, isTokenError(cause) ? cause.message : 'expected a token set', cause);
  }
  return answer === 'optout' ? { status: 'optout' } : { status: 'success', tokens: answer };
};

/** The member of a request that carries one DII. */
const memberOf = (path: string, { form, value }: SentDii): Record<string, string> => {
  if (value === undefined)
    throw new TokenError(
      'client_error',
      `${path} not called: Invalid Identifier: the ${form.split('_')[0]} is not valid`,
    );
  return { [form]: value };
};

const ask = async (call: Call, path: string, payload: unknown, limits: CallLimits): Promise<Opened> =>
  (await call.sealed(path, payload, limits))();

export async function generate(call: Call, dii: SentDii, limits: CallLimits): Promise<TokenResult> {
  return resultOf(GENERATE, await ask(call, GENERATE, memberOf(GENERATE, dii), limits));
}

export async function validate(call: Call, token: string, dii: SentDii, limits: CallLimits): Promise<boolean> {
  const { body } = await ask(call, VALIDATE, { token, ...memberOf(VALIDATE, dii) }, limits);
  if (typeof body !== 'boolean') throw malformed(VALIDATE, `body: expected boolean, got ${typeof body}`);
  return body;
}

export async function refresh(call: Call, set: Refreshable, limits: CallLimits): Promise<TokenResult> {
  return resultOf(REFRESH, await call.refresh(REFRESH, set.refreshToken, set.responseKeyB64, limits));
}

/** Record an opt-out. Only the service's own `OK` counts: an opt-out that is not kept must not pass for one. */
export async function optOut(call: Call, dii: SentDii, limits: CallLimits): Promise<void> {
  let opened: Opened;
  try {
    opened = await ask(call, LOGOUT, memberOf(LOGOUT, dii), limits);
  } catch (e) {
    // Here the service calls DII that is not valid an `invalid_token`; there is no refresh token in this request.
    if (!isTokenError(e) || e.code !== 'refresh_rejected') throw e;
    throw new TokenError('client_error', e.message, { status: e.status, cause: e });
  }
  const word = ((opened.body ?? {}) as Record<string, unknown>)['optout'];
  if (word !== 'OK')
    throw malformed(LOGOUT, `optout: expected OK, got ${typeof word === 'string' ? 'another' : typeof word}`);
}

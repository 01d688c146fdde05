/**
 * The endpoints for one user: the content of each request, and how its answer is read. In this folder, only this file,
 * `mapping.ts` and `raw-ids.ts` know the wire names (snake_case), except those of the forms of DII.
 */

import { kindOf, ownMembers } from '../../token/checks.ts';
import { expectedGot, isTokenError, TokenError } from '../../token/errors.ts';
import { type Answer, parseAnswer, type TokenSet, toWire, type WireTokenSet } from '../../token/token-set.ts';
import { FORM_NAMES, type SentDii } from '../dii.ts';
import type { CallLimits } from '../options.ts';
import { otherThan, unusableAnswer } from './answer-fields.ts';
import type { Call, ServiceAnswer } from './call.ts';
import { PATHS, requestName } from './paths.ts';

/** Result of `generate` and `refresh`. Check `status` first: an opted-out user has no tokens. */
export type TokenResult = { readonly status: 'success'; readonly tokens: TokenSet } | { readonly status: 'optout' };

/** A token result as JSON for a page: the argument of `session.setTokens`. */
export type WireAnswer = { readonly status: 'success'; readonly body: WireTokenSet } | { readonly status: 'optout' };

/** The part of a token set that a refresh needs. */
export type Refreshable = Pick<TokenSet, 'refreshToken' | 'responseKeyB64'>;

/**
 * Convert a token result to the JSON answer for a page, with the wire names of the service.
 * @throws {TypeError} for anything other than a result: no mistake must look like an opt-out.
 * @example response.json(answerOf(await client.generate({ email }))); // Express
 */
export function answerOf(result: TokenResult): WireAnswer {
  const { status, tokens } = ownMembers(result as unknown);
  if (status === 'success' && tokens) return { status, body: toWire(tokens as TokenSet) };
  if (status === 'optout') return { status };
  throw new TypeError(expectedGot('answerOf', 'the result of generate or refresh', kindOf(result)));
}

/** If a set does not parse here, the service is at fault, not the caller. */
function resultOf(path: string, { status, body }: ServiceAnswer): TokenResult {
  let answer: Answer;
  try {
    answer = parseAnswer({ status, body });
  } catch (cause) {
    throw unusableAnswer(path, isTokenError(cause) ? cause.message : 'expected a token set, got another body', cause);
  }
  return answer === 'optout' ? { status: 'optout' } : { status: 'success', tokens: answer };
}

/** The message of a service that rejects DII, also in the error of a request that was not sent for this reason. */
const INVALID_DII = 'Invalid Identifier';

/** Tell whether `generate` has failed because the DII of this user is invalid. Another try with the same DII fails too. */
export function isInvalidDii({ code, message }: TokenError): boolean {
  return code === 'client_error' && message.includes(INVALID_DII);
}

function diiField(path: string, { form, value, fault }: SentDii): Record<string, string> {
  if (value !== undefined) return { [form]: value };
  const reason = fault ?? `expected ${FORM_NAMES[form]}`;
  throw new TokenError('client_error', `${requestName(path)} not sent: ${reason} (${INVALID_DII})`);
}

async function send(call: Call, path: string, payload: unknown, limits: CallLimits): Promise<ServiceAnswer> {
  return (await call.sealed(path, payload, limits))();
}

export async function generate(
  call: Call,
  dii: SentDii,
  tcfConsent: string | undefined,
  limits: CallLimits,
): Promise<TokenResult> {
  const path = PATHS.generate;
  const payload = { ...diiField(path, dii), ...(tcfConsent && { tcf_consent_string: tcfConsent }) };
  return resultOf(path, await send(call, path, payload, limits));
}

export async function validate(call: Call, token: string, dii: SentDii, limits: CallLimits): Promise<boolean> {
  const path = PATHS.validate;
  const { body } = await send(call, path, { token, ...diiField(path, dii) }, limits);
  if (typeof body !== 'boolean') throw unusableAnswer(path, `body: expected boolean, got ${kindOf(body)}`);
  return body;
}

export async function refresh(call: Call, set: Refreshable, limits: CallLimits): Promise<TokenResult> {
  return resultOf(PATHS.refresh, await call.refresh(PATHS.refresh, set.refreshToken, set.responseKeyB64, limits));
}

/** Record an opt-out. Any answer other than `OK` is an error, because the caller must know if the opt-out was not recorded. */
export async function optOut(call: Call, dii: SentDii, limits: CallLimits): Promise<void> {
  const path = PATHS.optOut;
  let answer: ServiceAnswer;
  try {
    answer = await send(call, path, diiField(path, dii), limits);
  } catch (e) {
    // This endpoint answers `invalid_token` for invalid DII, although the request contains no refresh token.
    if (!isTokenError(e) || e.code !== 'refresh_rejected') throw e;
    throw new TokenError('client_error', e.message, { status: e.status, cause: e });
  }
  const { optout: recorded } = ownMembers(answer.body);
  if (recorded === 'OK') return;
  throw unusableAnswer(path, `optout: expected OK, got ${otherThan('string', recorded)}`);
}

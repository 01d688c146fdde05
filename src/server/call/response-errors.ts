/** Converts an answer other than 200 to a TokenError with its message, without anything that may be DII, a token or a key. */

import { escapeControls } from '../../token/checks.ts';
import { type ErrorCode, TokenError } from '../../token/errors.ts';
import type { ClientSettings } from '../options.ts';
import { requestName } from './paths.ts';

/** Smallest difference between the local clock and the `Date` header, ms, that explains a 400 without a message. */
const CLOCK_SKEW_MS = 60_000;

/** How far the local clock is ahead of the service's, ms (negative: behind); undefined without a `Date` header. */
function clockAheadMs(headers: Headers, now: number): number | undefined {
  const aheadMs = now - Date.parse(headers.get('date') ?? '');
  return Number.isNaN(aheadMs) ? undefined : aheadMs;
}

/** Read `Retry-After` (seconds, or a date by the service's clock) as ms from now; always finite, undefined if absent. */
function retryAfterMsOf(headers: Headers, now: number): number | undefined {
  const value = headers.get('retry-after')?.trim();
  if (!value) return undefined;
  const isDate = /[a-z]/i.test(value);
  // `Date.parse('1.5')` is a day in 2001.
  if (!isDate && !/^\d+$/.test(value)) return undefined;
  const ms = isDate ? Date.parse(value) - (now - (clockAheadMs(headers, now) ?? 0)) : Number(value) * 1000;
  // A very long row of digits parses as Infinity.
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), Number.MAX_SAFE_INTEGER);
}

const MAX_SEARCHED = 2000;
const MAX_SHOWN = 500;

/**
 * Remove the API key, addresses, phone numbers and long runs of base64 or hex from a message of the service, and escape control
 * characters. Runs without digits and capitals stay, because the service's messages link to its documentation. The API key is
 * passed because it may look like an ordinary word.
 */
export function redacted(message: string, apiKey?: string): string {
  const text = apiKey === undefined ? message : message.replaceAll(apiKey, '[removed]');
  // A word that is cut off could no longer be recognised. Without the lookbehinds here and below, the search would take time that
  // grows with the square of a word's length; a batch may have 5,000 such reasons.
  const start = text.length > MAX_SEARCHED ? text.slice(0, MAX_SEARCHED).replace(/(?<!\S)\S*$/, '[removed]') : text;
  return escapeControls(start)
    .replace(/(?<![^\s@'"])[^\s@'"]+(?:@|%40)[^\s@'"]+/gi, '[removed]')
    .replace(/[\w+/=.-]{20,}/g, (run) => (/[\dA-Z]/.test(run) ? '[removed]' : run))
    .replace(/\+?\d(?:[ ().-]{0,2}\d){8,}/g, '[removed]')
    .slice(0, MAX_SHOWN);
}

function parseFailure(text: string, apiKey: string): { status?: string; message?: string } {
  try {
    const { status, message } = JSON.parse(text) as Record<string, unknown>;
    return {
      ...(typeof status === 'string' && { status: redacted(status, apiKey) }),
      ...(typeof message === 'string' && { message: redacted(message, apiKey) }),
    };
  } catch {
    return {};
  }
}

function remedyFor(http: number, baseUrl: string): string {
  if (http === 404 || http === 405)
    return `; there is no operator at ${baseUrl}: the path is wrong, or the address belongs to another service`;
  if (http === 407) return `; a proxy before ${baseUrl} requires a user name and a password`;
  // A redirect arrives unchanged, or as status 0 on a platform that hides it.
  if (http < 200 || (http >= 300 && http < 400))
    return `; ${baseUrl} redirects to another address or to a login page; the client follows no redirect`;
  return '';
}

function codeOf(http: number, status: string | undefined): ErrorCode {
  if (http === 401) return 'unauthorized';
  if (http === 429) return 'rate_limited';
  if (http !== 400 || status === undefined) return 'http_status';
  return status === 'invalid_token' || status === 'expired_token' ? 'refresh_rejected' : 'client_error';
}

/** The message contains `baseUrl` if it may be wrong, but never `apiKey`. */
export function responseError(
  path: string,
  { status: http, headers }: Response,
  text: string,
  { apiKey, baseUrl, now: clock }: Pick<ClientSettings, 'apiKey' | 'baseUrl' | 'now'>,
): TokenError {
  const now = clock();
  const { status, message } = parseFailure(text, apiKey);
  const aheadMs = clockAheadMs(headers, now);
  const isFarOff = aheadMs !== undefined && Math.abs(aheadMs) >= CLOCK_SKEW_MS;
  const isSkewed = http === 400 && (message === undefined ? isFarOff : message.startsWith('Invalid timestamp'));
  const retryAfterMs = retryAfterMsOf(headers, now);
  let sentence = [`${requestName(path)} answered ${http}`, status, message]
    .filter((part) => part !== undefined)
    .join(': ');
  if (isSkewed && isFarOff) {
    const direction = aheadMs > 0 ? 'ahead of' : 'behind';
    sentence += `; the local clock is ${Math.round(Math.abs(aheadMs) / 1000)} s ${direction} the service's`;
  }
  if (retryAfterMs !== undefined) sentence += `; it asks to wait ${Math.ceil(retryAfterMs / 1000)} s`;
  // A service says what is wrong. Without such a message, something else has answered.
  if (status === undefined) sentence += remedyFor(http, baseUrl);
  return new TokenError(isSkewed ? 'clock_skew' : codeOf(http, status), sentence, { status: http, retryAfterMs });
}

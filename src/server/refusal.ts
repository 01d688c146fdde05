/**
 * What an answer other than 200 means: one TokenError for each way in which the service refuses.
 *
 * Such answers are plain text or JSON, never sealed. The service's message is passed on, cleared of anything that
 * could be DII, a token or a key. The step before is `call.ts`.
 */

import { type ErrorCode, TokenError } from '../token/errors.ts';

/** A refused request is blamed on the clock where the service gives no reason and its `Date` is this far off, ms. */
const FAR_OFF_MS = 60_000;

/** How far the local clock is ahead of the service's (behind: negative), ms, as far as its `Date` header tells. */
const aheadOf = (headers: Headers, now: number): number | undefined => {
  const ahead = now - Date.parse(headers.get('date') ?? '');
  return Number.isNaN(ahead) ? undefined : ahead;
};

/** `Retry-After` (seconds, or a date by the service's clock) as ms from now, undefined where there is none. Finite. */
const retryAfterOf = (headers: Headers, now: number): number | undefined => {
  const value = headers.get('retry-after')?.trim();
  if (!value) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - (now - (aheadOf(headers, now) ?? 0));
  // Digits without end are a time without end, not none.
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), Number.MAX_SAFE_INTEGER);
};

/**
 * A service's message without what must not be told: addresses, long numbers, long runs of base64 or hex.
 *
 * Runs without digits and capitals stay: they are the paths of links to documentation.
 */
export function cleared(message: string): string {
  return message
    .slice(0, 2000)
    .replace(/[^\s@'"]+@[^\s@'"]+/g, '[removed]')
    .replace(/[\w+/=.-]{20,}/g, (run) => (/[\dA-Z]/.test(run) ? '[removed]' : run))
    .replace(/\+?\d{9,}/g, '[removed]')
    .slice(0, 500);
}

const parsed = (text: string): { status?: string; message?: string } => {
  try {
    const { status, message } = JSON.parse(text) as Record<string, unknown>;
    return {
      ...(typeof status === 'string' && { status: cleared(status) }),
      ...(typeof message === 'string' && { message: cleared(message) }),
    };
  } catch {
    return {};
  }
};

const codeOf = (http: number, status: string | undefined): ErrorCode => {
  if (http === 401) return 'unauthorized';
  if (http === 429) return 'rate_limited';
  if (http !== 400 || status === undefined) return 'http_status';
  return status === 'invalid_token' || status === 'expired_token' ? 'refresh_rejected' : 'client_error';
};

/**
 * The error that a refusing answer stands for.
 *
 * @param path  the endpoint, for the message.
 * @param text  the body of the answer.
 * @param now   the local clock, epoch ms.
 */
export function refusalOf(path: string, response: Response, text: string, now: number): TokenError {
  const { status: http, headers } = response;
  const { status, message } = parsed(text);
  const ahead = aheadOf(headers, now);
  const farOff = ahead !== undefined && Math.abs(ahead) >= FAR_OFF_MS;
  const skewed = http === 400 && (message === undefined ? farOff : message.startsWith('Invalid timestamp'));
  const words = [`${path} answered ${http}`, status, message].filter((word) => word !== undefined).join(': ');
  const clock = farOff
    ? `; the local clock is ${Math.round(Math.abs(ahead) / 1000)} s ${ahead > 0 ? 'ahead of' : 'behind'} the service's`
    : '';
  return new TokenError(skewed ? 'clock_skew' : codeOf(http, status), words + (skewed ? clock : ''), {
    status: http,
    retryAfterMs: retryAfterOf(headers, now),
  });
}

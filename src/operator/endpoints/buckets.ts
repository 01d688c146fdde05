/** `POST /v2/identity/buckets` (deprecated): the salt buckets whose present rotation began at some time or later. */

import { writeRows } from './bucket-list.ts';
import { DEPRECATED, type Endpoint } from './endpoint.ts';
import { clientError, written } from './result.ts';

// YYYY-MM-DDThh:mm, then seconds, then up to nine digits of their fraction. No zone: it is UTC.
const DATE_TIME = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?$/;

/**
 * Read `since_timestamp`.
 *
 * @returns epoch ms, rounded up, so that nothing from before is listed; undefined where it is no such time.
 */
export function sinceIn(value: unknown): number | undefined {
  if (Number.isSafeInteger(value)) return value as number;
  const [, minute, seconds = '00', fraction = ''] = (typeof value === 'string' && DATE_TIME.exec(value)) || [];
  if (minute === undefined) return undefined;
  const whole = `${minute}:${seconds}.000Z`;
  const at = Date.parse(whole);
  // A day that the month does not have would become one of the next.
  if (Number.isNaN(at) || new Date(at).toISOString() !== whole) return undefined;
  return at + Math.ceil(Number(`0.${fraction}0`) * 1000);
}

export const buckets: Endpoint = {
  path: '/v2/identity/buckets',
  roles: ['MAPPER'],
  limited: true,
  headers: DEPRECATED,
  answer: ({ at, payload }, { salts }) => {
    const value = payload?.since_timestamp ?? undefined;
    if (value === undefined) return clientError('missing parameter since_timestamp');
    const since = sinceIn(value);
    if (since === undefined) return clientError('invalid date, must conform to ISO 8601');
    const rotated = salts.rotatedSince(since, at);
    return written(() => writeRows(rotated), rotated.count > MANY_ROWS);
  },
};

/** Rows, about 1 MB of them, from which on an answer waits for its turn. */
const MANY_ROWS = 16_384;

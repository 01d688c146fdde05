/** `POST /v2/identity/buckets` (deprecated): the salt buckets whose current rotation started at a given time or later. */

import { writeBucketList } from './bucket-list.ts';
import { DEPRECATION_HEADERS, type Endpoint } from './endpoint.ts';
import { clientError, writtenSuccess } from './result.ts';

/** YYYY-MM-DDThh:mm, optionally seconds, optionally up to nine fractional digits. UTC, without a zone. */
const DATE_TIME = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?$/;

/** Above this many rows, about 1 MB, a list is a long response. */
const LONG_LIST_ROWS = 16_384;

/** Epoch ms of a whole number or a date and time in UTC, rounded up so that no earlier rotation is listed, or undefined. */
export function parseSinceTimestamp(value: unknown): number | undefined {
  if (Number.isSafeInteger(value)) return value as number;
  const [, minute, seconds = '00', fraction = ''] = (typeof value === 'string' && DATE_TIME.exec(value)) || [];
  if (minute === undefined) return undefined;
  const wholeSeconds = `${minute}:${seconds}.000Z`;
  const at = Date.parse(wholeSeconds);
  // `Date.parse` reads 30 February as a day in March. The comparison rejects it.
  if (Number.isNaN(at) || new Date(at).toISOString() !== wholeSeconds) return undefined;
  return at + Math.ceil(Number(`0.${fraction}0`) * 1000);
}

export const buckets: Endpoint = {
  path: '/v2/identity/buckets',
  roles: ['MAPPER'],
  rateLimited: true,
  headers: DEPRECATION_HEADERS,
  handle: ({ now, payload }, { salts }) => {
    const value = payload?.since_timestamp ?? undefined;
    if (value === undefined) return clientError('missing parameter since_timestamp');
    const since = parseSinceTimestamp(value);
    if (since === undefined) return clientError('invalid date, must conform to ISO 8601');
    const rotated = salts.rotatedSince(since, now);
    return writtenSuccess(() => writeBucketList(rotated), rotated.count > LONG_LIST_ROWS);
  },
};

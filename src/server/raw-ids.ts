/**
 * The endpoints about raw IDs that are stored already: which salt buckets have rotated, which users have opted out.
 *
 * They send through the function that `bulk.ts` gives them, with its retries.
 */

import { type Batch, createRoom, jsonBytes } from './batch.ts';
import type { Unread } from './call.ts';
import { malformed } from './endpoints.ts';
import { arrayOf, type Send, textOf } from './mapping.ts';
import type { Rows } from './results.ts';

const BUCKETS = '/v2/identity/buckets';
const OPTOUT_STATUS = '/v2/optout/status';

export interface RotatedBucket {
  readonly bucketId: string;
  /** When its salt was last rotated, epoch ms. */
  readonly rotatedAt: number;
}

/** An answer of `rotatedBuckets`. */
export interface RotatedBuckets {
  readonly buckets: readonly RotatedBucket[];
  /** The service's clock when it answered, epoch ms: where the next question may start. */
  readonly answeredAt: number;
}

/** A raw ID whose user has opted out. */
export interface OptedOut {
  readonly rawId: string;
  /** Since when, epoch ms. */
  readonly optedOutAt: number;
}

// `YYYY-MM-DDThh:mm:ss`, fractions or not, always UTC though it says not so.
const DATE_TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?)(\.\d{1,3})?\d*Z?$/;

const instantOf = (value: unknown): number => {
  const [, seconds, fraction = ''] = DATE_TIME.exec(`${value}`) ?? [];
  const instant = Date.parse(`${seconds}${fraction}Z`);
  if (Number.isNaN(instant)) throw malformed(BUCKETS, `last_updated: expected UTC date-time, got ${typeof value}`);
  return instant;
};

/** Ask which buckets have rotated at or after `since` (epoch ms). */
export async function rotatedBuckets(send: Send, since: number): Promise<RotatedBuckets> {
  // The service takes date-times without a zone.
  const { body, answeredAt } = (await send(BUCKETS, { since_timestamp: new Date(since).toISOString().slice(0, -1) }))();
  const buckets = arrayOf(BUCKETS, 'body', body).map((element) => {
    const { bucket_id, last_updated } = (element ?? {}) as Record<string, unknown>;
    return { bucketId: textOf(BUCKETS, 'bucket_id', bucket_id), rotatedAt: instantOf(last_updated) };
  });
  return { buckets, answeredAt: answeredAt! };
}

/** Raw IDs for one request. */
export interface RawIdBatch extends Batch<string> {
  readonly rawIds: readonly string[];
}

/**
 * An empty batch of raw IDs, for a request with room for `mostBytes` of them.
 *
 * @throws {TypeError} (`add`) no text, or more of it than any raw ID has.
 */
export function createRawIdBatch(mostBytes: number): RawIdBatch {
  const room = createRoom(mostBytes);
  const rawIds: string[] = [];
  return {
    rawIds,
    add: (rawId) => {
      if (typeof rawId !== 'string') throw new TypeError(`rawIds: expected text, got ${typeof rawId}`);
      const bytes = jsonBytes(rawId);
      if (bytes > mostBytes) throw new TypeError(`rawIds: expected raw IDs, got text of ${rawId.length} characters`);
      const taken = room.take(bytes);
      if (taken) rawIds.push(rawId);
      return taken;
    },
  };
}

/** Ask which of a batch of raw IDs belong to users who have opted out. */
export async function optOutBatch(send: Send, { rawIds }: RawIdBatch): Promise<Unread<Rows<OptedOut>>> {
  const read = await send(OPTOUT_STATUS, { advertising_ids: rawIds });
  return () => {
    const { body } = read();
    const list = ((body ?? {}) as Record<string, unknown>)['opted_out'];
    const found = arrayOf(OPTOUT_STATUS, 'opted_out', list).map((element) => {
      const { advertising_id, opted_out_since } = (element ?? {}) as Record<string, unknown>;
      if (typeof opted_out_since !== 'number')
        throw malformed(OPTOUT_STATUS, `opted_out_since: expected epoch milliseconds, got ${typeof opted_out_since}`);
      return { rawId: textOf(OPTOUT_STATUS, 'advertising_id', advertising_id), optedOutAt: opted_out_since };
    });
    return { length: found.length, at: (i) => found[i]! };
  };
}

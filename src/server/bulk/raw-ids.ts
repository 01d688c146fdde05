/** The endpoints for stored raw IDs: which salt buckets have rotated, and which users have opted out. */

import { kindOf, ownMembers } from '../../token/checks.ts';
import { arrayOf, fieldsOf, identifierOf, isInstant, otherThan, unusableAnswer } from '../call/answer-fields.ts';
import type { Lazy } from '../call/call.ts';
import { PATHS } from '../call/paths.ts';
import { type Batch, createCapacity, jsonBytes } from './batch.ts';
import type { Send } from './mapping.ts';
import type { Rows } from './results.ts';

const BUCKETS = PATHS.rotatedBuckets;
const OPT_OUT_STATUS = PATHS.optOutStatus;

/** A salt bucket that has rotated. */
export interface RotatedBucket {
  readonly bucketId: string;
  /** Time of the last rotation, epoch ms. */
  readonly rotatedAt: number;
}

/** Result of `rotatedBuckets`. */
export interface RotatedBuckets {
  readonly buckets: readonly RotatedBucket[];
  /** The service's clock when it answered, epoch ms: use it as the `since` of the next request. */
  readonly answeredAt: number;
}

/** A raw ID whose user has opted out. */
export interface OptedOut {
  readonly rawId: string;
  /** Time of the opt-out, epoch ms. */
  readonly optedOutAt: number;
  /** The service's clock when it answered, epoch ms. */
  readonly answeredAt: number;
}

/** `YYYY-MM-DDThh:mm:ss` with optional fractions. The service means UTC, although it sends no zone. */
const DATE_TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?)(\.\d{1,3})?\d*Z?$/;

function instantOf(value: unknown): number {
  const [, seconds, fraction = ''] = DATE_TIME.exec(`${value}`) ?? [];
  const instant = Date.parse(`${seconds}${fraction}Z`);
  if (Number.isNaN(instant))
    throw unusableAnswer(BUCKETS, `last_updated: expected UTC date-time, got ${otherThan('string', value)}`);
  return instant;
}

export async function rotatedBuckets(send: Send, since: number): Promise<RotatedBuckets> {
  // The service expects UTC date-times without a zone designator.
  const { body, answeredAt } = (await send(BUCKETS, { since_timestamp: new Date(since).toISOString().slice(0, -1) }))();
  const buckets = arrayOf(BUCKETS, 'body', body).map((element) => {
    const { bucket_id, last_updated } = ownMembers(element);
    return { bucketId: identifierOf(BUCKETS, 'bucket_id', bucket_id), rotatedAt: instantOf(last_updated) };
  });
  return { buckets, answeredAt: answeredAt! };
}

export interface RawIdBatch extends Batch<string> {
  readonly rawIds: readonly string[];
}

/** `maxBytes`: of raw IDs. `add` throws a TypeError for an item that is not a string, or is longer than a request. */
export function createRawIdBatch(maxBytes: number): RawIdBatch {
  const reserve = createCapacity(maxBytes);
  const rawIds: string[] = [];
  return {
    rawIds,
    add: (rawId) => {
      if (typeof rawId !== 'string') throw new TypeError(`rawIds: expected string, got ${kindOf(rawId)}`);
      const bytes = jsonBytes(rawId);
      if (bytes > maxBytes) throw new TypeError(`rawIds: expected raw IDs, got a string of ${rawId.length} characters`);
      const isAdded = reserve(bytes);
      if (isAdded) rawIds.push(rawId);
      return isAdded;
    },
  };
}

/**
 * @throws {TokenError} `malformed_response`, when read, for a raw ID that is not in the batch: callers delete every one it lists.
 */
export async function optOutBatch(send: Send, { rawIds }: RawIdBatch): Promise<Lazy<Rows<OptedOut>>> {
  const read = await send(OPT_OUT_STATUS, { advertising_ids: rawIds });
  return () => {
    const { body, answeredAt } = read();
    const asked = new Set(rawIds);
    const { opted_out } = ownMembers(body);
    const found = arrayOf(OPT_OUT_STATUS, 'opted_out', opted_out).map((element) => {
      const { advertising_id, opted_out_since } = fieldsOf(element);
      if (!isInstant(opted_out_since))
        throw unusableAnswer(
          OPT_OUT_STATUS,
          `opted_out_since: expected epoch milliseconds, got ${otherThan('number', opted_out_since)}`,
        );
      const rawId = identifierOf(OPT_OUT_STATUS, 'advertising_id', advertising_id);
      if (!asked.has(rawId))
        throw unusableAnswer(OPT_OUT_STATUS, 'advertising_id: expected a raw ID from the request, got a different one');
      return { rawId, optedOutAt: opted_out_since, answeredAt: answeredAt! };
    });
    return { length: found.length, at: (i) => found[i]! };
  };
}

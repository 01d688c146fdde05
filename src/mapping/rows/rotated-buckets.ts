/**
 * Salt buckets of version 2: requests those that have rotated since the last check, and marks their mappings as due.
 *
 * A row is due if its bucket has rotated since its answer, or less than a margin before: the clocks of the service's nodes may
 * differ. At worst it is requested once more than needed, as its new answer is later.
 */

import type { Database, Queries } from '../../database/index.ts';
import type { RotatedBucket } from '../../server/index.ts';
import type { MappingClient } from '../types.ts';
import type { Key } from './key.ts';
import type { ServiceClock } from './service-clock.ts';
import { countRewritten } from './stored-rows.ts';
import { indexedTransaction, ROTATED } from './tables.ts';

/** Also the overlap of two checks, ms: an answer waits for its batch and retries, and may be stored after a later one. */
const MARGIN_MS = 3_600_000;

const SLICE_SIZE = 2_000;

/** Key of the advisory lock that lets one process at a time mark rows. The number is arbitrary but must never change. */
const LOCK_KEY = 0x7e55e7b;

export interface BucketCheck {
  readonly database: Database;
  readonly client: Pick<MappingClient, 'rotatedBuckets'>;
  readonly clock: ServiceClock;
  readonly signal: AbortSignal;
}

async function checkedUntil(queries: Queries): Promise<number | undefined> {
  const [row] = await queries.query<{ at: number }>('SELECT looked_until AS at FROM tessera_mapping_buckets');
  return row?.at;
}

/** Make the next check cover the time from `answeredAt` on. Last in its transaction: it locks a row that all workers share. */
export async function keepCheckedFrom(queries: Queries, answeredAt: number): Promise<void> {
  const until = await checkedUntil(queries);
  if (until !== undefined && until <= answeredAt) return;
  await queries.query(
    `INSERT INTO tessera_mapping_buckets (looked_until) VALUES ($1)
      ON CONFLICT (one) DO UPDATE SET looked_until = least(tessera_mapping_buckets.looked_until, excluded.looked_until)`,
    [answeredAt],
  );
}

/** Mark the rows of the buckets (by ID) that were answered before the time of their bucket. */
async function markRows(queries: Queries, database: Database, buckets: ReadonlyMap<string, number>): Promise<void> {
  const found = await queries.query<Key & { bucket: string; at: number }>(
    `SELECT type, hash, bucket_id AS bucket, answered_at AS at FROM tessera_mappings
      WHERE bucket_id = ANY($1::text[]) AND due_at IS NULL`,
    [[...buckets.keys()]],
  );
  const due = found.filter(({ bucket, at }) => at < buckets.get(bucket)!);
  if (due.length === 0) return;
  await queries.query('SELECT pg_advisory_xact_lock($1::bigint)::text', [LOCK_KEY]);
  await queries.query(
    `WITH found AS (
      SELECT m.type, m.hash FROM unnest($1::text[], $2::text[], $3::bigint[]) AS given (type, hash, answered_at)
        JOIN tessera_mappings m ON m.type = given.type AND m.hash = given.hash
        WHERE m.answered_at = given.answered_at AND m.due_at IS NULL
        ORDER BY m.hash, m.type FOR UPDATE OF m
    )
    UPDATE tessera_mappings m SET due_at = ${ROTATED} FROM found WHERE m.type = found.type AND m.hash = found.hash`,
    [due.map(({ type }) => type), due.map(({ hash }) => hash), due.map(({ at }) => at)],
  );
  await countRewritten(queries, database, due.length);
}

/** If the process is killed, the next check starts at the same time. */
export async function markRotatedBuckets({ database, client, clock, signal }: BucketCheck): Promise<void> {
  const since = await checkedUntil(database);
  // Version 2 has mapped nothing yet.
  if (since === undefined) return;
  const from = Math.max(0, since - MARGIN_MS);
  const { buckets, answeredAt } = await client.rotatedBuckets(from, { signal });
  clock.observe(answeredAt);
  for (let start = 0; start < buckets.length; start += SLICE_SIZE) {
    signal.throwIfAborted();
    // Rows that were answered after this list are newer than every rotation in it.
    const answeredBefore = ({ rotatedAt }: RotatedBucket) => Math.min(rotatedAt + MARGIN_MS, answeredAt);
    const slice = new Map(
      buckets.slice(start, start + SLICE_SIZE).map((bucket) => [bucket.bucketId, answeredBefore(bucket)]),
    );
    await indexedTransaction(database, (queries) => markRows(queries, database, slice));
  }
  // The condition fails if a slow worker has moved the time back in the meantime.
  await database.query('UPDATE tessera_mapping_buckets SET looked_until = $2 WHERE looked_until = $1', [
    since,
    Math.max(since, answeredAt),
  ]);
}

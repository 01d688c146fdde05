/**
 * Salt buckets of version 2: which have rotated since they were last looked at, and whose mappings are due by that.
 *
 * A mapping knows its bucket and when the service answered. It is due when its bucket has rotated since; to be on the
 * safe side where clocks differ, also when it was answered less than a margin after the rotation. That is asked once
 * more than needed at worst: the answer is younger.
 */

import type { Database, Queries } from '../database/contract.ts';
import type { RotatedBucket } from '../server/index.ts';
import { byIndex } from './by-index.ts';
import type { ServiceClock } from './clock.ts';
import type { MappingClient } from './contract.ts';
import type { Key } from './key.ts';
import { ROTATED } from './tables.ts';

/** Buckets that are looked up in one statement. */
const SLICE = 2_000;

// One marks at a time: two would do the same.
const TURN = 0x7e55e7b;

/** What a look at the buckets needs. */
export interface Look {
  readonly database: Database;
  readonly client: Pick<MappingClient, 'rotatedBuckets'>;
  readonly clock: ServiceClock;
  readonly marginMs: number;
  readonly signal: AbortSignal;
}

const lookedUntil = async (queries: Queries): Promise<number | undefined> => {
  const [row] = await queries.query<{ at: number }>('SELECT looked_until AS at FROM tessera_mapping_buckets');
  return row?.at;
};

/**
 * Remember that mappings of version 2 were answered at `answeredAt`: buckets are to be looked at from there on.
 *
 * Last in its transaction: whoever waits for this row holds up nobody for long.
 */
export async function lookFrom(queries: Queries, answeredAt: number): Promise<void> {
  const until = await lookedUntil(queries);
  if (until !== undefined && until <= answeredAt) return;
  await queries.query(
    `INSERT INTO tessera_mapping_buckets (looked_until) VALUES ($1)
      ON CONFLICT (one) DO UPDATE SET looked_until = least(tessera_mapping_buckets.looked_until, excluded.looked_until)`,
    [answeredAt],
  );
}

/** Mark what is in the buckets, by ID, and was answered before their instants. */
const mark = async (queries: Queries, buckets: ReadonlyMap<string, number>): Promise<void> => {
  const found = await queries.query<Key & { bucket: string; at: number }>(
    `SELECT type, hash, bucket_id AS bucket, answered_at AS at FROM tessera_mappings
      WHERE bucket_id = ANY($1::text[]) AND due_at IS NULL`,
    [[...buckets.keys()]],
  );
  const due = found.filter(({ bucket, at }) => at < buckets.get(bucket)!);
  if (due.length === 0) return;
  await queries.query('SELECT pg_advisory_xact_lock($1::bigint)::text', [TURN]);
  await queries.query(
    `WITH found AS (
      SELECT m.type, m.hash FROM unnest($1::text[], $2::text[], $3::bigint[]) AS given (type, hash, answered_at)
        JOIN tessera_mappings m ON m.type = given.type AND m.hash = given.hash
        WHERE m.answered_at = given.answered_at AND m.due_at IS NULL
        ORDER BY m.type, m.hash FOR UPDATE OF m
    )
    UPDATE tessera_mappings m SET due_at = ${ROTATED} FROM found WHERE m.type = found.type AND m.hash = found.hash`,
    [due.map(({ type }) => type), due.map(({ hash }) => hash), due.map(({ at }) => at)],
  );
};

/**
 * Ask which buckets have rotated and mark the mappings that are due by it. Killed at any point, the next look begins
 * where this one did.
 */
export async function lookAtBuckets({ database, client, clock, marginMs, signal }: Look): Promise<void> {
  const since = await lookedUntil(database);
  // Nothing was mapped by version 2.
  if (since === undefined) return;
  const { buckets, answeredAt } = await client.rotatedBuckets(Math.max(0, since - marginMs), { signal });
  clock.hear(answeredAt);
  for (let from = 0; from < buckets.length; from += SLICE) {
    signal.throwIfAborted();
    // What was answered after the list is younger than all of it.
    const youngest = ({ rotatedAt }: RotatedBucket) => Math.min(rotatedAt + marginMs, answeredAt);
    const slice = new Map(buckets.slice(from, from + SLICE).map((bucket) => [bucket.bucketId, youngest(bucket)]));
    await byIndex(database, (queries) => mark(queries, slice));
  }
  // Unless a slow worker has meanwhile written what was answered before.
  await database.query('UPDATE tessera_mapping_buckets SET looked_until = $2 WHERE looked_until = $1', [
    since,
    Math.max(since, answeredAt),
  ]);
}

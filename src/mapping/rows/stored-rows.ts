/** Reads and deletes stored mappings. The rows of jobs are in `due-rows.ts` and `source-rows.ts`. */

import type { Database, Queries } from '../../database/index.ts';
import type { Counts, Mapping, MappingState } from '../types.ts';
import { type Claim, withClaim } from './claim.ts';
import type { Key } from './key.ts';
import { indexedTransaction } from './tables.ts';

const COLUMNS = `type, hash, state, raw_id AS "rawId", previous_raw_id AS "previousRawId", remap_at AS "remapAt",
  bucket_id AS "bucketId", answered_at AS "answeredAt"`;

const PAGE_SIZE = 5_000;

export async function find(database: Database, { type, hash }: Key): Promise<Mapping | undefined> {
  const [found] = await database.query<Mapping>(
    `SELECT ${COLUMNS} FROM tessera_mappings WHERE type = $1 AND hash = $2`,
    [type, hash],
  );
  return found;
}

/**
 * In the order of the keys, through the primary key: without it, PGlite reads and sorts the whole table for each page. Concurrent
 * changes may or may not be seen; no row is returned twice.
 */
export async function* pages(
  database: Database,
  state: MappingState | undefined,
): AsyncGenerator<readonly Mapping[], void, undefined> {
  let last: Key = { type: 'email', hash: '' };
  for (;;) {
    const { type, hash } = last;
    const page: Mapping[] = await indexedTransaction(database, async (queries) => {
      // Otherwise the planner reads all rows after the last one, and sorts them.
      await queries.script('SET LOCAL enable_sort = off');
      return queries.query<Mapping>(
        `SELECT ${COLUMNS} FROM tessera_mappings WHERE (hash, type) > ($1, $2) AND ($3::text IS NULL OR state = $3)
          ORDER BY hash, type LIMIT ${PAGE_SIZE}`,
        [hash, type, state ?? null],
      );
    });
    if (page.length > 0) yield page;
    if (page.length < PAGE_SIZE) return;
    last = page.at(-1)!;
  }
}

/** `due` rows are due at `dueAt`, epoch ms. */
export async function counts(database: Database, dueAt: number, version: 2 | 3): Promise<Counts> {
  const found = await database.query<{ state: MappingState; count: number; due: number }>(
    `SELECT state, count(*) AS count, count(*) FILTER (WHERE due_at <= $1 OR $2 AND bucket_id IS NOT NULL) AS due
      FROM tessera_mappings GROUP BY state`,
    [dueAt, version === 3],
  );
  const of = (state: MappingState) => found.find((row) => row.state === state);
  return {
    mapped: of('mapped')?.count ?? 0,
    optedOut: of('optedOut')?.count ?? 0,
    invalid: of('invalid')?.count ?? 0,
    due: of('mapped')?.due ?? 0,
  };
}

/**
 * Remove the raw IDs of opted-out users, also one that has replaced the checked one if the service returned it before it reported
 * the opt-out (`answeredAt`, by its clock, epoch ms). `locked` rows are claimed by a job: try them again later, because a
 * statement that waits for a lock cannot be cancelled.
 */
export function removeOptedOut(
  database: Database,
  mappings: readonly Mapping[],
  answeredAt: number,
): Promise<{ readonly removed: number; readonly locked: number }> {
  return withClaim(database, (claim) =>
    claim.step(async (queries) => {
      const free = claim.takeRows(mappings);
      const { selected, removed } = await removeRawIds(queries, free, answeredAt);
      await countRewritten(queries, claim, removed);
      return { removed, locked: mappings.length - free.length + selected - removed };
    }),
  );
}

/** A due run may store the user's next raw ID between the read of the page and the answer. */
const IS_SUPERSEDED = "m.state = 'mapped' AND (m.raw_id = o.raw_id OR m.answered_at < $4)";

async function removeRawIds(
  queries: Queries,
  mappings: readonly Mapping[],
  answeredAt: number,
): Promise<{ readonly selected: number; readonly removed: number }> {
  // The condition is repeated: a row may have changed before it was locked.
  const [result] = await queries.query<{ selected: number; removed: number }>(
    `WITH selected AS MATERIALIZED (
      SELECT o.* FROM unnest($1::text[], $2::text[], $3::text[]) AS o (type, hash, raw_id)
        JOIN tessera_mappings m ON m.type = o.type AND m.hash = o.hash WHERE ${IS_SUPERSEDED}
    ), found AS (
      SELECT m.type, m.hash FROM selected o
        JOIN tessera_mappings m ON m.type = o.type AND m.hash = o.hash WHERE ${IS_SUPERSEDED}
        FOR UPDATE OF m SKIP LOCKED
    ), removed AS (
      UPDATE tessera_mappings m SET state = 'optedOut', raw_id = NULL, previous_raw_id = NULL, remap_at = NULL,
          bucket_id = NULL, due_at = NULL, answered_at = $4
        FROM found WHERE m.type = found.type AND m.hash = found.hash RETURNING 1
    )
    SELECT (SELECT count(*)::integer FROM selected) AS selected, (SELECT count(*)::integer FROM removed) AS removed`,
    [
      mappings.map(({ type }) => type),
      mappings.map(({ hash }) => hash),
      mappings.map(({ rawId }) => rawId),
      answeredAt,
    ],
  );
  return result!;
}

export async function forget(database: Database, { type, hash }: Key): Promise<boolean> {
  const rows = await database.query('DELETE FROM tessera_mappings WHERE type = $1 AND hash = $2 RETURNING 1', [
    type,
    hash,
  ]);
  return rows.length > 0;
}

/** Delete all rows. TRUNCATE removes their files; DELETE would leave the data to a later VACUUM. */
export function forgetAll(database: Database): Promise<number> {
  return database.transaction(async (queries) => {
    await queries.script('LOCK TABLE tessera_mappings IN ACCESS EXCLUSIVE MODE');
    const [found] = await queries.query<{ count: number }>('SELECT count(*) AS count FROM tessera_mappings');
    await queries.script('TRUNCATE tessera_mappings, tessera_mapping_buckets');
    return found!.count;
  });
}

/** Number of rewritten rows, in addition to a fifth of all rows, from which on a VACUUM is worthwhile. */
const MIN_REWRITTEN = 1_000;

/** Estimated size of a row: before the first VACUUM, PGlite does not know how many rows a table has. */
const ROW_BYTES = 256;

/** For {@link vacuumIfNeeded}. Does nothing on PostgreSQL, where the workers would wait for each other. */
export async function countRewritten(
  queries: Queries,
  { kind }: Pick<Claim, 'kind'>,
  rewritten: number,
): Promise<void> {
  if (kind === 'postgres' || rewritten === 0) return;
  await queries.query('UPDATE tessera_mapping_upkeep SET rewritten = rewritten + $1', [rewritten]);
}

/** PostgreSQL runs VACUUM by itself, PGlite never does: the folder would grow with every daily run. */
export async function vacuumIfNeeded(database: Database): Promise<void> {
  if (database.kind !== 'pglite') return;
  const [upkeep] = await database.query<{ rewritten: number; rows: number }>(
    `SELECT rewritten, CASE WHEN reltuples < 0 THEN pg_relation_size(oid) / ${ROW_BYTES} ELSE reltuples::bigint END AS rows
      FROM tessera_mapping_upkeep, pg_class WHERE oid = 'tessera_mappings'::regclass`,
  );
  if (upkeep!.rewritten <= MIN_REWRITTEN + upkeep!.rows / 5) return;
  await database.query('VACUUM tessera_mappings');
  await database.query('UPDATE tessera_mapping_upkeep SET rewritten = 0');
}

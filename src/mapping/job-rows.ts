/**
 * The rows of a job: stores them as pending, claims them, and writes the answers of the service.
 *
 * A claim is a row lock of the transaction that will write the answer. `SKIP LOCKED` lets several workers share a job. When a
 * worker is killed, the database releases its claims at once: there is nothing to clean up.
 *
 * All functions expect the queries of an `indexedTransaction`.
 */

import type { Queries } from '../database/index.ts';
import type { Key } from './key.ts';
import type { AnsweredRows } from './mapping-request.ts';
import { REQUESTED } from './tables.ts';

/** When `map` requests a stored row again whose DII is in its source. */
export interface RemapCondition {
  /** Rows that are due at this time: the service's, epoch ms. */
  readonly dueAt: number;
  /** Opted-out and invalid rows that were answered before this time, which is the start of the job: the service's, epoch ms. */
  readonly answeredBefore: number;
  readonly version: 2 | 3;
}

// Rows that version 2 has mapped have a bucket; all of them are due for version 3.
const FROM_V2 = 'bucket_id IS NOT NULL';

/** Each key once, in the order of the primary key: sorting here is cheaper than in the database. */
function inOrder(keys: readonly Key[]): Key[] {
  const byText = new Map(keys.map((key) => [`${key.hash} ${key.type}`, key]));
  return [...byText.keys()].sort().map((text) => byText.get(text)!);
}

/** What {@link addPending} has done. */
export interface Added {
  /** Number of rows that are to be requested now. */
  readonly requested: number;
  /** Number of rows that the condition selects, but that another transaction has locked: try them again later. */
  readonly locked: number;
}

/**
 * Store keys as pending, unless they are stored already and need no new request.
 *
 * It does not wait for locked rows: another process may hold them for the duration of a request, and a statement that waits for
 * a lock cannot be cancelled.
 */
export async function addPending(queries: Queries, keys: readonly Key[], condition: RemapCondition): Promise<Added> {
  // Inserted in the same order everywhere, so that two transactions that insert the same keys cannot deadlock.
  const given = inOrder(keys);
  const params = [given.map(({ type }) => type), given.map(({ hash }) => hash)];
  const [inserted] = await queries.query<{ count: number }>(
    `WITH added AS (
      INSERT INTO tessera_mappings (type, hash, state, due_at)
        SELECT type, hash, 'pending', ${REQUESTED} FROM unnest($1::text[], $2::text[]) AS given (type, hash)
        ON CONFLICT DO NOTHING RETURNING 1
    )
    SELECT count(*)::integer AS count FROM added`,
    params,
  );
  const added = inserted!.count;
  // Most rows of a first run are new: looking all of them up would take half as long again.
  if (added === given.length) return { requested: added, locked: 0 };
  const isSelected = `m.due_at IS DISTINCT FROM ${REQUESTED} AND (m.due_at <= $3
    OR m.state IN ('optedOut', 'invalid') AND m.answered_at < $4
    OR $5 AND m.${FROM_V2})`;
  // The condition is repeated for \`found\`: a row may have changed before it was locked.
  const [asked] = await queries.query<{ selected: number; requested: number }>(
    `WITH selected AS MATERIALIZED (
      SELECT m.type, m.hash FROM unnest($1::text[], $2::text[]) AS given (type, hash)
        JOIN tessera_mappings m ON m.type = given.type AND m.hash = given.hash WHERE ${isSelected}
    ), found AS (
      SELECT m.type, m.hash FROM selected JOIN tessera_mappings m ON m.type = selected.type AND m.hash = selected.hash
        WHERE ${isSelected} FOR UPDATE OF m SKIP LOCKED
    ), requested AS (
      UPDATE tessera_mappings m SET due_at = ${REQUESTED} FROM found
        WHERE m.type = found.type AND m.hash = found.hash RETURNING 1
    )
    SELECT (SELECT count(*)::integer FROM selected) AS selected, (SELECT count(*)::integer FROM requested) AS requested`,
    [...params, condition.dueAt, condition.answeredBefore, condition.version === 3],
  );
  const { selected, requested } = asked!;
  return { requested: added + requested, locked: selected - requested };
}

/** Which rows a job requests: those of a source, or all that are due at `until` (epoch ms, the service's time). */
export type RowSelection =
  | { readonly kind: 'requested' }
  | { readonly kind: 'due'; until(): number; readonly version: 2 | 3 };

/** A condition that matches a partial index, on `column`. */
interface Condition {
  readonly sql: string;
  readonly column: 'due_at' | 'bucket_id';
  readonly params: readonly number[];
}

// They exclude each other. Each is used when no row fits those before it.
const conditionsOf = (selection: RowSelection): readonly Condition[] => {
  const requested: Condition = { sql: `due_at = ${REQUESTED}`, column: 'due_at', params: [] };
  if (selection.kind === 'requested') return [requested];
  const dueSql = `due_at > ${REQUESTED} AND due_at <= $1`;
  const due: Condition = { sql: dueSql, column: 'due_at', params: [selection.until()] };
  if (selection.version === 2) return [requested, due];
  return [requested, due, { sql: `${FROM_V2} AND due_at IS NULL`, column: 'bucket_id', params: [] }];
};

/** A row that a transaction has claimed. */
export interface ClaimedRow extends Key {
  /** Where the row is stored (`ctid`). It stays there until the transaction ends, and is found without the index. */
  readonly location: string;
}

/** Claim up to `max` rows that no other transaction has claimed. */
export async function claimRows(queries: Queries, selection: RowSelection, max: number): Promise<ClaimedRow[]> {
  for (const { sql, column, params } of conditionsOf(selection)) {
    const rows = await queries.query<ClaimedRow>(
      `SELECT type, hash, ctid AS location FROM tessera_mappings WHERE ${sql} ORDER BY ${column} LIMIT ${max}
        FOR UPDATE SKIP LOCKED`,
      params,
    );
    if (rows.length > 0) return rows;
  }
  return [];
}

/**
 * Tell whether a row is left, claimed or not: a worker that fails or is killed leaves its rows to the others. Takes no lock and
 * waits for none.
 */
export async function isRowSelected(queries: Queries, selection: RowSelection): Promise<boolean> {
  for (const { sql, params } of conditionsOf(selection)) {
    const rows = await queries.query(`SELECT 1 FROM tessera_mappings WHERE ${sql} LIMIT 1`, params);
    if (rows.length > 0) return true;
  }
  return false;
}

/** Count the rows that a job selects. */
export async function countRows(queries: Queries, selection: RowSelection): Promise<number> {
  const conditions = conditionsOf(selection);
  // Not with `OR`: only a bitmap scan can use several indexes for that.
  const counts = conditions.map(({ sql }) => `(SELECT count(*) FROM tessera_mappings WHERE ${sql})`);
  const params = conditions.flatMap((condition) => condition.params);
  const [found] = await queries.query<{ count: number }>(`SELECT ${counts.join(' + ')} AS count`, params);
  return found!.count;
}

/** A column of rows as a parameter of `unnest`, which fills a shorter one with nulls: a column without values is empty. */
const columnOf = (values: readonly (string | number | null)[]) =>
  values.some((value) => value !== null) ? values : [];

/** Write the answers to rows that this transaction has claimed. `claimed[i]` is the row of `rows[i]`. */
export async function writeAnswers(
  queries: Queries,
  claimed: readonly ClaimedRow[],
  { rows, latestAt }: AnsweredRows,
): Promise<void> {
  // If the service names a time in the past, the next run asks again. This one, which requests what is due at an earlier answer, would
  // never end.
  const earliestDueAt = latestAt + 1;
  await queries.query(
    `UPDATE tessera_mappings AS m SET state = a.state, raw_id = a.raw_id, previous_raw_id = a.previous_raw_id,
        remap_at = a.remap_at, bucket_id = a.bucket_id, answered_at = a.answered_at,
        due_at = CASE WHEN a.remap_at IS NOT NULL THEN greatest(a.remap_at, $8::bigint) END
      FROM unnest($1::tid[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::bigint[])
        AS a (location, state, raw_id, previous_raw_id, remap_at, bucket_id, answered_at)
      WHERE m.ctid = a.location`,
    [
      rows.map((_, i) => claimed[i]!.location),
      rows.map(({ state }) => state),
      columnOf(rows.map(({ rawId }) => rawId)),
      columnOf(rows.map(({ previousRawId }) => previousRawId)),
      columnOf(rows.map(({ remapAt }) => remapAt)),
      columnOf(rows.map(({ bucketId }) => bucketId)),
      rows.map(({ answeredAt }) => answeredAt),
      earliestDueAt,
    ],
  );
}

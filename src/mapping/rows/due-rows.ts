/**
 * Claims and counts the rows of a due run. A claim skips the rows of others, so that workers, also of several processes, share a
 * run. All functions expect the queries of a step of a claim, or of an `indexedTransaction`.
 */

import type { Queries } from '../../database/index.ts';
import type { Claim } from './claim.ts';
import type { ClaimedRow } from './write-answers.ts';

/** What is due: the rows whose time has come at `until` (epoch ms, the service's time), for the version that requests them. */
export interface DueSelection {
  until(): number;
  readonly version: 2 | 3;
}

/** A condition that matches a partial index, on `column`. */
interface Condition {
  readonly sql: string;
  readonly column: 'due_at' | 'bucket_id';
  readonly params: readonly number[];
}

/** No row matches two of them. */
function conditionsOf({ until, version }: DueSelection): readonly Condition[] {
  const due: Condition = { sql: 'due_at > 0 AND due_at <= $1', column: 'due_at', params: [until()] };
  if (version === 2) return [due];
  // Rows that version 2 has mapped have a bucket; all of them are due for version 3.
  return [due, { sql: 'bucket_id IS NOT NULL AND due_at IS NULL', column: 'bucket_id', params: [] }];
}

export async function claimDueRows(
  queries: Queries,
  claim: Claim,
  selection: DueSelection,
  max: number,
): Promise<readonly ClaimedRow[]> {
  const claimed: ClaimedRow[] = [];
  for (const { sql, column, params } of conditionsOf(selection)) {
    const left = max - claimed.length;
    if (left === 0) break;
    const found = await queries.query<ClaimedRow>(
      `SELECT type, hash, ctid AS location FROM tessera_mappings m WHERE ${sql} ORDER BY ${column}
        LIMIT ${left + claim.takenElsewhere} ${claim.lockRows}`,
      params,
    );
    claimed.push(...claim.takeRows(found, left));
  }
  return claimed;
}

/** Locked or not: a worker that fails or is killed leaves its rows to the others. Takes no lock and waits for none. */
export async function isDueRowLeft(queries: Queries, selection: DueSelection): Promise<boolean> {
  for (const { sql, params } of conditionsOf(selection)) {
    const rows = await queries.query(`SELECT 1 FROM tessera_mappings WHERE ${sql} LIMIT 1`, params);
    if (rows.length > 0) return true;
  }
  return false;
}

export async function countDueRows(queries: Queries, selection: DueSelection): Promise<number> {
  const conditions = conditionsOf(selection);
  // Not with `OR`: only a bitmap scan can use several indexes for that.
  const counts = conditions.map(({ sql }) => `(SELECT count(*) FROM tessera_mappings WHERE ${sql})`);
  const params = conditions.flatMap((condition) => condition.params);
  const [found] = await queries.query<{ count: number }>(`SELECT ${counts.join(' + ')} AS count`, params);
  return found!.count;
}

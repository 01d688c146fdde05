/**
 * Finds out which keys of a batch are to be requested, and claims them, in a step of a claim. Waits for no lock: such a statement
 * cannot be cancelled, and another process may hold the lock during a request.
 */

import type { Queries } from '../../database/index.ts';
import type { Claim } from './claim.ts';
import { type Key, textOf } from './key.ts';
import type { ClaimedRow } from './write-answers.ts';

/** When `map` requests a stored row again whose DII is in its source. */
export interface RemapCondition {
  /** Rows that are due at this time: the service's, epoch ms. */
  readonly dueAt: number;
  /** Opted-out and invalid rows that were answered before this time, which is the start of the job: the service's, epoch ms. */
  readonly answeredBefore: number;
  readonly version: 2 | 3;
}

function compareKeys(one: Key, other: Key): number {
  if (one.hash !== other.hash) return one.hash < other.hash ? -1 : 1;
  if (one.type === other.type) return 0;
  return one.type < other.type ? -1 : 1;
}

/** Each key once, in the order of the primary key: sorting here is cheaper than in the database. */
export function inKeyOrder(keys: readonly Key[]): Key[] {
  const sorted = [...keys].sort(compareKeys);
  return sorted.filter((key, i) => i === 0 || compareKeys(sorted[i - 1]!, key) !== 0);
}

/**
 * Lock a batch, by its first key, until the end of the transaction, so that processes with the same source do not request it
 * twice. Another batch with that key merely waits. `keys`: at least one, in key order. False if another transaction holds the
 * lock.
 */
export async function lockBatch(queries: Queries, [first]: readonly Key[]): Promise<boolean> {
  const [found] = await queries.query<{ isLocked: boolean }>(
    'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS "isLocked"',
    [`tessera_mappings ${textOf(first!)}`],
  );
  return found!.isLocked;
}

/** The keys of a batch that need a request. The others are stored and not due. */
export interface Needed {
  readonly missing: readonly Key[];
  readonly rows: readonly ClaimedRow[];
  /** Keys that another job has claimed: try them again later. */
  readonly claimedElsewhere: readonly Key[];
}

/** Not a join with the types: both engines find an array of hashes faster, and one hash hardly ever has both types. */
const GIVEN = 'FROM tessera_mappings m WHERE m.hash = ANY($1::text[])';

const IS_NEEDED = `(m.due_at <= $2 OR m.state IN ('optedOut', 'invalid') AND m.answered_at < $3
  OR $4 AND m.bucket_id IS NOT NULL)`;

export async function claimNeeded(
  queries: Queries,
  claim: Claim,
  keys: readonly Key[],
  { dueAt, answeredBefore, version }: RemapCondition,
): Promise<Needed> {
  if (claim.kind === 'postgres' && !(await lockBatch(queries, keys)))
    return { missing: [], rows: [], claimedElsewhere: keys };
  // Taken before the look-up, so that it sees what earlier claims of these keys have written.
  const free = claim.take(keys);
  const paramsOf = (some: readonly Key[]) => [some.map(({ hash }) => hash), dueAt, answeredBefore, version === 3];
  const stored = await queries.query<Key & { isNeeded: boolean }>(
    `SELECT m.type, m.hash, ${IS_NEEDED} IS TRUE AS "isNeeded" ${GIVEN}`,
    paramsOf(free),
  );
  const isNeeded = new Map(stored.map((row) => [textOf(row), row.isNeeded]));
  claim.release(stored.length === 0 ? [] : free.filter((key) => isNeeded.get(textOf(key)) === false));
  const missing = stored.length === 0 ? free : free.filter((key) => !isNeeded.has(textOf(key)));
  const stale = stored.length === 0 ? [] : free.filter((key) => isNeeded.get(textOf(key)));
  // The condition is repeated: a row may have changed before it was locked.
  const locked =
    stale.length === 0
      ? []
      : await queries.query<ClaimedRow>(
          `SELECT m.type, m.hash, m.ctid AS location ${GIVEN} AND ${IS_NEEDED} ${claim.lockRows}`,
          paramsOf(stale),
        );
  const rowOf = new Map(locked.map((row) => [textOf(row), row]));
  const rows = stale.flatMap((key) => rowOf.get(textOf(key)) ?? []);
  if (free.length === keys.length && rows.length === stale.length) return { missing, rows, claimedElsewhere: [] };
  const taken = new Set(free);
  const claimedElsewhere = [
    ...stale.filter((key) => !rowOf.has(textOf(key))),
    ...keys.filter((key) => !taken.has(key)),
  ];
  return { missing, rows, claimedElsewhere };
}

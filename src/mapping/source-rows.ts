/**
 * The rows of a batch of a source: finds out which of its keys are to be requested, and locks them.
 *
 * Nothing here waits for a lock: another process may hold it for the duration of a request, and a statement that waits for a lock
 * cannot be cancelled.
 *
 * All functions expect the queries of an `indexedTransaction`.
 */

import type { Queries } from '../database/index.ts';
import type { Key } from './key.ts';
import type { LockedRow } from './write-answers.ts';

/** When `map` requests a stored row again whose DII is in its source. */
export interface RemapCondition {
  /** Rows that are due at this time: the service's, epoch ms. */
  readonly dueAt: number;
  /** Opted-out and invalid rows that were answered before this time, which is the start of the job: the service's, epoch ms. */
  readonly answeredBefore: number;
  readonly version: 2 | 3;
}

/** Each key once, in the order of the primary key: sorting here is cheaper than in the database. */
export function inKeyOrder(keys: readonly Key[]): Key[] {
  const byText = new Map(keys.map((key) => [`${key.hash} ${key.type}`, key]));
  return [...byText.keys()].sort().map((text) => byText.get(text)!);
}

/**
 * Lock a batch until the end of the transaction, so that processes with the same source do not request it twice. The lock is
 * named by the first key; another batch with the same first key merely has to wait.
 *
 * @param keys  at least one, in key order.
 * @returns false if another transaction holds the lock.
 */
export async function lockBatch(queries: Queries, [first]: readonly Key[]): Promise<boolean> {
  const [found] = await queries.query<{ isLocked: boolean }>(
    'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS "isLocked"',
    [`tessera_mappings ${first!.hash} ${first!.type}`],
  );
  return found!.isLocked;
}

/** The keys of a batch that need a request. The others are stored and not due. */
export interface Needed {
  /** Keys that are not stored, in key order. */
  readonly missing: readonly Key[];
  /** Stored rows that this transaction has locked now. */
  readonly rows: readonly LockedRow[];
  /** Keys whose rows another transaction has locked: try them again later. */
  readonly lockedElsewhere: readonly Key[];
}

const arraysOf = (keys: readonly Key[]) => [keys.map(({ type }) => type), keys.map(({ hash }) => hash)];

const GIVEN_ROWS = `unnest($1::text[], $2::text[]) WITH ORDINALITY AS given (type, hash, number)
  JOIN tessera_mappings m ON m.type = given.type AND m.hash = given.hash`;

const IS_NEEDED = `(m.due_at <= $3 OR m.state IN ('optedOut', 'invalid') AND m.answered_at < $4
  OR $5 AND m.bucket_id IS NOT NULL)`;

/** Find the keys that need a request, and lock their rows. */
export async function lockNeeded(queries: Queries, keys: readonly Key[], condition: RemapCondition): Promise<Needed> {
  const conditionParams = [condition.dueAt, condition.answeredBefore, condition.version === 3];
  const stored = await queries.query<{ number: number; isNeeded: boolean }>(
    `SELECT given.number, ${IS_NEEDED} IS TRUE AS "isNeeded" FROM ${GIVEN_ROWS}`,
    [...arraysOf(keys), ...conditionParams],
  );
  const numbers = new Set(stored.map(({ number }) => number));
  const missing = keys.filter((_, i) => !numbers.has(i + 1));
  const needed = stored.filter(({ isNeeded }) => isNeeded).map(({ number }) => keys[number - 1]!);
  if (needed.length === 0) return { missing, rows: [], lockedElsewhere: [] };
  // The condition is repeated: a row may have changed before it was locked.
  const locked = await queries.query<{ number: number; location: string }>(
    `SELECT given.number, m.ctid AS location FROM ${GIVEN_ROWS} WHERE ${IS_NEEDED} FOR UPDATE OF m SKIP LOCKED`,
    [...arraysOf(needed), ...conditionParams],
  );
  const locations = new Map(locked.map(({ number, location }) => [number, location]));
  const rows: LockedRow[] = [];
  const lockedElsewhere: Key[] = [];
  for (const [i, key] of needed.entries()) {
    const location = locations.get(i + 1);
    if (location === undefined) lockedElsewhere.push(key);
    else rows.push({ ...key, location });
  }
  return { missing, rows, lockedElsewhere };
}

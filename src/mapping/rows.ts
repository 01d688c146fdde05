/**
 * The rows of a job: putting them down as pending, claiming them, writing what the service has answered.
 *
 * A claim is a row lock of the database, held by the transaction that will write the answer. `SKIP LOCKED` makes several
 * workers share a job, and a worker that is killed lets go of its claims at once: there is nothing to clean up.
 *
 * All of it is meant for transactions of `by-index.ts`.
 */

import type { Queries } from '../database/contract.ts';
import type { Answer } from './ask.ts';
import type { Key } from './key.ts';
import { ASKED_FOR } from './tables.ts';

/** What makes a stored row worth asking for again, when `map` is given its DII. */
export interface Again {
  /** Due by now: the service's time, epoch ms. */
  readonly dueAt: number;
  /** Opted-out and invalid ones that were answered before: when the job began, by the service's time, epoch ms. */
  readonly answeredBefore: number;
  readonly version: 2 | 3;
}

// What version 2 has mapped has a bucket, and is due under version 3: written out once, for all that must agree on it.
const FROM_V2 = 'bucket_id IS NOT NULL';

/**
 * Put keys down as pending, unless they are stored and need not be asked for again.
 *
 * @returns how many are to be asked for.
 */
export async function putDown(queries: Queries, keys: readonly Key[], again: Again): Promise<number> {
  // In one order everywhere, so that workers with the same source never wait for each other in a circle.
  const [put] = await queries.query<{ count: number }>(
    `WITH given AS MATERIALIZED (
      SELECT DISTINCT type, hash FROM unnest($1::text[], $2::text[]) AS key (type, hash)
    ), added AS (
      INSERT INTO tessera_mappings (type, hash, state, due_at)
        SELECT type COLLATE "C", hash COLLATE "C", 'pending', ${ASKED_FOR} FROM given ORDER BY 1, 2
        ON CONFLICT DO NOTHING RETURNING 1
    ), found AS (
      SELECT m.type, m.hash FROM given JOIN tessera_mappings m ON m.type = given.type AND m.hash = given.hash
        WHERE m.due_at IS DISTINCT FROM ${ASKED_FOR} AND (m.due_at <= $3
          OR m.state IN ('optedOut', 'invalid') AND m.answered_at < $4
          OR $5 AND m.${FROM_V2})
        ORDER BY m.type, m.hash FOR UPDATE OF m
    ), asked AS (
      UPDATE tessera_mappings m SET due_at = ${ASKED_FOR} FROM found
        WHERE m.type = found.type AND m.hash = found.hash RETURNING 1
    )
    SELECT ((SELECT count(*) FROM added) + (SELECT count(*) FROM asked))::integer AS count`,
    [
      keys.map(({ type }) => type),
      keys.map(({ hash }) => hash),
      again.dueAt,
      again.answeredBefore,
      again.version === 3,
    ],
  );
  return put!.count;
}

/** Which rows a job asks for. `what`: those that a source holds, or all that is due, up to `until` (epoch ms). */
export type Wanted = { readonly what: 'askedFor' } | { readonly what: 'due'; until(): number; readonly version: 2 | 3 };

// Conditions by which the partial indexes are found; the second is looked at when there is nothing left of the first.
const conditionsOf = (wanted: Wanted): readonly (readonly [condition: string, ...params: number[]])[] => {
  if (wanted.what === 'askedFor') return [[`due_at = ${ASKED_FOR}`]];
  const due = ['due_at <= $1', wanted.until()] as const;
  return wanted.version === 3 ? [due, [FROM_V2]] : [due];
};

/** Claim at most `most` rows for the transaction of `queries`: those that nobody else has claimed. */
export async function claim(queries: Queries, wanted: Wanted, most: number): Promise<Key[]> {
  for (const [condition, ...params] of conditionsOf(wanted)) {
    const order = condition === FROM_V2 ? 'bucket_id' : 'due_at';
    const keys = await queries.query<Key>(
      `SELECT type, hash FROM tessera_mappings WHERE ${condition} ORDER BY ${order} LIMIT ${most}
        FOR UPDATE SKIP LOCKED`,
      params,
    );
    if (keys.length > 0) return keys;
  }
  return [];
}

/**
 * Wait until a row is to be had, or until whoever has claimed the rest is done with it.
 *
 * @returns whether there is one: a worker that was killed or has failed leaves its rows to the others.
 */
export async function waitForOthers(queries: Queries, wanted: Wanted): Promise<boolean> {
  for (const [condition, ...params] of conditionsOf(wanted)) {
    const rows = await queries.query(`SELECT 1 FROM tessera_mappings WHERE ${condition} LIMIT 1 FOR UPDATE`, params);
    if (rows.length > 0) return true;
  }
  return false;
}

/** How many rows a job is going to ask for. */
export async function countWanted(queries: Queries, wanted: Wanted): Promise<number> {
  const [condition, ...params] = conditionsOf(wanted)[0]!;
  const all = conditionsOf(wanted).length > 1 ? `(${condition} OR ${FROM_V2})` : condition;
  const [found] = await queries.query<{ count: number }>(`SELECT count(*) FROM tessera_mappings WHERE ${all}`, params);
  return found!.count;
}

/** Write answers over the rows that the transaction of `queries` has claimed. */
export async function write(queries: Queries, answers: readonly Answer[]): Promise<void> {
  await queries.query(
    `UPDATE tessera_mappings AS m SET state = a.state, raw_id = a.raw_id, previous_raw_id = a.previous_raw_id,
        remap_at = a.remap_at, bucket_id = a.bucket_id, answered_at = a.answered_at, due_at = a.due_at
      FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::bigint[],
        $9::bigint[]) AS a (type, hash, state, raw_id, previous_raw_id, remap_at, bucket_id, answered_at, due_at)
      WHERE m.type = a.type AND m.hash = a.hash`,
    [
      answers.map(({ type }) => type),
      answers.map(({ hash }) => hash),
      answers.map(({ state }) => state),
      answers.map(({ rawId }) => rawId),
      answers.map(({ previousRawId }) => previousRawId),
      answers.map(({ remapAt }) => remapAt),
      answers.map(({ bucketId }) => bucketId),
      answers.map(({ answeredAt }) => answeredAt),
      answers.map(({ dueAt }) => dueAt),
    ],
  );
}

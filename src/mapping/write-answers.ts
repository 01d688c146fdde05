/**
 * Writes the answers of the service: to rows that the transaction has locked, and as new rows.
 */

import type { Queries, Value } from '../database/index.ts';
import type { Key } from './key.ts';
import type { AnsweredRow } from './mapping-request.ts';

/** A stored row that a transaction has locked. */
export interface LockedRow extends Key {
  /** Where the row is stored (`ctid`). It stays there until the transaction ends, and is found without the index. */
  readonly location: string;
}

/** A column of rows as a parameter of `unnest`, which fills a shorter one with nulls: a column without values is empty. */
const columnOf = (values: readonly (string | number | null)[]) =>
  values.some((value) => value !== null) ? values : [];

const ANSWER_COLUMNS = 'state, raw_id, previous_raw_id, remap_at, bucket_id, answered_at';
const ANSWER_ARRAYS = '$2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::bigint[]';
const DUE_AT = 'CASE WHEN a.remap_at IS NOT NULL THEN greatest(a.remap_at, $8::bigint) END';

/** The parameters `$2` to `$8`. */
const answerParams = (rows: readonly AnsweredRow[], latestAt: number): Value[] => [
  rows.map(({ state }) => state),
  columnOf(rows.map(({ rawId }) => rawId)),
  columnOf(rows.map(({ previousRawId }) => previousRawId)),
  columnOf(rows.map(({ remapAt }) => remapAt)),
  columnOf(rows.map(({ bucketId }) => bucketId)),
  rows.map(({ answeredAt }) => answeredAt),
  // If the service names a time in the past, the next run asks again. This one, which requests what is due at an earlier answer, would
  // never end.
  latestAt + 1,
];

/**
 * Write the answers to locked rows.
 *
 * @param answers   `answers[i]` is the answer for `locked[i]`.
 * @param latestAt  the latest time of an answer so far, by the service's clock, epoch ms.
 */
export async function updateRows(
  queries: Queries,
  locked: readonly LockedRow[],
  answers: readonly AnsweredRow[],
  latestAt: number,
): Promise<void> {
  await queries.query(
    `UPDATE tessera_mappings AS m SET state = a.state, raw_id = a.raw_id, previous_raw_id = a.previous_raw_id,
        remap_at = a.remap_at, bucket_id = a.bucket_id, answered_at = a.answered_at, due_at = ${DUE_AT}
      FROM unnest($1::tid[], ${ANSWER_ARRAYS}) AS a (location, ${ANSWER_COLUMNS})
      WHERE m.ctid = a.location`,
    [answers.map((_, i) => locked[i]!.location), ...answerParams(answers, latestAt)],
  );
}

/** How other transactions may change the table while this one runs. */
export type Concurrency = 'concurrent' | 'alone';

/**
 * Insert the answers as new rows. One that another transaction has inserted in the meantime stays: its answer is as recent.
 *
 * @param answers      in the order of the primary key. Inserted in the same order everywhere, so that two transactions that insert
 *   the same keys cannot deadlock.
 * @param latestAt     see {@link updateRows}.
 * @param concurrency  `alone`: no other transaction runs, and the keys are known to be missing. PGlite spends a third of the
 *   insert on the check for conflicts.
 */
export async function insertRows(
  queries: Queries,
  answers: readonly AnsweredRow[],
  latestAt: number,
  concurrency: Concurrency,
): Promise<void> {
  await queries.query(
    `INSERT INTO tessera_mappings (type, hash, ${ANSWER_COLUMNS}, due_at)
      SELECT a.type, a.hash, a.state, a.raw_id, a.previous_raw_id, a.remap_at, a.bucket_id, a.answered_at, ${DUE_AT}
        FROM unnest($1::text[], ${ANSWER_ARRAYS}, $9::text[]) AS a (type, ${ANSWER_COLUMNS}, hash)
      ${concurrency === 'alone' ? '' : 'ON CONFLICT DO NOTHING'}`,
    [answers.map(({ type }) => type), ...answerParams(answers, latestAt), answers.map(({ hash }) => hash)],
  );
}

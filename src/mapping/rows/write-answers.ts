/** Writes the answers of the service: to claimed rows, and as new rows. */

import type { Queries, Value } from '../../database/index.ts';
import type { Claim } from './claim.ts';
import type { Key } from './key.ts';
import type { AnsweredRow } from './mapping-request.ts';

export interface ClaimedRow extends Key {
  /** Where the row was stored when it was read (`ctid`): it is found there without the index. */
  readonly location: string;
}

const COLUMNS: readonly (readonly [name: string, type: string, read: (row: AnsweredRow) => string | number | null])[] =
  [
    ['type', 'text', ({ type }) => type],
    ['state', 'text', ({ state }) => state],
    ['raw_id', 'text', ({ rawId }) => rawId],
    ['previous_raw_id', 'text', ({ previousRawId }) => previousRawId],
    ['remap_at', 'bigint', ({ remapAt }) => remapAt],
    ['bucket_id', 'text', ({ bucketId }) => bucketId],
    ['answered_at', 'bigint', ({ answeredAt }) => answeredAt],
  ];
const NAMES = COLUMNS.map(([name]) => name);

function arrayNumber(column: number): number {
  return 2 * column + 2;
}

const arrays = COLUMNS.map(([, type], i) => `$${arrayNumber(i)}::${type}[]`);
const values = COLUMNS.map(([name, type], i) => `coalesce(given.${name}, $${arrayNumber(i) + 1}::${type}) AS ${name}`);

/** The answers as table `a`, with the column `place` that `$1` gives. `unnest` fills shorter arrays with nulls. */
const ANSWERS = `(SELECT given.place, ${values.join(', ')}
  FROM unnest($1::text[], ${arrays.join(', ')}) AS given (place, ${NAMES.join(', ')})) AS a`;
const DUE_AT = `CASE WHEN a.remap_at IS NOT NULL THEN greatest(a.remap_at, $${arrayNumber(COLUMNS.length)}::bigint) END`;

/** For `ANSWERS` and `DUE_AT`. A column whose values are all equal is sent as one value, which saves a tenth of the insert. */
function paramsOf(places: readonly string[], answers: readonly AnsweredRow[], latestAt: number): Value[] {
  const columns = COLUMNS.flatMap(([, , read]): Value[] => {
    const column = answers.map(read);
    return column.every((value) => value === column[0]) ? [[], column[0] ?? null] : [column, null];
  });
  // A row is due after the latest answer at the earliest, even if the service names a past time: this run would never end.
  return [places, ...columns, latestAt + 1];
}

function assignmentsFrom(table: 'a' | 'excluded'): string {
  return NAMES.filter((name) => name !== 'type')
    .map((name) => `${name} = ${table}.${name}`)
    .join(', ');
}

const REPLACE_OLDER = `ON CONFLICT (hash, type) DO UPDATE SET ${assignmentsFrom('excluded')},
  due_at = excluded.due_at WHERE m.answered_at < excluded.answered_at`;

/**
 * `answers[i]`, one at least, is that for `claimed[i]`; a row deleted in the meantime stays deleted. `latestAt`: of all answers
 * so far.
 */
export async function updateRows(
  queries: Queries,
  { kind }: Claim,
  claimed: readonly ClaimedRow[],
  answers: readonly AnsweredRow[],
  latestAt: number,
): Promise<void> {
  const isPlaced = kind === 'postgres';
  const places = answers.map(({ hash }, i) => (isPlaced ? claimed[i]!.location : hash));
  await queries.query(
    `UPDATE tessera_mappings AS m SET ${assignmentsFrom('a')}, due_at = ${DUE_AT}
      FROM ${ANSWERS} WHERE ${isPlaced ? 'm.ctid = a.place::tid' : 'm.hash = a.place AND m.type = a.type'}`,
    paramsOf(places, answers, latestAt),
  );
}

/**
 * On PostgreSQL another process may have inserted the same keys in the meantime: the later answer of the service counts. PGlite
 * would spend a third of the insert on the search for such rows; there the claim rules them out.
 * @param answers  at least one, in the order of the primary key everywhere, so that two transactions with the same keys cannot
 *   deadlock.
 */
export async function insertRows(
  queries: Queries,
  { kind }: Claim,
  answers: readonly AnsweredRow[],
  latestAt: number,
): Promise<void> {
  await queries.query(
    `INSERT INTO tessera_mappings AS m (hash, ${NAMES.join(', ')}, due_at)
      SELECT a.place, ${NAMES.map((name) => `a.${name}`).join(', ')}, ${DUE_AT} FROM ${ANSWERS}
      ${kind === 'postgres' ? REPLACE_OLDER : ''}`,
    paramsOf(
      answers.map(({ hash }) => hash),
      answers,
      latestAt,
    ),
  );
}

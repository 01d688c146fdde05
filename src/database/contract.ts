/**
 * What a database does, whichever engine it is.
 *
 * The dialect is PostgreSQL's. Both engines take and give the same values:
 *
 * | SQL | in | out |
 * |---|---|---|
 * | `bigint`, `integer` | number | number, so whole numbers up to 2^53 |
 * | `text` | string, without U+0000 | string |
 * | `bytea` | Uint8Array | Uint8Array |
 * | `boolean` | boolean | boolean |
 * | `jsonb` | text of JSON, as `$1::text::jsonb` | what the JSON says |
 * | arrays of these | array | array |
 * | NULL | null | null |
 *
 * Instants are `bigint`, epoch ms.
 */

/** A value of a parameter. */
export type Value = null | boolean | number | string | Uint8Array | readonly Value[];

/** One row of an answer. */
export type Row = Record<string, unknown>;

/** Where statements go: a database, or a transaction of it. */
export interface Queries {
  /**
   * Run one statement and read its rows. A statement alone is a transaction of its own.
   *
   * @param sql     one statement; `$1`, `$2` stand for the parameters.
   * @throws {TokenError} `storage_failed`; `closed` after `close`. No parameter, row or password is in the message.
   * @example
   * const [found] = await database.query<{ since: number }>('SELECT since FROM opt_outs WHERE owner = $1', [owner]);
   */
  query<R extends object = Row>(sql: string, params?: readonly Value[]): Promise<R[]>;
  /** Run statements without parameters, separated by semicolons, all or none. */
  script(sql: string): Promise<void>;
}

/** An open database. */
export interface Database extends Queries {
  readonly kind: 'pglite' | 'postgres';
  /**
   * Run several statements all or none (read committed). What `work` throws undoes them, and is thrown on.
   *
   * Inside, only the given queries may be used: the database itself may wait for this transaction to end.
   */
  transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T>;
  /** Let statements under way end, then let go. The same promise for every call. */
  close(): Promise<void>;
}

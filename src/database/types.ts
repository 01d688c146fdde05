/**
 * A database, for both engines, in PostgreSQL's dialect. Both accept and return the same values:
 *
 * | SQL | in | out |
 * |---|---|---|
 * | `bigint`, `integer` | number | number: whole numbers up to 2^53 |
 * | `text` | string, without U+0000 | string |
 * | `bytea` | Uint8Array | Uint8Array |
 * | `boolean` | boolean | boolean |
 * | `jsonb` | JSON as a string, with `$1::text::jsonb` | the parsed value |
 * | `text[]`, `bigint[]` | array for `$1::text[]`; null is allowed as an element | array |
 * | NULL | null | null |
 *
 * Instants are `bigint`, epoch ms. Names of tables begin with `tessera_`, and nothing else does (`schema-names.ts`).
 */

/** The value of a parameter. */
export type Value = null | boolean | number | string | Uint8Array | readonly Value[];

/** One row of a result. */
export type Row = Record<string, unknown>;

/** Runs statements: a database, or one of its transactions. */
export interface Queries {
  /**
   * Run one statement, with `$1`, `$2` for the parameters, and return its rows. A single statement is its own transaction.
   *
   * @throws {TokenError} `storage_failed`; `closed` after `close`. The message contains no parameter, row or password.
   * @example
   * const [found] = await database.query<{ since: number }>('SELECT since FROM opt_outs WHERE owner = $1', [owner]);
   */
  query<R extends object = Row>(sql: string, params?: readonly Value[]): Promise<R[]>;
  /** Run several statements, separated by semicolons and without parameters, all or none. */
  script(sql: string): Promise<void>;
}

/** An open database. */
export interface Database extends Queries {
  readonly kind: 'pglite' | 'postgres';
  /**
   * Run a transaction (read committed). If `work` throws, everything is rolled back and the error is rethrown. It must not catch the error of a statement, and use only
   * the `queries` that it receives: the database itself may wait for this transaction to end.
   *
   * @param options  `isMigration`: it creates and changes tables; its statements have no time limit. Default: false.
   * @example
   * await database.transaction(async ({ query }) => {
   *   await query('UPDATE accounts SET balance = balance - $1 WHERE id = 1', [amount]);
   *   await query('UPDATE accounts SET balance = balance + $1 WHERE id = 2', [amount]);
   * });
   */
  transaction<T>(work: (queries: Queries) => Promise<T>, options?: { readonly isMigration?: boolean }): Promise<T>;
  /**
   * Open a separate connection that listens on a channel (LISTEN and NOTIFY), an identifier in lower case. Only a database that
   * several processes share has this method. The caller must close the connection: `close` of the database does not.
   *
   * @example
   * const subscription = await database.subscribe?.('changes', () => readChanges());
   */
  subscribe?(channel: string, onNotification: () => void): Promise<Subscription>;
  /** Wait for the statements in flight, then disconnect. Every call returns the same promise. */
  close(): Promise<void>;
}

/** A connection that listens on a channel. */
export interface Subscription {
  /** Run a statement on this connection, as {@link Queries.query}. Rejects once the connection is broken. */
  readonly query: Queries['query'];
  /** Aborted when the connection has ended, for any reason. */
  readonly ended: AbortSignal;
  /** Disconnect, even from a server that does not answer. May be called more than once. */
  close(): void;
}

/** Options of `openDatabase`. */
export interface DatabaseOptions {
  /** Maximum number of connections, only for PostgreSQL. Default 10. */
  readonly connections?: number | undefined;
  /** For one statement, ms, only for PostgreSQL. With it, a connection is awaited for 5 s, else 10 s. Default: no limit. */
  readonly statementTimeoutMs?: number | undefined;
}

/**
 * PostgreSQL by URL, through the connection pool of the `pg` package.
 *
 * Any number of processes may share a database. `pg` reads what the URL leaves out from the usual environment variables:
 * `PGPASSWORD` keeps a password out of command lines.
 */

import type { PoolClient } from 'pg';
import { storageError } from './engine-errors.ts';
import { createOperationTracker } from './operation-tracker.ts';
import { loadPg } from './packages.ts';
import { guardTransaction } from './transaction-guard.ts';
import type { Database, Queries, Row, Value } from './types.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const MAX_CONNECTIONS = 10;

// OIDs of types in PostgreSQL.
const INT8 = 20;
const INT8_ARRAY = 1016;
const BYTEA = 17;
const BYTEA_ARRAY = 1001;

type Types = Parameters<typeof import('pg').types.getTypeParser>[0];

const plainBytes = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Open a pool and check that the server answers. */
export async function openPostgres(url: string, connections = MAX_CONNECTIONS): Promise<Database> {
  const { Pool, types } = await loadPg();
  const parserOf = (type: number, format?: 'text') => types.getTypeParser(type as Types, format) as unknown;
  const parseBytes = parserOf(BYTEA) as (text: string) => Uint8Array;
  const parseArray = parserOf(INT8_ARRAY) as (text: string) => (string | null)[];
  const parseByteArray = parserOf(BYTEA_ARRAY) as (text: string) => (Uint8Array | null)[];
  const parsers = new Map<number, (text: string) => unknown>([
    [INT8, Number],
    [INT8_ARRAY, (text) => parseArray(text).map((item) => (item === null ? null : Number(item)))],
    [BYTEA, (text) => plainBytes(parseBytes(text))],
    [BYTEA_ARRAY, (text) => parseByteArray(text).map((item) => item && plainBytes(item))],
  ]);

  const queriesOn = (target: { query(sql: string, params?: unknown[]): Promise<{ rows: unknown[] }> }): Queries => ({
    query: async <R extends object = Row>(sql: string, params: readonly Value[] = []) => {
      try {
        return (await target.query(sql, [...params])).rows as R[];
      } catch (error) {
        throw storageError(error, 'a statement failed');
      }
    },
    script: async (sql) => {
      try {
        await target.query(sql);
      } catch (error) {
        throw storageError(error, 'a script failed');
      }
    },
  });

  const connect = async (): Promise<PoolClient> => {
    try {
      return await pool.connect();
    } catch (error) {
      throw storageError(error, 'cannot connect to PostgreSQL');
    }
  };

  const transaction = async <T>(work: (queries: Queries) => Promise<T>): Promise<T> => {
    const client = await connect();
    // A connection that breaks between two statements emits this event. Without a listener it would end the process.
    let broken: Error | undefined;
    const onError = (error: Error): void => {
      broken = error;
    };
    client.on('error', onError);
    const queries = queriesOn(client);
    const guarded = guardTransaction(queries);
    try {
      await queries.script('BEGIN ISOLATION LEVEL READ COMMITTED');
      const result = await work(guarded);
      guarded.assertNoneFailed();
      await queries.script('COMMIT');
      return result;
    } catch (error) {
      await client.query('ROLLBACK').catch((failed: Error) => {
        broken ??= failed;
      });
      throw error;
    } finally {
      client.off('error', onError);
      // With an error, the pool discards the connection.
      client.release(broken);
    }
  };

  const pool = new Pool({
    connectionString: url,
    application_name: 'tessera',
    max: connections,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    types: {
      getTypeParser: ((type: number, format?: 'text') =>
        parsers.get(type) ?? parserOf(type, format)) as typeof types.getTypeParser,
    },
  });
  // The pool replaces an idle connection that breaks. Without a listener the event would end the process.
  pool.on('error', () => {});
  try {
    (await connect()).release();
  } catch (error) {
    await pool.end();
    throw error;
  }

  const { run, close: waitForOperations } = createOperationTracker();
  const queries = queriesOn(pool);
  let closing: Promise<void> | undefined;
  return {
    kind: 'postgres',
    query: (sql, params) => run(() => queries.query(sql, params)),
    script: (sql) => run(() => queries.script(sql)),
    transaction: (work) => run(() => transaction(work)),
    close: () => (closing ??= waitForOperations().then(() => pool.end())),
  };
}

/**
 * PostgreSQL by URL, through the connection pool of the `pg` package.
 *
 * Any number of processes may share a database. `pg` reads what the URL leaves out from the usual environment variables:
 * `PGPASSWORD` keeps a password out of command lines.
 */

import type { Pool, PoolClient } from 'pg';
import { storageError } from './engine-errors.ts';
import { createOperationTracker } from './operation-tracker.ts';
import { loadPg } from './packages.ts';
import { createQueries } from './queries.ts';
import { guardTransaction } from './transaction-guard.ts';
import type { Database, Queries } from './types.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const MAX_CONNECTIONS = 10;

// OIDs of types in PostgreSQL.
const INT8 = 20;
const INT8_ARRAY = 1016;
const BYTEA = 17;
const BYTEA_ARRAY = 1001;

type Pg = Awaited<ReturnType<typeof loadPg>>;
type GetTypeParser = Pg['types']['getTypeParser'];

const plainBytes = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);

// Parsers for the types that `pg` does not convert as `types.ts` says; its own for all others.
const createTypeParser = (types: Pg['types']): GetTypeParser => {
  const parserOf = (type: number, format?: 'text') =>
    types.getTypeParser(type as Parameters<GetTypeParser>[0], format) as unknown;
  const parseBytes = parserOf(BYTEA) as (text: string) => Uint8Array;
  const parseArray = parserOf(INT8_ARRAY) as (text: string) => (string | null)[];
  const parseByteArray = parserOf(BYTEA_ARRAY) as (text: string) => (Uint8Array | null)[];
  const parsers = new Map<number, (text: string) => unknown>([
    [INT8, Number],
    [INT8_ARRAY, (text) => parseArray(text).map((item) => (item === null ? null : Number(item)))],
    [BYTEA, (text) => plainBytes(parseBytes(text))],
    [BYTEA_ARRAY, (text) => parseByteArray(text).map((item) => item && plainBytes(item))],
  ]);
  return ((type: number, format?: 'text') => parsers.get(type) ?? parserOf(type, format)) as GetTypeParser;
};

const connect = async (pool: Pool): Promise<PoolClient> => {
  try {
    return await pool.connect();
  } catch (error) {
    throw storageError(error, 'cannot connect to PostgreSQL');
  }
};

// Opens a pool whose first connection has succeeded.
const openPool = async (url: string, connections: number): Promise<Pool> => {
  const { Pool, types } = await loadPg();
  const pool = new Pool({
    connectionString: url,
    application_name: 'tessera',
    max: connections,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    types: { getTypeParser: createTypeParser(types) },
  });
  // The pool replaces an idle connection that breaks. Without a listener the event would end the process.
  pool.on('error', () => {});
  try {
    (await connect(pool)).release();
  } catch (error) {
    await pool.end();
    throw error;
  }
  return pool;
};

const queriesOn = (target: Pick<Pool | PoolClient, 'query'>): Queries =>
  createQueries({ query: (sql, params) => target.query(sql, params), script: (sql) => target.query(sql) });

const runTransaction = async <T>(pool: Pool, work: (queries: Queries) => Promise<T>): Promise<T> => {
  const client = await connect(pool);
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

/** Open a pool and check that the server answers. */
export async function openPostgres(url: string, connections = MAX_CONNECTIONS): Promise<Database> {
  const pool = await openPool(url, connections);
  const queries = queriesOn(pool);
  const { run, close: waitForOperations } = createOperationTracker();
  let closing: Promise<void> | undefined;
  return {
    kind: 'postgres',
    query: (sql, params) => run(() => queries.query(sql, params)),
    script: (sql) => run(() => queries.script(sql)),
    transaction: (work) => run(() => runTransaction(pool, work)),
    close: () => (closing ??= waitForOperations().then(() => pool.end())),
  };
}

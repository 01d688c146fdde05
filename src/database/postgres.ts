/**
 * PostgreSQL by URL, through a pool of connections of the `pg` package.
 *
 * Any number of processes may share one. What the URL leaves out comes from the environment, as everywhere with
 * PostgreSQL: `PGPASSWORD` keeps a password out of command lines.
 */

import type { PoolClient } from 'pg';
import type { Database, Queries, Row, Value } from './contract.ts';
import { failure } from './failure.ts';
import { loadPg } from './packages.ts';
import { underWay } from './under-way.ts';
import { watch } from './watch.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const CONNECTIONS = 10;

// Numbers of types in PostgreSQL's catalogue.
const INT8 = 20;
const INT8_ARRAY = 1016;
const BYTEA = 17;
const BYTEA_ARRAY = 1001;

type Types = Parameters<typeof import('pg').types.getTypeParser>[0];

const plainBytes = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Open a pool and see that the server answers. */
export async function openPostgres(url: string, connections = CONNECTIONS): Promise<Database> {
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
        throw failure(error, 'a statement failed');
      }
    },
    script: async (sql) => {
      try {
        await target.query(sql);
      } catch (error) {
        throw failure(error, 'a script failed');
      }
    },
  });

  const connect = async (): Promise<PoolClient> => {
    try {
      return await pool.connect();
    } catch (error) {
      throw failure(error, 'cannot connect to PostgreSQL');
    }
  };

  const transaction = async <T>(work: (queries: Queries) => Promise<T>): Promise<T> => {
    const client = await connect();
    // A connection that breaks between two statements says so in this event, which kills the process when unheard.
    let broken: Error | undefined;
    const onError = (error: Error): void => {
      broken = error;
    };
    client.on('error', onError);
    const queries = queriesOn(client);
    const watched = watch(queries);
    try {
      await queries.script('BEGIN ISOLATION LEVEL READ COMMITTED');
      const result = await work(watched);
      watched.stillGood();
      await queries.script('COMMIT');
      return result;
    } catch (error) {
      await client.query('ROLLBACK').catch((failed: Error) => {
        broken ??= failed;
      });
      throw error;
    } finally {
      client.off('error', onError);
      // A broken one is not put back.
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
  // An idle connection broke: the pool has let it go, and makes another one when it is needed.
  pool.on('error', () => {});
  try {
    (await connect()).release();
  } catch (error) {
    await pool.end();
    throw error;
  }

  const { run, end } = underWay();
  const alone = queriesOn(pool);
  let closing: Promise<void> | undefined;
  return {
    kind: 'postgres',
    query: (sql, params) => run(() => alone.query(sql, params)),
    script: (sql) => run(() => alone.script(sql)),
    transaction: (work) => run(() => transaction(work)),
    close: () => (closing ??= end().then(() => pool.end())),
  };
}

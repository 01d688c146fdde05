/** PostgreSQL by URL, through the pool of `pg`, which reads what the URL omits from the usual environment variables. */

import type { Client, Pool, PoolClient } from 'pg';
import { isTokenError, type TokenError } from '../../token/index.ts';
import { withoutWarning } from '../commit-warning.ts';
import { storageError } from '../engine-errors.ts';
import { createOperationTracker } from '../operation-tracker.ts';
import { loadPg, type PgPackage } from '../packages.ts';
import { createQueries } from '../queries.ts';
import type { Database, DatabaseOptions, Queries, Subscription } from '../types.ts';
import { createClosingClient, destroySoon } from './postgres-client.ts';
import { checkTimeLimits, limitTransaction, timeLimits, withPoolerRemedy } from './postgres-time-limits.ts';
import { tlsOptions, withTlsRemedy } from './postgres-tls.ts';
import { getTypeParser } from './postgres-types.ts';
import { findSchema, qualified, schemaOf, setSchema } from './schema-names.ts';

const CONNECT_TIMEOUT_MS = 10_000;
/** For owners whose callers are waiting. */
const LIMITED_CONNECT_TIMEOUT_MS = 5000;
const MAX_CONNECTIONS = 10;
/** A connection stays with the server that it has reached, even after another server has taken over the name. */
const MAX_LIFETIME_SECONDS = 60;
/** After this time without traffic, Node probes the server once a second, up to ten times. The default on Linux is two hours. */
const KEEP_ALIVE_DELAY_MS = 10_000;
const QUERY_MARGIN_MS = 1000;
/** How long a pool stays as small as a server without free connections has made it. */
const SMALL_POOL_MS = 10_000;

async function connect(pool: Pool): Promise<PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw withPoolerRemedy(withTlsRemedy(storageError(error, 'cannot connect to PostgreSQL')));
  }
}

function connectionConfig(url: string, pg: PgPackage, { statementTimeoutMs }: DatabaseOptions) {
  return {
    connectionString: url,
    ...tlsOptions(url, pg),
    application_name: 'tessera',
    connectionTimeoutMillis: statementTimeoutMs === undefined ? CONNECT_TIMEOUT_MS : LIMITED_CONNECT_TIMEOUT_MS,
    ...timeLimits(statementTimeoutMs),
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
    types: { getTypeParser: getTypeParser as PgPackage['types']['getTypeParser'] },
  };
}

function endsWith(error: unknown, end: string): error is TokenError {
  return isTokenError(error) && error.message.endsWith(end);
}

interface QueryOptions {
  /** The server ends a statement after this time, ms. The client waits slightly longer for a server that does not answer at all. */
  readonly timeoutMs: number | undefined;
  /** That of our tables; undefined for statements without the name of a table, and for those that {@link setSchema} precedes. */
  readonly schema?: string | undefined;
  /** Returns why the connection was lost, because the error of a later statement does not say it. */
  readonly lostBy?: () => Error | undefined;
}

function queriesOn(
  target: Pick<Pool | PoolClient | Client, 'query'>,
  { timeoutMs, schema, lostBy = () => undefined }: QueryOptions,
): Queries {
  // `query_timeout` is an option of `pg` that is missing in its types.
  const limit = timeoutMs === undefined ? {} : { query_timeout: timeoutMs + QUERY_MARGIN_MS };
  const send = async (text: string, values?: unknown[]) => {
    try {
      const named = schema === undefined ? text : qualified(text, schema);
      return await target.query({ text: named, ...(values && { values }), ...limit });
    } catch (error) {
      const loss = lostBy();
      throw loss ? storageError(loss, 'a connection is lost') : error;
    }
  };
  return createQueries({ query: send, script: send });
}

async function openPool(url: string, options: DatabaseOptions): Promise<{ pool: Pool; schema: string }> {
  const given = schemaOf(url);
  const pg = await loadPg();
  const pool = new pg.Pool({
    ...connectionConfig(url, pg, options),
    Client: createClosingClient(pg),
    max: options.connections ?? MAX_CONNECTIONS,
    maxLifetimeSeconds: MAX_LIFETIME_SECONDS,
  });
  // The pool replaces an idle connection that breaks. Without a listener, the event would end the process.
  pool.on('error', () => {});
  try {
    (await connect(pool)).release();
    const { statementTimeoutMs: timeoutMs } = options;
    if (timeoutMs !== undefined) await checkTimeLimits(queriesOn(pool, { timeoutMs }));
    const schema = await runTransaction(pool, (queries) => findSchema(queries, given), { timeoutMs });
    return { pool, schema };
  } catch (error) {
    await pool.end();
    throw error;
  }
}

async function runTransaction<T>(
  pool: Pool,
  work: (queries: Queries) => Promise<T>,
  { timeoutMs, schema, isMigration = false }: QueryOptions & { readonly isMigration?: boolean },
): Promise<T> {
  const client = await connect(pool);
  // A connection that breaks between two statements emits this event. Without a listener, it would end the process.
  let broken: Error | undefined;
  const onError = (error: Error): void => {
    broken ??= error;
  };
  client.on('error', onError);
  const lostBy = () => broken;
  const queries = queriesOn(client, isMigration ? { timeoutMs: undefined, lostBy } : { timeoutMs, schema, lostBy });
  try {
    // Set here, not by session, which a pooler may share with others. A role may hide the warnings that `withoutWarning` waits for.
    await queries.script(
      `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL client_min_messages = warning${limitTransaction(isMigration ? 0 : timeoutMs)}`,
    );
    if (isMigration && schema !== undefined) await setSchema(queries, schema);
    const result = await work(queries);
    await withoutWarning(client, () => queries.script('COMMIT'));
    return result;
  } catch (error) {
    // Do not queue the rollback behind a statement that is still running: discarding the connection also rolls back.
    if (endsWith(error, 'Query read timeout')) broken ??= error;
    else
      await queries.script('ROLLBACK').catch((failed: Error) => {
        broken ??= failed;
      });
    throw error;
  } finally {
    client.off('error', onError);
    // If there is an error, the pool discards the connection.
    client.release(broken);
  }
}

async function subscribe(
  url: string,
  schema: string,
  options: DatabaseOptions,
  channel: string,
  onNotification: () => void,
): Promise<Subscription> {
  const pg = await loadPg();
  const client = new pg.Client(connectionConfig(url, pg, options));
  const ended = new AbortController();
  let isClosed = false;
  let lostBy: Error | undefined;
  const close = (): void => {
    if (isClosed) return;
    isClosed = true;
    ended.abort();
    client.end().catch(() => {});
    destroySoon(client);
  };
  client.on('error', (error) => {
    lostBy ??= error;
    close();
  });
  client.on('end', close);
  client.on('notification', onNotification);
  const { statementTimeoutMs: timeoutMs } = options;
  const { query } = queriesOn(client, { timeoutMs, schema, lostBy: () => lostBy });
  try {
    await client.connect();
    // A channel has no schema.
    await queriesOn(client, { timeoutMs, lostBy: () => lostBy }).query(`LISTEN ${channel}`);
    // Idle connections in the pool do not keep a process alive for long either.
    (client as unknown as { unref(): void }).unref();
  } catch (error) {
    close();
    throw withTlsRemedy(storageError(error, 'cannot listen to PostgreSQL'));
  }
  return { query, ended: ended.signal, close };
}

/** Let a pool open no further connections for a while. Returns false if it has none. */
function keepSmall({ options, totalCount }: Pool, max: number): boolean {
  if (totalCount === 0) return false;
  options.max = totalCount;
  setTimeout(() => {
    options.max = max;
  }, SMALL_POOL_MS).unref();
  return true;
}

export async function openPostgres(url: string, options: DatabaseOptions = {}): Promise<Database> {
  const { pool, schema } = await openPool(url, options);
  const common = { timeoutMs: options.statementTimeoutMs, schema };
  const queries = queriesOn(pool, common);
  const { run: track, close: waitForOperations } = createOperationTracker();
  const { max } = pool.options;
  const attempt = <T>(operation: () => Promise<T>): Promise<T> =>
    operation().catch((error) => {
      // `idle_session_timeout` has ended the session before it ran a statement.
      if (endsWith(error, '(57P05)')) return operation();
      // The server has no connection for a further one. Now it waits for one of the pool's.
      if (endsWith(error, '(53300)') && keepSmall(pool, max)) return attempt(operation);
      throw error;
    });
  const run = <T>(operation: () => Promise<T>): Promise<T> => track(() => attempt(operation));
  const transaction = <T>(work: (queries: Queries) => Promise<T>, isMigration = false): Promise<T> =>
    runTransaction(pool, work, { ...common, isMigration });
  // Its isolation is the default of database or role. If stricter than read committed, a conflict fails, and nothing is changed.
  const runSingle = <T>(work: (queries: Queries) => Promise<T>): Promise<T> =>
    run(() =>
      work(queries).catch((error) => {
        if (endsWith(error, '(40001)')) return transaction(work);
        throw error;
      }),
    );
  let closing: Promise<void> | undefined;
  return {
    kind: 'postgres',
    query: (sql, params) => runSingle(({ query }) => query(sql, params)),
    script: (sql) => runSingle(({ script }) => script(sql)),
    transaction: (work, { isMigration } = {}) => run(() => transaction(work, isMigration)),
    subscribe: (channel, onNotification) => track(() => subscribe(url, schema, options, channel, onNotification)),
    close: () => (closing ??= waitForOperations().then(() => pool.end())),
  };
}

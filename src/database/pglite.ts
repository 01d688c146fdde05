/**
 * PGlite: PostgreSQL inside this process, its files in a folder that nobody else may open meanwhile.
 *
 * | in the folder | what |
 * |---|---|
 * | `pglite/` | the files of PostgreSQL |
 * | `pglite.new/` | the same, while they are first made: put in place whole |
 * | `in-use-*.json` | who has it open: see `folder-lock.ts` |
 */

import { chmod, mkdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { PGlite } from '@electric-sql/pglite';
import { TokenError } from '../token/index.ts';
import type { Database, Queries, Row, Value } from './contract.ts';
import { durable, syncFolder } from './durable-files.ts';
import { failure } from './failure.ts';
import { lockFolder } from './folder-lock.ts';
import { loadPglite } from './packages.ts';
import { underWay } from './under-way.ts';
import { watch } from './watch.ts';

const PRIVATE = 0o700;
// Number of the type in PostgreSQL's catalogue. By itself PGlite makes large ones BigInt.
const INT8 = 20;

type Pglite = Awaited<ReturnType<typeof loadPglite>>;

const start = (pglite: Pglite, folder: string): Promise<PGlite> =>
  pglite.PGlite.create({ ...durable(pglite, folder), parsers: { [INT8]: Number } });

// Making a database takes seconds, and half of one cannot be told from a broken one.
const make = async (pglite: Pglite, files: string): Promise<void> => {
  const fresh = `${files}.new`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { mode: PRIVATE });
  await (await start(pglite, fresh)).close();
  await syncFolder(fresh);
  await rename(fresh, files);
};

const opened = async (pglite: Pglite, files: string): Promise<PGlite> => {
  const there = await stat(files).catch(() => undefined);
  if (there) await chmod(files, PRIVATE);
  else await make(pglite, files);
  try {
    return await start(pglite, files);
  } catch {
    const version = await readFile(join(files, 'PG_VERSION'), 'utf8').catch(() => 'unknown');
    throw new TokenError(
      'storage_failed',
      `database: the files in ${files} cannot be opened: expected what this version of PGlite has written, got version ${version.trim()} of PostgreSQL, or damaged files`,
    );
  }
};

/** Open a folder; it is made where there is none. */
export async function openPglite(folder: string): Promise<Database> {
  const pglite = await loadPglite();
  let lock: Awaited<ReturnType<typeof lockFolder>> | undefined;
  let engine: PGlite;
  try {
    await mkdir(folder, { recursive: true, mode: PRIVATE });
    lock = await lockFolder(folder);
    engine = await opened(pglite, join(folder, 'pglite'));
  } catch (error) {
    await lock?.release();
    throw failure(error, `cannot open the folder ${folder}`);
  }

  const { run, end } = underWay();
  const begin = <T>(work: () => Promise<T>): Promise<T> =>
    run(() => {
      if (lock.held()) return work();
      throw new TokenError('storage_failed', `database: another process has taken the folder ${folder}`);
    });
  const queriesOn = (target: Pick<PGlite, 'query' | 'exec'>): Queries => ({
    query: async <R extends object = Row>(sql: string, params: readonly Value[] = []) => {
      try {
        return (await target.query<R>(sql, [...params])).rows;
      } catch (error) {
        throw failure(error, 'a statement failed');
      }
    },
    script: async (sql) => {
      try {
        await target.exec(sql);
      } catch (error) {
        throw failure(error, 'a script failed');
      }
    },
  });
  const alone = queriesOn(engine);

  const transaction = async <T>(work: (queries: Queries) => Promise<T>): Promise<T> => {
    let own: { readonly error: unknown } | undefined;
    try {
      return await engine.transaction(async (inner) => {
        const watched = watch(queriesOn(inner));
        try {
          const result = await work(watched);
          watched.stillGood();
          return result;
        } catch (error) {
          own = { error };
          throw error;
        }
      });
    } catch (error) {
      // What the work threw is its own; the rest comes from the engine.
      throw own ? own.error : failure(error, 'a transaction failed');
    }
  };

  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await end();
    await engine.close().finally(() => lock.release());
  };
  return {
    kind: 'pglite',
    query: (sql, params) => begin(() => alone.query(sql, params)),
    script: (sql) => begin(() => alone.script(sql)),
    transaction: (work) => begin(() => transaction(work)),
    close: () => (closing ??= close()),
  };
}

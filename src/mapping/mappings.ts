/**
 * Stored mappings: what binds database, client and clock together, and hands the acts out.
 *
 * Each act is in a file of its own: `job.ts` maps, `buckets.ts` looks for what has rotated, `opt-outs.ts` for who has
 * opted out, `store.ts` reads and deletes.
 */

import type { Database } from '../database/contract.ts';
import { openDatabase } from '../database/database.ts';
import { migrate } from '../database/migrations.ts';
import { type UnderWay, underWay } from '../database/under-way.ts';
import { checkSource } from '../server/batch.ts';
import { TokenError } from '../token/index.ts';
import { createAsk } from './ask.ts';
import { lookAtBuckets } from './buckets.ts';
import { createServiceClock } from './clock.ts';
import type { Mappings, MappingsOptions, Summary } from './contract.ts';
import { runJob, type Work } from './job.ts';
import { keyOf } from './key.ts';
import { checkOptOuts } from './opt-outs.ts';
import { type Settings, settingsOf } from './options.ts';
import type { Wanted } from './rows.ts';
import { counts, find, forget, forgetAll, pages, tidy } from './store.ts';
import { TABLES } from './tables.ts';

const openStore = async ({ database: place, workers }: Settings): Promise<Database> => {
  // A connection for each worker, one for the source, one for whoever asks meanwhile.
  const database = typeof place === 'string' ? await openDatabase(place, { connections: workers + 2 }) : place;
  try {
    await migrate(database, TABLES);
    return database;
  } catch (error) {
    if (typeof place === 'string') await database.close();
    throw error;
  }
};

const mappingsIn = (database: Database, settings: Settings, { run, end }: UnderWay): Mappings => {
  const { client, version, bucketMarginMs: marginMs, workers } = settings;
  const clock = createServiceClock(settings.now);
  const works = { database, ask: createAsk(client, version, clock), workers };
  const closing = new AbortController();
  let closed: Promise<void> | undefined;

  const signalOf = (outer: AbortSignal | undefined): AbortSignal =>
    outer ? AbortSignal.any([outer, closing.signal]) : closing.signal;

  const look = async (signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    if (version === 2) await lookAtBuckets({ database, client, clock, marginMs, signal });
  };

  const finish = async (work: Work): Promise<Summary> => {
    const summary = await runJob(works, work);
    await tidy(database, summary.mapped + summary.optedOut + summary.invalid);
    return summary;
  };

  return {
    map: (items, { signal: outer, ...rest } = {}) =>
      run(async () => {
        checkSource('source', items);
        const signal = signalOf(outer);
        await look(signal);
        const started = clock.local();
        const again = () => ({ dueAt: clock.at(started), answeredBefore: clock.at(started), version });
        return finish({ ...rest, signal, source: { items, again }, wanted: { what: 'askedFor' } });
      }),
    mapDue: ({ signal: outer, ...rest } = {}) =>
      run(async () => {
        const signal = signalOf(outer);
        await look(signal);
        const started = clock.local();
        const wanted: Wanted = { what: 'due', until: () => clock.at(started), version };
        return finish({ ...rest, signal, wanted });
      }),
    checkOptOuts: ({ signal, ...rest } = {}) =>
      run(() => checkOptOuts({ ...rest, database, client, clock, signal: signalOf(signal) })),
    find: (dii) =>
      run(async () => {
        const key = keyOf(dii);
        return key && find(database, key);
      }),
    entries: ({ state } = {}) => ({
      async *[Symbol.asyncIterator]() {
        for await (const page of pages(database, state)) {
          closing.signal.throwIfAborted();
          yield* page;
        }
      },
    }),
    counts: () => run(() => counts(database, clock.at(clock.local()), version)),
    forget: (dii) =>
      run(async () => {
        const key = keyOf(dii);
        return key !== undefined && forget(database, key);
      }),
    forgetAll: () => run(() => forgetAll(database)),
    close: () => {
      closed ??= (async () => {
        closing.abort(new TokenError('closed', 'mappings: closed'));
        await end();
        if (typeof settings.database === 'string') await database.close();
      })();
      return closed;
    },
  };
};

/**
 * Open stored mappings; their tables are made where there are none.
 *
 * @throws {TypeError | RangeError} a wrong option, by name.
 * @throws {TokenError} `storage_failed`, from the database.
 * @example
 * const client = createClient({ baseUrl, apiKey, clientSecret });
 * const mappings = await createMappings({ client, database: './mappings' });
 * await mappings.map([{ email: 'user@example.com' }]);
 * await mappings.mapDue(); // daily
 */
export async function createMappings(options: MappingsOptions): Promise<Mappings> {
  const settings = settingsOf(options);
  return mappingsIn(await openStore(settings), settings, underWay());
}

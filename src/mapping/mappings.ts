/**
 * Stored mappings: connects database, client and clock, and offers the methods.
 *
 * Each method is one function of another file: `job.ts` maps, `rotated-buckets.ts` marks mappings of rotated buckets,
 * `opt-outs.ts` checks opt-outs, `stored-rows.ts` reads and deletes.
 */

import { openDatabase } from '../database/database.ts';
import { createOperationTracker, type Database, migrate, type OperationTracker } from '../database/index.ts';
import { checkSource } from '../server/checks.ts';
import type { Dii, Source } from '../server/index.ts';
import { TokenError } from '../token/index.ts';
import { type Job, runJob } from './job.ts';
import type { RowSelection } from './job-rows.ts';
import { keyOf } from './key.ts';
import { createMappingRequest } from './mapping-request.ts';
import { checkOptOuts } from './opt-outs.ts';
import { type MappingSettings, settingsOf } from './options.ts';
import { markRotatedBuckets } from './rotated-buckets.ts';
import { createServiceClock, type ServiceClock } from './service-clock.ts';
import { counts, find, forget, forgetAll, pages, vacuumIfNeeded } from './stored-rows.ts';
import { TABLES } from './tables.ts';
import type { DueOptions, MapOptions, Mappings, MappingsOptions, Summary } from './types.ts';

const openTables = async ({ database: given, workers }: MappingSettings): Promise<Database> => {
  // One connection for each worker, one for the source, one for other calls during a job.
  const database = typeof given === 'string' ? await openDatabase(given, { connections: workers + 2 }) : given;
  try {
    await migrate(database, TABLES);
    return database;
  } catch (error) {
    if (typeof given === 'string') await database.close();
    throw error;
  }
};

// The jobs of a store, without their tracking. Each first marks the mappings whose salt bucket has rotated.
const createJobs = (database: Database, settings: MappingSettings, clock: ServiceClock) => {
  const { client, version, bucketMarginMs: marginMs, workers } = settings;
  const context = { database, requestMappings: createMappingRequest(client, version, clock), workers };

  const checkBuckets = async (signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    if (version === 2) await markRotatedBuckets({ database, client, clock, marginMs, signal });
  };

  const runAndVacuum = async (job: Job): Promise<Summary> => {
    const summary = await runJob(context, job);
    await vacuumIfNeeded(database);
    return summary;
  };

  return {
    map: async (items: Source<Dii>, options: MapOptions, signal: AbortSignal): Promise<Summary> => {
      checkSource('source', items);
      await checkBuckets(signal);
      const startedAt = clock.mark();
      // Read at each use: the first answer corrects the time.
      const remapCondition = () => ({ dueAt: startedAt(), answeredBefore: startedAt(), version });
      const source = { items, remapCondition };
      return runAndVacuum({ ...options, signal, source, selection: { kind: 'requested' } });
    },
    mapDue: async (options: DueOptions, signal: AbortSignal): Promise<Summary> => {
      await checkBuckets(signal);
      const selection: RowSelection = { kind: 'due', until: clock.mark(), version };
      return runAndVacuum({ ...options, signal, selection });
    },
  };
};

const mappingsIn = (database: Database, settings: MappingSettings, tracker: OperationTracker): Mappings => {
  const { run } = tracker;
  const { client, version } = settings;
  const clock = createServiceClock(settings.now);
  const jobs = createJobs(database, settings, clock);
  const closing = new AbortController();
  let closed: Promise<void> | undefined;

  const signalOf = (outer: AbortSignal | undefined): AbortSignal =>
    outer ? AbortSignal.any([outer, closing.signal]) : closing.signal;

  const close = async (): Promise<void> => {
    closing.abort(new TokenError('closed', 'mappings: expected open mappings, got ones that have been closed'));
    await tracker.close();
    if (typeof settings.database === 'string') await database.close();
  };

  return {
    map: (items, options = {}) => run(() => jobs.map(items, options, signalOf(options.signal))),
    mapDue: (options = {}) => run(() => jobs.mapDue(options, signalOf(options.signal))),
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
    counts: () => run(() => counts(database, clock.now(), version)),
    forget: (dii) =>
      run(async () => {
        const key = keyOf(dii);
        return key !== undefined && forget(database, key);
      }),
    forgetAll: () => run(() => forgetAll(database)),
    close: () => (closed ??= close()),
  };
};

/**
 * Open stored mappings. Creates their tables if they are missing.
 *
 * @throws {TypeError | RangeError} a wrong option: the message names it, what was expected and what came.
 * @throws {TokenError} `storage_failed` if the database cannot be opened.
 * @example
 * const client = createClient({ baseUrl, apiKey, clientSecret });
 * const mappings = await createMappings({ client, database: './mappings' });
 * await mappings.map([{ email: 'user@example.com' }]);
 * await mappings.mapDue(); // daily
 */
export async function createMappings(options: MappingsOptions): Promise<Mappings> {
  const settings = settingsOf(options);
  return mappingsIn(await openTables(settings), settings, createOperationTracker());
}

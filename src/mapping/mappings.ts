/** Stored mappings: connects database, client and clock, and offers the methods, each one function of another file. */

import { openDatabase } from '../database/database.ts';
import { createOperationTracker, type Database, migrate, type OperationTracker } from '../database/index.ts';
import { checkSource } from '../server/checks.ts';
import type { Dii, Source } from '../server/index.ts';
import { TokenError } from '../token/index.ts';
import { createClaimSlots } from './jobs/claim-slots.ts';
import { mapDueRows } from './jobs/due-job.ts';
import type { JobContext } from './jobs/job.ts';
import { checkOptOuts } from './jobs/opt-outs.ts';
import { mapSource } from './jobs/source-job.ts';
import { type MappingSettings, settingsOf } from './options.ts';
import { keyOf } from './rows/key.ts';
import { createMappingRequest } from './rows/mapping-request.ts';
import { markRotatedBuckets } from './rows/rotated-buckets.ts';
import { createServiceClock, type ServiceClock } from './rows/service-clock.ts';
import { counts, find, forget, forgetAll, pages, vacuumIfNeeded } from './rows/stored-rows.ts';
import { TABLES } from './rows/tables.ts';
import type { DueOptions, MapOptions, Mappings, MappingsOptions, Summary } from './types.ts';

async function openTables({ database: given, workers }: MappingSettings): Promise<Database> {
  // One connection for each claim, one for other calls during a job.
  const database = typeof given === 'string' ? await openDatabase(given, { connections: workers + 1 }) : given;
  try {
    await migrate(database, TABLES);
    return database;
  } catch (error) {
    if (typeof given === 'string') await database.close();
    throw error;
  }
}

/** The jobs of a store, without their tracking. Each first marks the mappings whose salt bucket has rotated. */
function createJobs(database: Database, settings: MappingSettings, clock: ServiceClock) {
  const { client, version, workers } = settings;
  const requestMappings = createMappingRequest(client, version, clock);
  const context: JobContext = { database, requestMappings, workers, takeSlot: createClaimSlots(workers) };

  const checkBuckets = async (signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    if (version === 2) await markRotatedBuckets({ database, client, clock, signal });
  };

  const thenVacuum = async (job: Promise<Summary>): Promise<Summary> => {
    const summary = await job;
    await vacuumIfNeeded(database);
    return summary;
  };

  return {
    map: async (items: Source<Dii>, options: MapOptions, signal: AbortSignal): Promise<Summary> => {
      checkSource('source', items);
      await checkBuckets(signal);
      const startedAt = clock.mark();
      const remapCondition = () => ({ dueAt: startedAt(), answeredBefore: startedAt(), version });
      return thenVacuum(mapSource(context, { items, remapCondition }, { ...options, signal }));
    },
    mapDue: async (options: DueOptions, signal: AbortSignal): Promise<Summary> => {
      await checkBuckets(signal);
      return thenVacuum(mapDueRows(context, { until: clock.mark(), version }, { ...options, signal }));
    },
  };
}

function mappingsIn(database: Database, settings: MappingSettings, tracker: OperationTracker): Mappings {
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
}

/**
 * Open stored mappings. Creates their tables if they are missing.
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

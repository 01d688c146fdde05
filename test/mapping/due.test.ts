/** Due runs: months of days, with both versions, clocks that differ and buckets that rotate. */

import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Database, Mappings } from '../../src/mapping/index.ts';
import type { Client, Dii } from '../../src/server/index.ts';
import { freshPlace, KINDS, openPlace } from '../database/locations.ts';
import { DAY, fixture, NOON, people, type Service, service, stored, withHeldAnswer } from './fixtures.ts';

const HOUR = DAY / 24;

/** The current answer of the service for all people, by hash. */
const freshMap = async ({ client }: Service, diis: readonly Dii[], version: 2 | 3) => {
  const results = version === 3 ? client.mapIdentities(diis) : client.mapIdentitiesV2(diis);
  const all = new Map<string, object>();
  for await (const { dii, ...result } of results) {
    const { answeredAt: _, status, ...facts } = result;
    all.set(dii.emailHash!, status === 'optout' ? { state: 'optedOut' } : { state: status, ...facts });
  }
  return all;
};

const storedFacts = async (mappings: Mappings, version: 2 | 3) => {
  const all = new Map<string, object>();
  for (const { hash, state, rawId, previousRawId, remapAt, bucketId } of await stored(mappings)) {
    const facts = version === 3 ? { rawId, previousRawId, remapAt } : { rawId, bucketId };
    all.set(hash, state === 'mapped' ? { state, ...facts } : { state });
  }
  return all;
};

/** People by their hashes, so that repeated runs hash them once. */
const hashed = async (mappings: Mappings): Promise<Dii[]> =>
  (await stored(mappings)).map(({ hash }) => ({ emailHash: hash }));

/**
 * Version 3 covers more than a year, in which every bucket rotates. Version 2 reads a list of 3,000 buckets a day, which is slow.
 */
const SPANS = [
  { kind: 'postgres', version: 3, runs: 146, everyDays: 3 },
  { kind: 'pglite', version: 2, runs: 73, everyDays: 1 },
] as const;

test.each(SPANS)(
  '$runs due runs on $kind, one every $everyDays d, store the result of a new map of all people (version $version)',
  async ({ kind, version, runs, everyDays }) => {
    const { mappings, service: its } = await fixture(kind, { version });
    await mappings.map(people(1_200));
    const diis = await hashed(mappings);
    let optedOut = 0;
    let answers = 0;
    for (let run = 1; run <= runs; run++) {
      // At varying times of the day, with a local clock that is off by up to 90 seconds.
      its.at = NOON + run * everyDays * DAY + ((run * 7_919) % 50) * (HOUR / 10);
      its.aheadMs = ((run * 37) % 181) * 1000 - 90_000;
      if (run % 70 === 0) await its.client.optOut(diis[optedOut++]!);
      const { mapped, optedOut: also } = await mappings.mapDue();
      answers += mapped + also;
      if (run % 70 === 0) await mappings.checkOptOuts();
      if (run % 24 === 0 || run === runs)
        expect(await storedFacts(mappings, version)).toEqual(await freshMap(its, diis, version));
    }
    expect(optedOut).toBe(Math.floor(runs / 70));
    // At least once per rotation, but far less than once a day.
    const asked = answers / diis.length;
    const years = (runs * everyDays) / 365;
    expect(asked).toBeGreaterThan(years * 0.8);
    expect(asked).toBeLessThan(years * (version === 3 ? 16 : 1.4));
  },
  300_000,
);

describe.each(KINDS)('due runs on %s', (kind) => {
  test('request rows exactly from their due time on', async () => {
    const { mappings, service: its } = await fixture(kind);
    await mappings.map(people(200));
    const first = (await stored(mappings)).map(({ remapAt }) => remapAt!).sort((a, b) => a - b)[0]!;
    its.asked.hashes.length = 0;
    its.at = first - 1;
    expect(await mappings.counts()).toMatchObject({ mapped: 200, due: 0 });
    expect(await mappings.mapDue()).toMatchObject({ mapped: 0 });
    its.at = first;
    expect((await mappings.counts()).due).toBe(1);
    expect(await mappings.mapDue()).toMatchObject({ mapped: 1 });
    expect(its.asked.hashes).toHaveLength(1);
    expect(await mappings.mapDue()).toMatchObject({ mapped: 0 });
  });

  test('are part of mapping, for the rows of the source', async () => {
    const { mappings, service: its } = await fixture(kind);
    await mappings.map(people(20));
    its.at += 31 * DAY;
    expect(await mappings.map(people(5))).toEqual({ read: 5, kept: 0, mapped: 5, optedOut: 0, invalid: 0 });
    expect((await mappings.counts()).due).toBe(15);
    expect(await mappings.mapDue()).toMatchObject({ mapped: 15 });
  });

  test('request no row twice if the local clock is set back while they run', async () => {
    const { mappings, service: its, place } = await fixture(kind);
    await mappings.map(people(10));
    await mappings.close();
    let requests = 0;
    const mapIdentities = (diis: readonly Dii[], options: object) => ({
      batches: async function* () {
        if (++requests > 1) throw new Error('expected one request, got a second one');
        for await (const batch of its.client.mapIdentities(diis, options).batches()) {
          its.aheadMs = -3 * HOUR;
          yield batch.map((result) => (result.status === 'mapped' ? { ...result, remapAt: its.at + HOUR } : result));
        }
      },
    });
    const client = { ...its.client, mapIdentities: mapIdentities as unknown as Client['mapIdentities'] };
    its.at += 31 * DAY;
    expect(await (await its.open(place, { client })).mapDue()).toMatchObject({ mapped: 10 });
    expect(requests).toBe(1);
  });

  test('end even if the service returns past times or the clocks differ', async () => {
    const { mappings, service: its, place } = await fixture(kind);
    const mapIdentities = (diis: readonly Dii[], options: object) => ({
      batches: async function* () {
        for await (const batch of its.client.mapIdentities(diis, options).batches())
          yield batch.map((result) => (result.status === 'mapped' ? { ...result, remapAt: NOON - DAY } : result));
      },
    });
    const client = { ...its.client, mapIdentities: mapIdentities as unknown as Client['mapIdentities'] };
    await mappings.close();
    const stuck = await its.open(place, { client });
    its.aheadMs = 60_000;
    expect(await stuck.map(people(10))).toMatchObject({ mapped: 10 });
    its.at += DAY;
    expect(await stuck.mapDue()).toMatchObject({ mapped: 10 });
  });

  test('end even if the service returns past times and each of its nodes has an earlier clock', async () => {
    const { mappings, service: its, place } = await fixture(kind);
    const count = 5_001;
    await mappings.map(people(count));
    await mappings.close();
    let requests = 0;
    const mapIdentities = (diis: readonly Dii[], options: object) => ({
      batches: async function* () {
        if (++requests > 4) throw new Error('expected a request for each chunk, got more');
        const behindMs = requests * 60_000;
        for await (const batch of its.client.mapIdentities(diis, options).batches())
          yield batch.map((result) => ({ ...result, remapAt: NOON, answeredAt: result.answeredAt! - behindMs }));
      },
    });
    const client = { ...its.client, mapIdentities: mapIdentities as unknown as Client['mapIdentities'] };
    its.at += 31 * DAY;
    expect(await (await its.open(place, { client, workers: 1 })).mapDue()).toMatchObject({ mapped: count });
  });
});

/** Wait until all other connections have ended: PostgreSQL publishes the statistics of a connection then. */
const connectionsEnded = (database: Database): Promise<void> =>
  vi.waitFor(
    async () => {
      const others = 'SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()';
      expect(await database.query(`${others} AND backend_type = 'client backend'`)).toEqual([]);
    },
    { timeout: 20_000 },
  );

test.each([2, 3] as const)('no due run reads the whole table (version %i)', async (version) => {
  const { mappings, service: its, place } = await fixture('postgres', { version });
  await mappings.map(people(3_000));
  await mappings.close();
  const database = await openPlace(place, { connections: 1 });
  const reads = async () => {
    await connectionsEnded(database);
    const [counted] = await database.query<{ whole: number; byIndex: number }>(
      `SELECT seq_scan AS whole, idx_scan AS "byIndex" FROM pg_stat_user_tables WHERE relid = 'tessera_mappings'::regclass`,
    );
    return counted!;
  };
  const before = await reads();
  its.at += DAY;
  const again = await its.open(place, { version });
  let total: number | undefined;
  const { mapped } = await again.mapDue({ onProgress: (progress) => (total = progress.total) });
  expect(mapped).toBeGreaterThan(0);
  expect(total).toBe(mapped);
  await again.close();
  const after = await reads();
  expect(after.whole).toBe(before.whole);
  expect(after.byIndex).toBeGreaterThan(before.byIndex);
  await database.close();
});

// Not on PostgreSQL, where a transaction in any database of the server keeps the entries of former batches alive.
test('the index entries that a job reads grow with its rows, not with their square', async () => {
  const database = await openPlace(await freshPlace('pglite'));
  onTestFinished(() => database.close());
  const its = service();
  const mappings = await its.open(database, { workers: 1 });
  const rows = 40_000;
  await mappings.map(people(rows));
  its.at += 31 * DAY;
  expect(await mappings.mapDue()).toMatchObject({ mapped: rows });
  const [index] = await database.query<{ reads: number }>(
    `SELECT idx_tup_read AS reads FROM pg_stat_user_indexes WHERE indexrelid = 'tessera_mappings_due_at'::regclass`,
  );
  // To lock a row, and once more with the batch after it. With each batch reading the entries of all former ones, it would be 5.
  expect(index!.reads / rows).toBeGreaterThan(0.9);
  expect(index!.reads / rows).toBeLessThan(3.5);
});

test('in a folder, the other workers of a due run do not read again the rows that the first one has claimed', async () => {
  const database = await openPlace(await freshPlace('pglite'));
  onTestFinished(() => database.close());
  let reads = 0;
  const transaction: Database['transaction'] = (work, options) =>
    database.transaction(
      (queries) =>
        work({
          ...queries,
          query: (sql, params) => {
            if (sql.includes('ORDER BY due_at')) reads++;
            return queries.query(sql, params);
          },
        }),
      options,
    );
  const its = service();
  const mappings = await its.open({ ...database, transaction }, { workers: 4 });
  await mappings.map(people(10));
  its.at += 31 * DAY;
  expect(await mappings.mapDue()).toMatchObject({ mapped: 10 });
  expect(reads).toBe(1);
});

test('a PGlite folder stops growing', async () => {
  const database = await openPlace(await freshPlace('pglite'));
  const its = service();
  const mappings = await its.open(database);
  const pages = async (): Promise<number> => {
    const [size] = await database.query<{ at: number }>("SELECT pg_relation_size('tessera_mappings') / 8192 AS at");
    return size!.at;
  };
  await mappings.map(people(2_000));
  const sizes: number[] = [];
  for (let month = 1; month <= 16; month++) {
    its.at += 31 * DAY;
    expect(await mappings.mapDue()).toMatchObject({ mapped: 2_000 });
    sizes.push(await pages());
  }
  expect(sizes[15]!).toBeLessThan(1.25 * sizes[7]!);
  await mappings.close();
  await database.close();
});

describe('rotated buckets', () => {
  test('are requested from an hour before the last check, by the service’s time', async () => {
    const { mappings, service: its } = await fixture('postgres', { version: 2 });
    its.aheadMs = 80_000;
    await mappings.map(people(3));
    its.at += DAY;
    await mappings.mapDue();
    its.at += DAY;
    await mappings.mapDue();
    expect(its.asked.since).toEqual([NOON - HOUR, NOON + DAY - HOUR]);
  });

  test('cause one more request for a mapping that was answered within the margin after the rotation', async () => {
    const { mappings, service: its } = await fixture('postgres', { version: 2 });
    await mappings.map(people(2_000));
    const bucketOf = new Map((await stored(mappings)).map(({ bucketId, hash }) => [bucketId!, hash]));
    its.at += DAY;
    const { buckets } = await its.client.rotatedBuckets(NOON + HOUR);
    const { bucketId, rotatedAt } = buckets.find(({ bucketId }) => bucketOf.has(bucketId))!;
    const askedFor = () => its.asked.hashes.filter((hash) => hash === bucketOf.get(bucketId)).length;
    its.at = rotatedAt + HOUR / 2;
    await mappings.mapDue();
    expect(askedFor()).toBe(2);
    // Answered half an hour after the rotation: another node may have used the previous salt.
    its.at = rotatedAt + DAY;
    await mappings.mapDue();
    expect(askedFor()).toBe(3);
    its.at = rotatedAt + DAY + HOUR;
    await mappings.mapDue();
    expect(askedFor()).toBe(3);
  });

  test('are not missed by an answer that another process stores while a check ends', async () => {
    const its = service();
    const place = await freshPlace('postgres');
    const all = people(2_000);
    const found = await its.client.mapIdentitiesV2(all).toArray();
    its.at += DAY;
    const { buckets } = await its.client.rotatedBuckets(NOON + HOUR);
    const bucketOf = (index: number) => (found[index] as { readonly bucketId: string }).bucketId;
    const { bucketId, rotatedAt } = buckets.find((bucket) => all.some((_, i) => bucketOf(i) === bucket.bucketId))!;
    const person = all.find((_, i) => bucketOf(i) === bucketId)!;
    its.at = rotatedAt - 1000;
    const options = { version: 2 } as const;
    await (await its.open(place, options)).map(people(1, 5_000));

    // Answered before the rotation, stored when the check has marked its rows.
    const { client, isAnswered, release } = withHeldAnswer(its.client, 'mapIdentitiesV2');
    const mapping = (await its.open(place, { ...options, client })).map([person]);
    await isAnswered;
    its.at = rotatedAt + 1000;
    const database = await openPlace(place);
    onTestFinished(() => database.close());
    const query: Database['query'] = async (sql, params) => {
      if (sql.startsWith('UPDATE tessera_mapping_buckets')) {
        release();
        await mapping;
      }
      return database.query(sql, params);
    };
    const checking = await its.open({ ...database, query }, options);
    await checking.mapDue();
    its.at += DAY;
    await checking.mapDue();
    expect(await checking.find(person)).toMatchObject({ state: 'mapped', answeredAt: its.at });
  });

  test('are requested before the source is mapped', async () => {
    const { mappings, service: its } = await fixture('postgres', { version: 2 });
    const diis = people(2_000);
    await mappings.map(diis);
    its.at += DAY;
    const { mapped, kept } = await mappings.map(diis);
    expect(mapped).toBeGreaterThan(0);
    expect(mapped + kept).toBe(2_000);
    expect(await storedFacts(mappings, 2)).toEqual(await freshMap(its, await hashed(mappings), 2));
  });
});

describe('from version 2 to 3', () => {
  test('a due run maps all rows again; they keep their raw ID until then', async () => {
    const { service: its, place, mappings } = await fixture('pglite', { version: 2 });
    await mappings.map([...people(300), { phone: '+12345678901' }]);
    const before = await stored(mappings);
    await mappings.close();
    const v3 = await its.open(place);
    expect(await stored(v3)).toEqual(before);
    expect(await v3.counts()).toMatchObject({ mapped: 301, due: 301 });
    its.asked.hashes.length = 0;
    // A map covers the rows of its source.
    expect(await v3.map(people(100))).toMatchObject({ kept: 0, mapped: 100 });
    expect(await v3.counts()).toMatchObject({ mapped: 301, due: 201 });
    expect(await v3.mapDue()).toMatchObject({ mapped: 201 });
    expect(its.asked.hashes).toHaveLength(301);
    const after = await stored(v3);
    expect(after.map(({ rawId }) => rawId)).toEqual(before.map(({ rawId }) => rawId));
    for (const { remapAt, bucketId } of after) expect([bucketId, remapAt! > its.at]).toEqual([null, true]);
    expect(await v3.mapDue()).toMatchObject({ mapped: 0 });
  });

  test('in the other direction, mappings of version 3 stay until their time', async () => {
    const { service: its, mappings, place } = await fixture('pglite');
    await mappings.map(people(50));
    await mappings.close();
    const v2 = await its.open(place, { version: 2 });
    expect(await v2.mapDue()).toMatchObject({ mapped: 0 });
    its.at += 31 * DAY;
    expect(await v2.mapDue()).toMatchObject({ mapped: 50 });
    for (const { bucketId } of await stored(v2)) expect(bucketId).toMatch(/^b/);
  });
});

/** Failures: nothing is half-written, nothing is lost, no message holds a hash. */

import { describe, expect, test } from 'vitest';
import { createMappings } from '../../src/mapping/index.ts';
import { createMappingRequest } from '../../src/mapping/rows/mapping-request.ts';
import { createServiceClock } from '../../src/mapping/rows/service-clock.ts';
import type { Client, Dii } from '../../src/server/index.ts';
import { isTokenError } from '../../src/token/index.ts';
import { ANY_KIND, freshPlace, openPlace } from '../database/locations.ts';
import {
  DAY,
  fixture,
  type MappingClient,
  maxRequests,
  NOON,
  people,
  type Service,
  service,
  stored,
} from './fixtures.ts';

const mapPath = '/v3/identity/map';

/** Refuse the mapping requests for which `refused` returns true; requests are numbered from 1. */
const refuse = (its: Service, refused: (request: number) => boolean): void => {
  let count = 0;
  its.fault = (request) =>
    new URL(request.url).pathname === mapPath && refused(++count) ? new Response('no', { status: 500 }) : undefined;
};

/** The client of `its`, with a service that refuses some hashes as invalid. */
const picky = (its: Service, invalid: (hash: string) => boolean): Client => ({
  ...its.client,
  mapIdentities: ((diis: readonly Dii[], options: object) => ({
    batches: async function* () {
      for await (const batch of its.client.mapIdentities(diis, options).batches())
        yield batch.map((result) =>
          invalid(result.dii.emailHash!) ? { ...result, status: 'unmapped', reason: 'odd' } : result,
        );
    },
  })) as unknown as Client['mapIdentities'],
});

const errorOf = async (promise: Promise<unknown>): Promise<Error> => {
  const error = await promise.then(
    () => undefined,
    (thrown: Error) => thrown,
  );
  if (!error) throw new Error('expected a rejection');
  return error;
};

describe.each(ANY_KIND)('on %s', (kind) => {
  test('a failed batch rejects after the other batches have ended, and a later run continues', async () => {
    const { mappings, service: its } = await fixture(kind, { workers: 3 });
    refuse(its, (request) => request === 2);
    const diis = people(30_000);
    const error = await errorOf(mappings.map(diis));
    expect(error).toMatchObject({ code: 'http_status', status: 500 });
    expect(error.message).toBe('mapIdentities: POST /v3/identity/map answered 500');
    const { mapped } = await mappings.counts();
    // Whole batches only.
    expect(mapped % 5_000).toBe(0);
    expect(mapped).toBeGreaterThan(0);
    expect(mapped).toBeLessThan(30_000);
    for (const { state, rawId } of await stored(mappings)) expect([state, rawId !== null]).toEqual(['mapped', true]);
    its.fault = undefined;
    its.asked.hashes.length = 0;
    expect(await mappings.map(diis)).toMatchObject({ read: 30_000, kept: mapped, mapped: 30_000 - mapped });
    expect(its.asked.hashes).toHaveLength(30_000 - mapped);
    expect(maxRequests(its.asked)).toBe(1);
    expect(await mappings.counts()).toMatchObject({ mapped: 30_000 });
  });

  test('a service that refuses everything changes no stored row', async () => {
    const { mappings, service: its } = await fixture(kind);
    await mappings.map(people(20));
    const before = await stored(mappings);
    its.at += 31 * 86_400_000;
    refuse(its, () => true);
    expect(await errorOf(mappings.mapDue())).toMatchObject({ code: 'http_status' });
    expect(await stored(mappings)).toEqual(before);
    its.fault = undefined;
    expect(await mappings.mapDue()).toMatchObject({ mapped: 20 });
  });

  test('a hash that the service refuses is reported, the others are mapped', async () => {
    const { service: its, place, mappings } = await fixture(kind);
    await mappings.close();
    const diis = people(10);
    let odd: string | undefined;
    const client = picky(its, (hash) => (odd ??= hash) === hash);
    const careful = await its.open(place, { client });
    const told: unknown[] = [];
    const summary = await careful.map(diis, { onInvalid: (invalid) => void told.push(invalid) });
    expect(summary).toEqual({ read: 10, kept: 0, mapped: 9, optedOut: 0, invalid: 1 });
    expect(told).toEqual([{ dii: { emailHash: odd }, index: undefined, reason: 'odd' }]);
    expect(await careful.find({ emailHash: odd! })).toMatchObject({ state: 'invalid', rawId: null });
    expect(await careful.mapDue()).toMatchObject({ mapped: 0, invalid: 0 });
  });

  test('a source that throws rejects the job, after the batches before have been mapped', async () => {
    const { mappings } = await fixture(kind, { workers: 2 });
    const broken = new Error('the file is gone');
    function* source() {
      yield* people(12_000);
      throw broken;
    }
    expect(await errorOf(mappings.map(source()))).toBe(broken);
    expect(await mappings.counts()).toMatchObject({ mapped: 10_000 });
    expect(await mappings.map(people(12_000))).toMatchObject({ kept: 10_000, mapped: 2_000 });
  });

  test('an item that is not DII is named by its position, not its value', async () => {
    const { mappings } = await fixture(kind);
    const error = await errorOf(mappings.map([...people(2), { mail: 'user@example.com' } as never]));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toBe(
      'source: item 2: DII: expected an object with exactly one of email, emailHash, phone, phoneHash as a string, got none of them',
    );
  });

  test('a signal cancels a job that waits for its source', async () => {
    const { mappings, service: its } = await fixture(kind);
    const stop = new AbortController();
    const reason = new Error('enough');
    async function* source() {
      yield* people(20_000);
      await new Promise(() => {});
    }
    const job = mappings.map(source(), {
      signal: stop.signal,
      onProgress: ({ read, mapped }) => {
        if (read === 20_000 && mapped === 20_000) stop.abort(reason);
      },
    });
    expect(await errorOf(job)).toBe(reason);
    expect(await mappings.counts()).toMatchObject({ mapped: 20_000 });
    expect(await errorOf(mappings.mapDue({ signal: stop.signal }))).toBe(reason);
    expect(its.asked.hashes).toHaveLength(20_000);
  });

  test('a signal cancels a job that waits for the service, and stores nothing', async () => {
    const { mappings, service: its } = await fixture(kind);
    const stop = new AbortController();
    its.fault = (request) =>
      new Promise((_, reject) => {
        request.signal.addEventListener('abort', () => reject(request.signal.reason));
        stop.abort(new Error('enough'));
      });
    expect((await errorOf(mappings.map(people(10), { signal: stop.signal }))).message).toBe('enough');
    expect(await stored(mappings)).toEqual([]);
  });

  test('a callback that throws ends the job with its error', async () => {
    const { mappings } = await fixture(kind);
    const broken = new Error('no space for rejects');
    const fail = () => {
      throw broken;
    };
    expect(await errorOf(mappings.map([{ email: 'nobody' }], { onInvalid: fail }))).toBe(broken);
    expect(await errorOf(mappings.map(people(3), { onProgress: fail }))).toBe(broken);
    expect(await mappings.map(people(3))).toMatchObject({ read: 3 });
    expect(await mappings.counts()).toMatchObject({ mapped: 3 });
  });

  test('closing rejects running jobs with `closed`', async () => {
    const { mappings, service: its, place } = await fixture(kind);
    let closing: Promise<void> | undefined;
    const job = mappings.map(people(30_000), {
      onProgress: () => {
        closing ??= mappings.close();
      },
    });
    expect(await errorOf(job)).toMatchObject({ code: 'closed' });
    await closing;
    expect(mappings.close()).toBe(mappings.close());
    expect(await errorOf(mappings.map([]))).toMatchObject({ code: 'closed' });
    expect(await errorOf(stored(mappings))).toMatchObject({ code: 'closed' });
    const again = await its.open(place);
    expect(await again.map(people(30_000))).toMatchObject({ read: 30_000 });
    expect(await again.counts()).toMatchObject({ mapped: 30_000 });
  });

  test('no error holds a hash, an address or a raw ID', async () => {
    const { mappings, service: its, place } = await fixture(kind);
    const [person] = people(1) as [Dii];
    await mappings.map([person]);
    const { hash, rawId } = (await mappings.find(person))!;
    const errors: Error[] = [];
    refuse(its, () => true);
    errors.push(await errorOf(mappings.map(people(2))));
    await mappings.close();
    const database = await openPlace(place);
    await database.script('ALTER TABLE tessera_mappings ADD CHECK (answered_at IS NULL OR answered_at < 5) NOT VALID');
    its.fault = undefined;
    const checked = await its.open(database);
    errors.push(await errorOf(checked.map(people(2))));
    await database.script('DROP TABLE tessera_mappings');
    errors.push(await errorOf(checked.find(person)), await errorOf(checked.forget(person)));
    for (const error of errors) {
      expect(isTokenError(error)).toBe(true);
      const all = `${error.message} ${error.stack} ${JSON.stringify(error)} ${error.cause}`;
      for (const secret of [hash, rawId!, 'person-']) expect(all).not.toContain(secret);
    }
    expect(errors).toHaveLength(4);
    await checked.close();
    await database.close();
  });
});

test.each(ANY_KIND)('several concurrent jobs request no row twice (%s)', async (kind) => {
  const { mappings, service: its } = await fixture(kind);
  const diis = people(12_000);
  const summaries = await Promise.all([mappings.map(diis), mappings.map(diis), mappings.mapDue()]);
  expect(summaries.reduce((sum, { mapped }) => sum + mapped, 0)).toBe(12_000);
  expect(its.asked.hashes).toHaveLength(12_000);
  expect(await mappings.counts()).toMatchObject({ mapped: 12_000 });
});

test('a wrong option is named', async () => {
  const { client } = service();
  const good = { client, database: './nowhere' };
  const refused = async (options: object) => (await errorOf(createMappings({ ...good, ...options }))).message;
  expect(await refused({ client: undefined })).toBe('client: expected a client of tessera-id/server, got undefined');
  expect(await refused({ client: {} })).toContain('got an object without mapIdentities()');
  expect(await refused({ database: Promise.resolve({}) })).toContain('or an open database, got a Promise: await it');
  expect(await refused({ database: 5 })).toContain('database: expected a folder');
  expect(await refused({ database: 'mysql://user:secret@host/name' })).not.toContain('secret');
  expect(await refused({ version: 4 })).toBe('version: expected 2 or 3, got 4');
  expect(await refused({ worker: 4 })).toBe(
    'worker: expected one of client, database, version, workers, now, got an unknown name; did you mean workers?',
  );
  expect(await refused({ workers: 0 })).toBe('workers: expected a whole number from 1 to 20, got 0');
  expect(await refused({ now: NOON })).toBe('now: expected function, got number');
  const mappings = await createMappings({ client, database: await freshPlace('postgres') });
  expect((await errorOf(mappings.map({ email: 'user@example.com' } as never))).message).toBe(
    'source: expected iterable or async iterable, got object',
  );
  await mappings.close();
});

test.each([
  { got: 1, words: 'got 1' },
  { got: 3, words: 'got more' },
])(
  'a client that returns $got results for 2 DII fails the job, and does not make it poll forever',
  async ({ got, words }) => {
    const its = service();
    const mapIdentities = () => ({
      batches: async function* () {
        yield Array.from({ length: got }, () => ({ status: 'optout', answeredAt: its.at }));
      },
    });
    const client = { ...its.client, mapIdentities } as unknown as MappingClient;
    const place = await freshPlace('postgres');
    const before = await its.open(place);
    await before.map(people(2));
    await before.close();
    its.at += 31 * DAY;
    const mappings = await its.open(place, { client });
    await expect(mappings.mapDue()).rejects.toThrow(`client: expected a result for each of 2 DII, ${words}`);
  },
);

test('a client that throws before it returns results fails the batch, so that the job stops before its locks end', async () => {
  const error = new Error('no');
  const client = {
    ...service().client,
    mapIdentities: () => {
      throw error;
    },
  };
  const request = createMappingRequest(client, 3, createServiceClock(Date.now));
  expect(await request([], new AbortController().signal)).toMatchObject({ rows: [], failure: { error } });
});

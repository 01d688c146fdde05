import { describe, expect, test } from 'vitest';
import { createClient } from '../../src/server/index.ts';
import { NOW, opened, optionsFor, plain, rejectionOf, type Step, scriptedService } from './scripted-service.ts';

const clientOf = (...steps: Step[]) => {
  const service = scriptedService(...steps);
  return { ...service, client: createClient({ ...optionsFor(service), retry: { firstMs: 0 } }) };
};

describe('rotatedBuckets', () => {
  const bucket = (last_updated: unknown) => ({ bucket_id: 'b1', last_updated });

  test('sends UTC without a zone, and returns epoch ms and the service’s time', async () => {
    const body = [bucket('2026-05-31T23:59:59'), { bucket_id: 'b2', last_updated: '2026-06-01T00:00:00.123' }];
    const { client, seen } = clientOf(opened({ status: 'success', body }, { at: NOW + 7 }));
    expect(await client.rotatedBuckets(Date.UTC(2026, 4, 31, 1, 2, 3, 4))).toEqual({
      buckets: [
        { bucketId: 'b1', rotatedAt: Date.UTC(2026, 4, 31, 23, 59, 59) },
        { bucketId: 'b2', rotatedAt: Date.UTC(2026, 5, 1, 0, 0, 0, 123) },
      ],
      answeredAt: NOW + 7,
    });
    expect(seen[0]).toMatchObject({
      path: '/v2/identity/buckets',
      payload: { since_timestamp: '2026-05-31T01:02:03.004' },
    });
  });

  test('accepts a Date', async () => {
    const { client, seen } = clientOf(opened({ status: 'success', body: [] }));
    expect((await client.rotatedBuckets(new Date(NOW))).buckets).toEqual([]);
    expect(seen[0]!.payload).toEqual({ since_timestamp: '2026-06-01T12:00:00.000' });
  });

  test.each([
    ['2026-06-01T12:00', 0],
    ['2026-06-01T12:00:00.5', 500],
    ['2026-06-01T12:00:00.123456789', 123],
    ['2026-06-01T12:00:00Z', 0],
  ])('reads %s', async (text, ms) => {
    const { client } = clientOf(opened({ status: 'success', body: [bucket(text)] }));
    expect((await client.rotatedBuckets(NOW)).buckets[0]!.rotatedAt).toBe(NOW + ms);
  });

  test.each([
    [{}],
    [[bucket('yesterday')]],
    [[bucket('2026-13-01T00:00:00')]],
    [[bucket(5)]],
    [[{ last_updated: '2026-06-01T12:00:00' }]],
    [[null]],
  ])('%j is a malformed_response', async (body) => {
    const { client } = clientOf(opened({ status: 'success', body }));
    expect(await rejectionOf(client.rotatedBuckets(NOW))).toMatchObject({ code: 'malformed_response', status: 200 });
  });

  test('429 and 5xx are retried', async () => {
    const { client, seen } = clientOf(plain(429), plain(502), opened({ status: 'success', body: [] }));
    await client.rotatedBuckets(NOW);
    expect(seen).toHaveLength(3);
  });

  test.each([['2026-06-01'], [Number.NaN], [new Date('x')], [undefined], [1e300]])(
    '%s is a TypeError',
    async (since) => {
      const { client } = clientOf(plain(500));
      expect(await rejectionOf(client.rotatedBuckets(since as never))).toBeInstanceOf(TypeError);
    },
  );
});

describe('optOutStatus', () => {
  const ids = (count: number) => Array.from({ length: count }, (_, i) => `id-${i}`);
  /** Every raw ID that ends in 7 has opted out. */
  const status: Step = (seen, signal) => {
    const opted = (seen.payload.advertising_ids as string[]).filter((id) => id.endsWith('7'));
    const opted_out = opted.map((advertising_id) => ({ advertising_id, opted_out_since: NOW - 1000 }));
    return opened({ status: 'success', body: { opted_out } })(seen, signal);
  };

  test('returns those that have opted out, and when', async () => {
    const { client, seen } = clientOf(status);
    expect(await client.optOutStatus(['id-6', 'id-7', 'id-17']).toArray()).toEqual([
      { rawId: 'id-7', optedOutAt: NOW - 1000, answeredAt: NOW },
      { rawId: 'id-17', optedOutAt: NOW - 1000, answeredAt: NOW },
    ]);
    expect(seen[0]).toMatchObject({
      path: '/v2/optout/status',
      payload: { advertising_ids: ['id-6', 'id-7', 'id-17'] },
    });
  });

  test('sends batches of 5,000 one after the other, over two calls of a client', async () => {
    let inside = 0;
    let most = 0;
    const slow: Step = async (seen, signal) => {
      most = Math.max(most, ++inside);
      await new Promise((resolve) => setImmediate(resolve));
      inside--;
      return status(seen, signal);
    };
    const { client, seen } = clientOf(slow);
    const runs = await Promise.all([client.optOutStatus(ids(11_000)).toArray(), client.optOutStatus(ids(1)).toArray()]);
    expect(runs.map((found) => found.length)).toEqual([1100, 0]);
    expect(seen.map(({ payload }) => payload.advertising_ids.length).sort((a, b) => b - a)).toEqual([
      5000, 5000, 1000, 1,
    ]);
    expect(most).toBe(1);
  });

  test('a failed batch is retried, and results keep the order', async () => {
    const { client } = clientOf(plain(503), status, plain(429), status);
    const found = await client.optOutStatus(ids(6000)).toArray();
    expect(found.map(({ rawId }) => rawId)).toEqual(ids(6000).filter((id) => id.endsWith('7')));
  });

  test.each([
    [undefined],
    [{}],
    [{ opted_out: {} }],
    [{ opted_out: [{ advertising_id: 'x' }] }],
    [{ opted_out: [null] }],
    [{ opted_out: [{ advertising_id: 'x', opted_out_since: 1e16 }] }],
    [{ opted_out: [{ advertising_id: 'not-asked', opted_out_since: NOW }] }],
  ])('%j is a malformed_response', async (body) => {
    const { client } = clientOf(opened({ status: 'success', body }));
    expect(await rejectionOf(client.optOutStatus(['x']).toArray())).toMatchObject({ code: 'malformed_response' });
  });

  test('a string, an object and a list of other values are TypeErrors', async () => {
    const { client } = clientOf(status);
    expect(() => client.optOutStatus('id-7' as never)).toThrow(TypeError);
    expect(await rejectionOf(client.optOutStatus([7] as never).toArray())).toBeInstanceOf(TypeError);
  });

  test('a string longer than a request is a TypeError that does not quote it, and is not passed over', async () => {
    const { client, seen } = clientOf(status);
    const long = 'x'.repeat(1_000_000);
    expect(await rejectionOf(client.optOutStatus(['id-7', long]).toArray())).toEqual(
      new TypeError('rawIds: expected raw IDs, got a string of 1000000 characters'),
    );
    expect(seen).toEqual([]);
  });
});

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Credentials } from '../../src/operator/index.ts';
import { createTestService } from './fixtures.ts';

const LIMITED: [path: string, payload: object][] = [
  ['/v3/identity/map', { email: [] }],
  ['/v2/identity/map', { email: [] }],
  ['/v2/identity/buckets', { since_timestamp: '2999-01-01T00:00:00' }],
];

describe('the rate limit', () => {
  // In memory it counts in each second of real time.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  test.each(LIMITED)(
    '%s is answered 429 with Retry-After and no body, and accepted again after a second',
    async (path, payload) => {
      const service = createTestService({ rateLimit: 2 });
      const request = async () => (await service.call(path, payload)).http;
      // A database counts in its own time: asked again until a second of it begins with the first request.
      await expect
        .poll(async () => [await request(), await request(), await request()], { timeout: 60_000 })
        .toEqual([200, 200, 429]);
      const refused = await service.call(path, payload, { headers: { origin: 'https://page.example' } });
      expect([refused.http, refused.text]).toEqual([429, '']);
      expect(refused.headers.get('retry-after')).toBe('1');
      expect(refused.headers.get('access-control-expose-headers')).toBe('Date, Retry-After');
      expect(refused.headers.has('content-type')).toBe(false);
      vi.advanceTimersByTime(1001);
      await expect.poll(request, { timeout: 60_000 }).toBe(200);
    },
  );

  test('counts all limited endpoints together and each participant separately, even those of one site', async () => {
    const service = createTestService({ rateLimit: 2, participants: [{ apiKey: 'first' }, { apiKey: 'second' }] });
    const request = async (as: Credentials, [path, payload]: [string, object]) =>
      (await service.call(path, payload, { as })).http;
    const [first, second] = service.operator.participants as [Credentials, Credentials];
    await expect
      .poll(
        async () => {
          const statuses = [];
          for (const limited of LIMITED) statuses.push(await request(first, limited));
          return statuses;
        },
        { timeout: 60_000 },
      )
      .toEqual([200, 200, 429]);
    expect(await request(second, LIMITED[0]!)).toBe(200);
  });

  test('does not apply to other endpoints or to unknown callers', async () => {
    const service = createTestService({ rateLimit: 1 });
    for (let time = 0; time < 5; time++) {
      expect((await service.call('/v2/token/generate', { email: 'a@example.com' })).http).toBe(200);
      expect((await service.post('/v3/identity/map', '')).status).toBe(401);
    }
  });
});

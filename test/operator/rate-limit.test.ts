import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Credentials } from '../../src/operator/index.ts';
import { toB64 } from '../../src/token/bytes.ts';
import { createTestService } from './fixtures.ts';

const LIMITED: [path: string, payload: object][] = [
  ['/v3/identity/map', { email: [] }],
  ['/v2/identity/map', { email: [] }],
  ['/v2/identity/buckets', { since_timestamp: '2999-01-01T00:00:00' }],
];

describe('the rate limit of a participant', () => {
  // It counts in each second of real time.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
  afterEach(() => void vi.useRealTimers());

  test('counts all limited endpoints together, and each participant separately, even those of one site', async () => {
    const service = createTestService({ rateLimit: 2, participants: [{ apiKey: 'first' }, { apiKey: 'second' }] });
    const [first, second] = service.operator.participants as [Credentials, Credentials];
    const statuses = async (as: Credentials) => {
      const all = [];
      for (const [path, payload] of LIMITED) all.push((await service.call(path, payload, { as })).http);
      return all;
    };
    expect(await statuses(first)).toEqual([200, 200, 429]);
    expect(await statuses(second)).toEqual([200, 200, 429]);
  });

  test.each(LIMITED)(
    '%s is answered 429 with Retry-After and no body, and again after a second',
    async (path, payload) => {
      const service = createTestService({ rateLimit: 1 });
      expect((await service.call(path, payload)).http).toBe(200);
      const refused = await service.call(path, payload, { headers: { origin: 'https://page.example' } });
      expect([refused.http, refused.text]).toEqual([429, '']);
      expect(refused.headers.get('retry-after')).toBe('1');
      expect(refused.headers.get('access-control-expose-headers')).toBe('Date, Retry-After');
      expect(refused.headers.has('content-type')).toBe(false);
      vi.advanceTimersByTime(1000);
      expect((await service.call(path, payload)).http).toBe(200);
    },
  );

  test('counts neither other endpoints nor requests without the client secret', async () => {
    const service = createTestService({ rateLimit: 1 });
    const thief = { ...service.participant, clientSecret: toB64(new Uint8Array(32).fill(3)) };
    for (let time = 0; time < 3; time++) {
      expect((await service.call('/v2/token/generate', { email: 'a@example.com' })).http).toBe(200);
      expect((await service.post('/v3/identity/map', '')).status).toBe(401);
      expect((await service.call('/v3/identity/map', { email: [] }, { as: thief })).http).toBe(400);
    }
    expect((await service.call('/v3/identity/map', { email: [] })).http).toBe(200);
  });
});

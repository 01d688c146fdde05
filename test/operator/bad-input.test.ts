import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toB64 } from '../../src/token/bytes.ts';
import { createTestService } from './fixtures.ts';

const PATHS = [
  '/v2/token/generate',
  '/v2/token/validate',
  '/v2/token/logout',
  '/v3/identity/map',
  '/v2/identity/map',
  '/v2/identity/buckets',
  '/v2/optout/status',
  '/v2/key/sharing',
  '/v2/key/bidstream',
  '/v2/key/latest',
];
const NAMES = ['email', 'email_hash', 'phone', 'phone_hash', 'token', 'since_timestamp', 'advertising_ids'];
const service = createTestService();

describe('no input causes a 500', () => {
  // A mixture of valid and invalid values.
  const value = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom('user@example.com', '+12345678901', '2026-06-01T00:00:00', 'A'.repeat(44), 'f'.repeat(64)),
    fc.array(fc.oneof(fc.jsonValue(), fc.constant('user@example.com')), { maxLength: 5 }),
  );
  const payload = fc.oneof(fc.dictionary(fc.constantFrom(...NAMES), value, { maxKeys: 3 }), fc.jsonValue());

  test.each(PATHS)('any JSON at %s', async (path) => {
    await fc.assert(
      fc.asyncProperty(payload, async (json) => {
        // A random number may request the list of all buckets, which takes seconds.
        if (path.endsWith('buckets') && typeof (json as { since_timestamp?: unknown })?.since_timestamp === 'number')
          return;
        const answer = await service.call(path, json);
        expect([200, 400]).toContain(answer.http);
        expect(answer.json.status).toBeTypeOf('string');
        if (answer.http === 400) {
          expect(answer.json.message).toBeTypeOf('string');
          // Real pages trust the JSON of an error, so it must never have these.
          expect(['success', 'optout']).not.toContain(answer.json.status);
        }
      }),
      { numRuns: 150 },
    );
  });

  test.each([...PATHS, '/v2/token/refresh'])('any bytes at %s', async (path) => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 100 }),
      fc.uint8Array({ minLength: 291, maxLength: 291 }),
      fc.uint8Array({ maxLength: 400 }).map((raw) => new TextEncoder().encode(toB64(raw))),
      fc.string({ unit: 'binary', maxLength: 400 }).map((text) => new TextEncoder().encode(text)),
      fc.json().map((text) => new TextEncoder().encode(text)),
    );
    const type = fc.constantFrom('application/octet-stream', 'text/plain', 'application/json', '');
    await fc.assert(
      fc.asyncProperty(bytes, type, async (body, contentType) => {
        const response = await service.post(path, Uint8Array.from(body), {
          authorization: `Bearer ${service.participant.apiKey}`,
          ...(contentType && { 'content-type': contentType }),
        });
        expect(response.status).toBe(400);
        expect(['client_error', 'invalid_token']).toContain((await response.json()).status);
      }),
      { numRuns: 150 },
    );
  });
});

test.each<[what: string, json: string]>([
  ['spaces', `{"email":"a@${' '.repeat(500_000)}x"}`],
  ['plus signs', `{"email":"${'+'.repeat(500_000)}@gmail.com"}`],
  ['at signs', `{"email":"${'@'.repeat(500_000)}"}`],
  ['digits', `{"phone":"+${'1'.repeat(500_000)}"}`],
  ['lists in lists', `{"email":${'['.repeat(250_000)}${']'.repeat(250_000)}}`],
  // Quadratic work would take minutes, longer than the limit of a test.
])('half a megabyte of %s is answered in linear time', async (_, json) => {
  expect([200, 400]).toContain((await service.call('/v2/token/generate', json)).http);
});

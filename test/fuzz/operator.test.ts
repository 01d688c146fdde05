/**
 * Every endpoint of the operator, the wire formats, and the server client, with hostile bytes and structures.
 *
 * What must hold: no answer is a 5xx and no call rejects; no answer contains a secret; a 200 opens under the caller's key.
 */

import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { createClient } from '../../src/server/index.ts';
import { fromB64, toB64, utf8 } from '../../src/token/bytes.ts';
import { aesKey } from '../../src/token/cipher.ts';
import { isTokenError, openRefresh, openRequest, openResponse } from '../../src/token/index.ts';
import { BASE, createTestService, envelope, NOON, ROOT } from '../operator/fixtures.ts';
import { opened, optionsFor, refreshed, SET, scriptedService } from '../server/scripted-service.ts';
import { altered, bytes, damaged, json } from './inputs.ts';
import { fuzz } from './run.ts';

const service = createTestService();
const { apiKey, clientSecret } = service.participant;
const SECRETS = [clientSecret, apiKey, toB64(ROOT)];
const set = await service.generate({ email: 'user@example.com' });

const PAYLOADS: Readonly<Record<string, unknown>> = {
  '/v2/token/generate': { email: 'user@example.com' },
  '/v2/token/validate': { email: 'user@example.com', token: set.advertising_token },
  '/v2/token/logout': { phone: '+12345678999' },
  '/v3/identity/map': { email: ['user@example.com', 'optout@example.com'], phone: ['+12345678901'], email_hash: [] },
  '/v2/identity/map': { email: ['user@example.com', 'nobody'] },
  '/v2/identity/buckets': { since_timestamp: '2026-06-01T11:00:00' },
  '/v2/optout/status': { advertising_ids: ['A'.repeat(44)] },
  '/v2/key/sharing': {},
  '/v2/key/bidstream': {},
  '/v2/key/latest': {},
};
const PATHS = Object.keys(PAYLOADS);
const sealed = await envelope(PAYLOADS['/v2/token/generate'], clientSecret, NOON);
const REFRESH = '/v2/token/refresh';

const checkResponse = async (response: Response): Promise<Uint8Array> => {
  expect(response.status).toBeLessThan(500);
  const body = new Uint8Array(await response.arrayBuffer());
  const text = new TextDecoder('latin1').decode(body);
  for (const secret of SECRETS) expect(text).not.toContain(secret);
  return body;
};

const headerValue = fc.oneof(
  fc.constantFrom('application/octet-stream', 'text/plain', 'application/x-www-form-urlencoded', '', '*/*'),
  fc.string({ unit: fc.constantFrom(...'abcZ09-_/;=., +"'), maxLength: 60 }),
);

describe('the operator', () => {
  const requests = fc.record({
    path: fc.oneof(fc.constantFrom(...PATHS, REFRESH, '/metrics', '/ops/healthcheck'), fc.webPath()),
    method: fc.constantFrom('POST', 'POST', 'POST', 'GET', 'PUT', 'OPTIONS', 'DELETE'),
    authorization: fc.oneof(fc.constant(`Bearer ${apiKey}`), fc.constant(`Bearer ${apiKey}`), headerValue),
    headers: fc.dictionary(
      fc.constantFrom('content-type', 'origin', 'x-amzn-trace-id', 'access-control-request-method', 'content-encoding'),
      headerValue,
      { maxKeys: 3 },
    ),
    body: fc.oneof(bytes, damaged(sealed), damaged(utf8(toB64(sealed))), damaged(utf8(set.refresh_token))),
  });
  fuzz('answers any request', 26, requests, async ({ path, method, authorization, headers, body }) => {
    const init = { method, headers: { ...headers, authorization }, ...(method === 'GET' ? {} : { body }) };
    await checkResponse(await service.operator.fetch(new Request(new URL(path.replace(/^\/+/, '/'), BASE), init)));
  });

  const payloads = fc
    .constantFrom(...PATHS)
    .chain((path) => fc.record({ path: fc.constant(path), payload: fc.oneof(altered(PAYLOADS[path]), json) }));
  fuzz('answers any payload in a valid envelope', 18, payloads, async ({ path, payload }) => {
    const body = await envelope(JSON.stringify(payload), clientSecret, NOON);
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/octet-stream' };
    const response = await service.operator.fetch(new Request(BASE + path, { method: 'POST', body, headers }));
    expect([200, 400]).toContain(response.status);
    // A list of all buckets is 93 MB, which are not made before somebody reads them.
    if (path === '/v2/identity/buckets' && response.status === 200) return response.body!.cancel();
    const received = await checkResponse(response);
    if (response.status === 200)
      expect(
        JSON.parse((await openResponse(await aesKey(fromB64(clientSecret)), Uint8Array.from(received))).json).status,
      ).toMatch(/^(success|optout)$/);
  });

  fuzz('accepts no refresh token that has been changed', 10, damaged(fromB64(set.refresh_token)), async (token) => {
    const body = toB64(token);
    const response = await service.operator.fetch(new Request(BASE + REFRESH, { method: 'POST', body }));
    await checkResponse(response);
    expect(response.status === 200).toBe(body === set.refresh_token);
  });
});

describe('the formats', () => {
  const keyB64 = toB64(ROOT);
  fuzz('fail with a TokenError only', 10, fc.oneof(bytes, damaged(sealed)), async (input) => {
    const key = await aesKey(ROOT);
    for (const open of [
      () => openRequest(key, input),
      () => openResponse(key, input),
      () => openRefresh(toB64(input), keyB64),
    ])
      await open().then(
        () => expect.unreachable('opened under another key'),
        (error) => expect(isTokenError(error)).toBe(true),
      );
  });
});

describe('the server client', () => {
  const ID = 'A'.repeat(44);
  const answers = fc.oneof(
    altered({ status: 'success', body: SET }),
    altered({ status: 'success', body: { email: [{ u: ID, p: null, r: 1_900_000_000 }], phone: [], email_hash: [] } }),
    altered({
      status: 'success',
      body: { mapped: [{ identifier: 'a@example.com', advertising_id: ID, bucket_id: 'b1' }] },
    }),
    altered({ status: 'success', body: [{ bucket_id: 'b1', last_updated: '2026-06-01T00:00:00' }] }),
    altered({ status: 'success', body: { opted_out: [{ advertising_id: ID, opted_out_since: 5 }] } }),
    json,
  );
  fuzz('fails with a TokenError only, whatever a service answers', 16, answers, async (answer) => {
    const text = JSON.stringify(answer);
    const options = { ...optionsFor(scriptedService(opened(text))), retry: { tries: 1 }, hashLocally: 'none' } as const;
    const client = createClient(options);
    const email = 'a@example.com';
    const refreshing = createClient(optionsFor(scriptedService(refreshed(answer))));
    const calls: Promise<unknown>[] = [
      client.generate({ email }),
      client.validate('token', { email }),
      client.optOut({ email }),
      client.mapIdentities([{ email }]).toArray(),
      client.mapIdentitiesV2([{ email }]).toArray(),
      client.rotatedBuckets(NOON),
      client.optOutStatus(['id']).toArray(),
      refreshing.refresh({ refreshToken: 'r', responseKeyB64: SET.refresh_response_key }),
    ];
    for (const result of await Promise.allSettled(calls)) {
      if (result.status === 'fulfilled') continue;
      expect(isTokenError(result.reason)).toBe(true);
      expect((result.reason as Error).message).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    }
  });
});

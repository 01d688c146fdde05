import { describe, expect, test } from 'vitest';
import { toB64 } from '../../src/token/bytes.ts';
import { openRefresh } from '../../src/token/index.ts';
import { createTestService, DAY, NOON } from './fixtures.ts';

const INVALID = { status: 'invalid_token', message: 'Invalid Token presented' };
const EXPIRED = { status: 'expired_token', message: 'Expired Token presented' };
const NOT_B64 = { status: 'client_error', message: 'Invalid body: Body is not valid base64.' };
const MISSING = { status: 'client_error', message: 'Invalid body: Body is missing.' };
const PATH = '/v2/token/refresh';

test('a refresh returns a new set, sealed under the response key of the old one', async () => {
  const service = createTestService();
  const first = await service.generate({ email: 'user@example.com' });
  service.now += 900_000;
  const answer = await service.refresh(first);
  expect(answer.http).toBe(200);
  expect(answer.headers.get('content-type')).toBe('text/plain');
  const second = answer.json.body;
  expect(second.refresh_from).toBe(service.now + 900_000);
  for (const name of ['advertising_token', 'refresh_token', 'refresh_response_key'])
    expect(second[name]).not.toBe(first[name]);
  await expect(openRefresh(answer.text, second.refresh_response_key)).rejects.toMatchObject({ code: 'decrypt_failed' });
});

test('a refresh token can be used again, because real pages resend old ones', async () => {
  const service = createTestService();
  const set = await service.generate({ email: 'user@example.com' });
  expect((await service.refresh(set)).json.status).toBe('success');
  expect((await service.refresh(set)).json.status).toBe('success');
});

test('the answer is ASCII, for clients that decode it byte by byte', async () => {
  const service = createTestService();
  const set = await service.generate({ email: 'É@exämple.com' });
  expect(JSON.stringify((await service.refresh(set)).json)).toMatch(/^[\x20-\x7e]+$/);
});

describe('the caller makes no difference', () => {
  test.each<[who: string, headers: Record<string, string>]>([
    ['no headers', {}],
    ['an unknown key', { authorization: 'Bearer nobody' }],
    ['another authorization scheme', { authorization: 'Basic eDp5' }],
    ['a page that uses an SDK', { 'x-uid2-client-version': 'PrebidJS-11', origin: 'https://page.example' }],
    ['the content type of a form', { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' }],
  ])('%s', async (_, headers) => {
    const service = createTestService();
    const set = await service.generate({ email: 'user@example.com' });
    expect((await service.refresh(set, headers)).json.status).toBe('success');
    service.now += DAY + 1;
    expect(await service.refresh(set, headers)).toMatchObject({ http: 400, json: EXPIRED });
  });

  test('a participant of another site', async () => {
    const service = createTestService({
      participants: [
        { siteId: 101, apiKey: 'key-of-101' },
        { siteId: 102, apiKey: 'key-of-102' },
      ],
    });
    const set = await service.generate({ email: 'user@example.com' });
    const { json } = await service.refresh(set, { authorization: 'Bearer key-of-102' });
    expect(json.status).toBe('success');
  });
});

test('a request in bytes is answered with bytes', async () => {
  const service = createTestService();
  const set = await service.generate({ email: 'user@example.com' });
  const response = await service.post(PATH, set.refresh_token, { 'content-type': 'Application/Octet-Stream' });
  expect(response.headers.get('content-type')).toBe('application/octet-stream');
  const bytes = new Uint8Array(await response.arrayBuffer());
  expect(JSON.parse(await openRefresh(toB64(bytes), set.refresh_response_key)).status).toBe('success');
});

describe('errors are plain JSON with status 400', () => {
  const refreshChanged = async (change: (token: string) => string) => {
    const service = createTestService();
    const set = await service.generate({ email: 'user@example.com' });
    const response = await service.post(PATH, change(set.refresh_token));
    expect(response.headers.get('content-type')).toBe('application/json');
    return [response.status, await response.json()];
  };
  const swap = (token: string, at: number): string =>
    token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1);

  test.each<[what: string, change: (token: string) => string, json: object]>([
    ['an empty body', () => '', MISSING],
    ['not base64', () => 'not base64!', NOT_B64],
    ['a token in JSON', (token) => JSON.stringify({ refresh_token: token }), NOT_B64],
    ['a line break at the end', (token) => `${token}\n`, NOT_B64],
    ['the URL-safe alphabet', (token) => `-_${token.slice(2)}`, NOT_B64],
    ['padding that does not fit', (token) => `${token}=`, NOT_B64],
    ['a shorter token', (token) => token.slice(4), INVALID],
    ['a longer token', (token) => `${token}AAAA`, INVALID],
    ['an unknown key', (token) => swap(token, 4), INVALID],
    ['another scope', (token) => `E${token.slice(1)}`, INVALID],
    ['an altered byte', (token) => swap(token, 200), INVALID],
    ['an altered tag', (token) => swap(token, 387), INVALID],
    ['388 characters that decode to zeros', () => 'A'.repeat(388), INVALID],
    ['an advertising token', () => 'A4AAAACB'.padEnd(218, 'x'), INVALID],
  ])('%s', async (_, change, json) => {
    expect(await refreshChanged(change)).toEqual([400, json]);
  });

  test.each([
    ['root secret', { rootSecret: new Uint8Array(32).fill(8) }],
    ['environment', { environment: 'production' }],
    ['scope', { scope: 'EUID' }],
  ] as const)('a token of another %s', async (_, options) => {
    const set = await createTestService().generate({ email: 'user@example.com' });
    expect(await createTestService(options).refresh(set)).toMatchObject({ http: 400, json: INVALID });
  });
});

test('a token is valid in the millisecond of its expiry, and not after', async () => {
  const service = createTestService();
  const set = await service.generate({ email: 'user@example.com' });
  service.now = set.refresh_expires;
  expect((await service.refresh(set)).json.status).toBe('success');
  service.now++;
  expect(await service.refresh(set)).toMatchObject({ http: 400, json: EXPIRED });
});

test('a token under an older generation of keys opens, one under a newer does not', async () => {
  const old = await createTestService().generate({ email: 'user@example.com' });
  const newer = createTestService({ keyGeneration: 2 });
  const { json } = await newer.refresh(old);
  expect(json.status).toBe('success');
  expect((await newer.refresh(json.body)).json.status).toBe('success');
  expect(await createTestService().refresh(json.body)).toMatchObject({ http: 400, json: INVALID });
});

test('an opted-out user is answered optout, sealed and without tokens, but expired_token after the expiry', async () => {
  const service = createTestService();
  const set = await service.generate({ email: 'user@example.com' });
  service.now += 1000;
  expect((await service.call('/v2/token/logout', { email: 'USER@example.com' })).json.body).toEqual({ optout: 'OK' });
  const answer = await service.refresh(set);
  expect([answer.http, answer.json]).toEqual([200, { status: 'optout' }]);
  service.now = NOON + 2 * DAY;
  expect(await service.refresh(set)).toMatchObject({ http: 400, json: EXPIRED });
});

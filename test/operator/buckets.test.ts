import { describe, expect, test } from 'vitest';
import { writeBucketList } from '../../src/operator/endpoints/bucket-list.ts';
import { parseSinceTimestamp } from '../../src/operator/endpoints/buckets.ts';
import { fromB64, toB64 } from '../../src/token/bytes.ts';
import { aesKey } from '../../src/token/cipher.ts';
import { openResponse } from '../../src/token/index.ts';
import { createTestService, DAY, envelope, NOON } from './fixtures.ts';

const PATH = '/v2/identity/buckets';
const INVALID = 'invalid date, must conform to ISO 8601';
const iso = (at: number): string => new Date(at).toISOString().slice(0, -1);

describe('since_timestamp', () => {
  test.each<[value: unknown, at: number | undefined]>([
    ['2026-06-01T12:00:00', NOON],
    ['2026-06-01T12:00', NOON],
    ['2026-06-01T12:00:00.5', NOON + 500],
    ['2026-06-01T12:00:00.123', NOON + 123],
    // Microseconds, as Python writes them. Rounded up, so that no earlier rotation is listed.
    ['2026-06-01T12:00:00.123456', NOON + 124],
    ['2026-06-01T12:00:00.123000000', NOON + 123],
    ['2026-06-01T12:00:00.999999999', NOON + 1000],
    ['2024-02-29T00:00:00', Date.UTC(2024, 1, 29)],
    ['0001-01-01T00:00:00', Date.parse('0001-01-01T00:00:00Z')],
    [NOON, NOON],
    [0, 0],
    [-5, -5],
    ['2026-06-01T12:00:00Z', undefined],
    ['2026-06-01T12:00:00+00:00', undefined],
    ['2026-06-01 12:00:00', undefined],
    ['2026-06-01', undefined],
    ['2026-06-01T', undefined],
    ['2026-06-01T12', undefined],
    ['2026-06-01T24:00:00', undefined],
    ['2026-06-01T12:60:00', undefined],
    ['2026-06-01T12:00:60', undefined],
    ['2026-06-31T12:00:00', undefined],
    ['2025-02-29T12:00:00', undefined],
    ['2026-13-01T12:00:00', undefined],
    ['2026-6-1T12:00:00', undefined],
    ['2026-06-01T12:00:00.', undefined],
    ['2026-06-01T12:00:00.1234567890', undefined],
    [' 2026-06-01T12:00:00', undefined],
    [`${NOON}`, undefined],
    ['', undefined],
    [1.5, undefined],
    [2 ** 53, undefined],
    [true, undefined],
    [[], undefined],
    [{}, undefined],
  ])('%j is parsed as %s', (value, at) => expect(parseSinceTimestamp(value)).toBe(at));

  test.each<[what: string, payload: unknown, message: string]>([
    ['an empty payload', undefined, 'missing parameter since_timestamp'],
    ['no member', {}, 'missing parameter since_timestamp'],
    ['null', { since_timestamp: null }, 'missing parameter since_timestamp'],
    ['a time with a zone', { since_timestamp: '2026-06-01T12:00:00Z' }, INVALID],
    ['a string that is not a time', { since_timestamp: 'yesterday' }, INVALID],
    ['a fraction of a millisecond', { since_timestamp: NOON + 0.5 }, INVALID],
  ])('%s is a client error', async (_, payload, message) => {
    const { http, json } = await createTestService().call(PATH, payload);
    expect([http, json]).toEqual([400, { status: 'client_error', message }]);
  });
});

describe('the list of rotated buckets', () => {
  test('contains about 1/365 of all buckets for one day, in the documented form, none older than requested', async () => {
    const { json } = await createTestService().call(PATH, { since_timestamp: iso(NOON - DAY) });
    expect(json.status).toBe('success');
    expect(json.body.length).toBeGreaterThan(2870);
    expect(json.body.length).toBeLessThan(2876);
    for (const row of json.body) {
      expect(Object.keys(row)).toEqual(['bucket_id', 'last_updated']);
      expect(row.bucket_id).toMatch(/^b[0-9a-f]{5}$/);
      expect(row.last_updated).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000$/);
      expect(row.last_updated >= iso(NOON - DAY) && row.last_updated <= iso(NOON)).toBe(true);
    }
    expect(new Set(json.body.map((row: { bucket_id: string }) => row.bucket_id)).size).toBe(json.body.length);
  });

  test('is empty for a future time', async () => {
    const service = createTestService();
    for (const since_timestamp of [NOON + 1000, '2999-01-01T00:00:00'])
      expect((await service.call(PATH, { since_timestamp })).json).toEqual({ status: 'success', body: [] });
  });

  test('contains exactly the buckets of v2 map whose raw IDs have changed', async () => {
    const service = createTestService();
    const email = Array.from({ length: 2000 }, (_, at) => `user${at}@example.com`);
    const before = await service.call('/v2/identity/map', { email });
    service.now += 7 * DAY;
    const after = await service.call('/v2/identity/map', { email });
    const { json } = await service.call(PATH, { since_timestamp: iso(before.at!) });
    const rotated = new Set(json.body.map((row: { bucket_id: string }) => row.bucket_id));
    const rows = before.json.body.mapped.map((row: { bucket_id: string; advertising_id: string }, at: number) => ({
      named: rotated.has(row.bucket_id),
      changed: row.advertising_id !== after.json.body.mapped[at].advertising_id,
    }));
    expect(rows.filter(({ changed }: { changed: boolean }) => changed).length).toBeGreaterThan(15);
    for (const { named, changed } of rows) expect(named).toBe(changed);
  });
});

test('a long list is complete, and lets other requests in while it is written', async () => {
  let turns = 0;
  let counting = setImmediate(function count() {
    turns++;
    counting = setImmediate(count);
  });
  const count = 10_000;
  const bytes = await writeBucketList({ count, row: (bucket) => ({ bucket, startSeconds: NOON / 1000 }) });
  clearImmediate(counting);
  expect(turns).toBeGreaterThanOrEqual(3);
  const { status, body } = JSON.parse(new TextDecoder().decode(bytes));
  expect([status, body.length]).toEqual(['success', count]);
  expect(body.at(-1)).toEqual({ bucket_id: 'b0270f', last_updated: '2026-06-01T12:00:00.000' });
});

describe('a long list', () => {
  // About 86,000 buckets: 5 MB.
  const MONTH_AGO = NOON - 30 * DAY;

  const request = async (service: ReturnType<typeof createTestService>, binary: boolean, since = MONTH_AGO) => {
    const { apiKey, clientSecret } = service.participant;
    const body = await envelope({ since_timestamp: since }, clientSecret, service.now);
    return service.post(PATH, binary ? body : toB64(body), {
      authorization: `Bearer ${apiKey}`,
      ...(binary ? { 'content-type': 'application/octet-stream' } : {}),
    });
  };
  // Opens an answer without parsing its JSON, which would hold a million objects.
  const open = async (service: ReturnType<typeof createTestService>, response: Response) => {
    const bytes = new Uint8Array(await response.arrayBuffer());
    const binary = response.headers.get('content-type') === 'application/octet-stream';
    const sealed = binary
      ? bytes
      : Uint8Array.from(Buffer.from(Buffer.from(bytes.buffer).toString('latin1'), 'base64'));
    return openResponse(await aesKey(fromB64(service.participant.clientSecret)), sealed);
  };

  test('of all buckets is complete and contains each bucket once', async () => {
    const service = createTestService();
    const { json, at } = await open(service, await request(service, true, 0));
    expect(at).toBe(NOON);
    const names = json.match(/"b[0-9a-f]{5}"/g)!;
    expect(names).toHaveLength(2 ** 20);
    expect(new Set(names).size).toBe(2 ** 20);
    expect(json.startsWith('{"status":"success","body":[{"bucket_id":')).toBe(true);
    expect(json.endsWith('.000"}]}')).toBe(true);
  }, 240_000);

  test('is the same in base64 and in bytes', async () => {
    const service = createTestService();
    const jsonAs = async (type: string) => {
      const response = await request(service, type === 'application/octet-stream');
      expect(response.headers.get('content-type')).toBe(type);
      return (await open(service, response)).json;
    };
    const json = await jsonAs('text/plain');
    expect(json.length).toBeGreaterThan(5_000_000);
    expect(await jsonAs('application/octet-stream')).toBe(json);
  });

  test('is answered 429 with Retry-After while another one is generated, which a short list is not', async () => {
    const service = createTestService({ participants: [{ siteId: 101 }, { siteId: 102 }] });
    const [one, other] = service.operator.participants.map((participant) => ({ ...service, participant }));
    const answers = [request(one!, true), request(other!, true)];
    const refused = await Promise.race(answers);
    expect([refused.status, refused.headers.get('retry-after'), await refused.text()]).toEqual([429, '5', '']);
    expect((await request(one!, true, NOON - DAY)).status).toBe(200);
    expect((await Promise.all(answers)).map(({ status }) => status).sort()).toEqual([200, 429]);
  });
});

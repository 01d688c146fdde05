import { describe, expect, test } from 'vitest';
import { hashTextOf } from '../../src/token/index.ts';
import { createTestService, NOON } from './fixtures.ts';

const V3 = '/v3/identity/map';
const V2 = '/v2/identity/map';
const MISSING = 'Required Parameter Missing: one or more of [email, email_hash, phone, phone_hash] must be specified';
const EXACTLY_ONE =
  'Required Parameter Missing: exactly one of [email, email_hash, phone, phone_hash] must be specified';
const format = (fault: string): string => `Incorrect request format: ${fault}`;
const UNKNOWN = format('expected only email, email_hash, phone, phone_hash');
const EMPTY = { email: [], email_hash: [], phone: [], phone_hash: [] };
const OPT_OUT = { e: 'optout' };
const INVALID = { e: 'invalid identifier' };
const hash = hashTextOf('email', 'user@example.com')!;

describe('version 3', () => {
  test('answers each form in the order of its list, with one row for each duplicate', async () => {
    const { http, json } = await createTestService().call(V3, {
      phone: ['+12345678902', 'nobody', '+00000000000'],
      email: ['nobody', 'user@example.com', 'optout@example.com', 'USER@example.com', 'user@example.com'],
      email_hash: [hash, hash.slice(1)],
    });
    expect(http).toBe(200);
    expect(json.status).toBe('success');
    const { email, email_hash, phone, phone_hash } = json.body;
    const user = email[1];
    expect(email).toEqual([INVALID, user, OPT_OUT, user, user]);
    expect(email_hash).toEqual([user, INVALID]);
    expect(phone).toEqual([{ u: expect.any(String), p: expect.any(String), r: expect.any(Number) }, INVALID, OPT_OUT]);
    expect(phone_hash).toEqual([]);
    expect(Object.keys(json.body).sort()).toEqual(['email', 'email_hash', 'phone', 'phone_hash']);
  });

  test('`u` is 44 characters of base64, `p` may be null, `r` is in whole seconds and in the future', async () => {
    const service = createTestService();
    const email = Array.from({ length: 200 }, (_, at) => `user${at}@example.com`);
    const { json } = await service.call(V3, { email });
    let previous = 0;
    for (const { u, p, r, ...rest } of json.body.email) {
      expect(rest).toEqual({});
      expect(u).toMatch(/^[A-Za-z0-9+/]{43}=$/);
      if (p !== null) {
        previous++;
        expect(p).toMatch(/^[A-Za-z0-9+/]{43}=$/);
        expect(p).not.toBe(u);
      }
      expect(Number.isInteger(r)).toBe(true);
      expect(r).toBeGreaterThan(NOON / 1000);
      expect(r).toBeLessThanOrEqual(NOON / 1000 + 30 * 86_400);
    }
    // About 90 of 365.
    expect(previous).toBeGreaterThan(25);
    expect(previous).toBeLessThan(80);
  });

  test('both versions return the same raw ID', async () => {
    const service = createTestService();
    const { json } = await service.call(V3, { email: ['user@example.com'], phone: ['+12345678902'] });
    expect(json.body.email[0].u).not.toBe(json.body.phone[0].u);
    const v2 = await service.call(V2, { email: ['user@example.com'] });
    expect(v2.json.body.mapped[0].advertising_id).toBe(json.body.email[0].u);
  });

  test.each<[what: string, payload: unknown, message: string]>([
    ['an empty payload', undefined, MISSING],
    ['no member', {}, MISSING],
    ['an unknown member', { email: [], policy: 1 }, UNKNOWN],
    ['only an unknown member', { emails: ['a@b.c'] }, UNKNOWN],
    ['a string in place of a list', { email: 'user@example.com' }, format('email must be an array')],
    ['an object in place of a list', { email: {} }, format('email must be an array')],
    ['a null in a list', { email: ['user@example.com', null] }, format('email must be an array of strings')],
    ['an object in a list', { email: [{ email: 'user@example.com' }] }, format('email must be an array of strings')],
    ['a list in a list', { phone: [['+12345678901']] }, format('phone must be an array of strings')],
    ['a name of Object.prototype', { constructor: [] }, UNKNOWN],
  ])('%s is a client error', async (_, payload, message) => {
    const { http, json } = await createTestService().call(V3, payload);
    expect([http, json]).toEqual([400, { status: 'client_error', message }]);
  });

  test.each<[what: string, payload: unknown, body: object]>([
    ['null', { email: null }, EMPTY],
    ['an empty list', { phone_hash: [] }, EMPTY],
    ['four empty lists', EMPTY, EMPTY],
    ['scalars, converted to strings', { email: [5, true, ''] }, { ...EMPTY, email: [INVALID, INVALID, INVALID] }],
  ])('%s is answered', async (_, payload, body) => {
    expect((await createTestService().call(V3, payload)).json).toEqual({ status: 'success', body });
  });
});

describe('version 2', () => {
  test('separates mapped from unmapped identifiers, in order and as sent', async () => {
    const { http, json } = await createTestService().call(V2, {
      email: [' User@example.com', 'nobody', 'user@example.com', 'optout@example.com', 'nobody'],
      phone: [],
    });
    expect(http).toBe(200);
    const { advertising_id, bucket_id } = json.body.mapped[0];
    expect(json.body).toEqual({
      mapped: [
        { identifier: ' User@example.com', advertising_id, bucket_id },
        { identifier: 'user@example.com', advertising_id, bucket_id },
      ],
      unmapped: [
        { identifier: 'nobody', reason: 'invalid identifier' },
        { identifier: 'optout@example.com', reason: 'optout' },
        { identifier: 'nobody', reason: 'invalid identifier' },
      ],
    });
    expect(advertising_id).toMatch(/^[A-Za-z0-9+/]{43}=$/);
    expect(bucket_id).toMatch(/^b[0-9a-f]{5}$/);
  });

  test('omits `unmapped` if every identifier is mapped', async () => {
    const { json } = await createTestService().call(V2, { email_hash: [hash] });
    expect(Object.keys(json.body)).toEqual(['mapped']);
  });

  test.each<[what: string, payload: unknown, message: string]>([
    ['an empty payload', undefined, EXACTLY_ONE],
    ['no member', {}, EXACTLY_ONE],
    ['only an unknown member', { policy: 1 }, EXACTLY_ONE],
    ['two lists', { email: ['a@b.c'], phone: ['+12345678901'] }, EXACTLY_ONE],
    ['a string in place of a list', { email: 'a@b.c' }, 'email must be an array'],
    ['two strings in place of lists', { phone: '1', email_hash: '2' }, 'email_hash must be an array'],
    ['a string next to a list', { email: ['a@b.c'], phone_hash: '' }, 'phone_hash must be an array'],
    ['a null in a list', { email: ['a@b.c', null] }, 'email must be an array of strings'],
    ['an object in a list', { phone: [{}] }, 'phone must be an array of strings'],
  ])('%s is a client error', async (_, payload, message) => {
    const { http, json } = await createTestService().call(V2, payload);
    expect([http, json]).toEqual([400, { status: 'client_error', message }]);
  });

  test.each<[what: string, payload: object]>([
    ['an empty list', { email: [] }],
    ['empty lists', EMPTY],
    ['an empty list, null and an unknown member', { email: [], phone: null, optout_check: 1 }],
  ])('%s is answered with nothing mapped', async (_, payload) => {
    expect((await createTestService().call(V2, payload)).json).toEqual({ status: 'success', body: { mapped: [] } });
  });

  test('a scalar is converted to a string', async () => {
    const { json } = await createTestService().call(V2, { email: [5] });
    expect(json.body.unmapped).toEqual([{ identifier: '5', reason: 'invalid identifier' }]);
  });
});

describe('the batch size is limited', () => {
  const message = (most: number, got: number) =>
    `Request payload is too large: expected at most ${most} identifiers, got ${got}`;

  test.each([V3, V2])('%s maps 5000 hashes and refuses 5001', async (path) => {
    const service = createTestService();
    const many = Array.from({ length: 5001 }, () => hash);
    expect((await service.call(path, { email_hash: many.slice(1) })).http).toBe(200);
    const { http, json } = await service.call(path, { email_hash: many });
    expect([http, json]).toEqual([400, { status: 'client_error', message: message(5000, 5001) }]);
  });

  test('all lists are counted together', async () => {
    const service = createTestService({ maxBatchSize: 3 });
    expect((await service.call(V3, { email: ['a', 'b'], phone: ['c'] })).http).toBe(200);
    const { json } = await service.call(V3, { email: ['a', 'b'], phone: ['c'], email_hash: ['d'] });
    expect(json.message).toBe(message(3, 4));
  });
});

import { describe, expect, test } from 'vitest';
import { hashTextOf, parseTokenSet } from '../../src/token/index.ts';
import { encodeTcString, type TcChoices } from '../support/cmp.ts';
import { createTestService, NOON } from './fixtures.ts';

const PURPOSES = [1, 2, 3, 4, 7, 10];

const EXACTLY_ONE =
  'Required Parameter Missing: exactly one of [email, email_hash, phone, phone_hash] must be specified';
const PATH = '/v2/token/generate';
const hash = hashTextOf('email', 'user@example.com')!;
const hex = Buffer.from(hash, 'base64').toString('hex');

describe('generate requires exactly one DII', () => {
  test.each<[what: string, payload: unknown, message: string]>([
    ['an empty payload', undefined, EXACTLY_ONE],
    ['no member', {}, EXACTLY_ONE],
    ['a member that is null', { email: null }, EXACTLY_ONE],
    ['an unknown member alone', { mail: 'user@example.com' }, EXACTLY_ONE],
    ['two forms', { email: 'user@example.com', phone: '+12345678901' }, EXACTLY_ONE],
    ['an email and its own hash', { email: 'user@example.com', email_hash: hash }, EXACTLY_ONE],
    ['an empty email', { email: '' }, 'Invalid Identifier'],
    ['a hash of 33 bytes', { email_hash: 'A'.repeat(44) }, 'Invalid Identifier'],
    ['a number as email', { email: 5 }, 'Invalid Identifier'],
    ['an array as email', { email: ['user@example.com'] }, 'Invalid Identifier'],
    ['an object as phone', { phone: { number: '+12345678901' } }, 'Invalid Identifier'],
  ])('%s is a client error', async (_, payload, message) => {
    const answer = await createTestService().call(PATH, payload);
    expect([answer.http, answer.json]).toEqual([400, { status: 'client_error', message }]);
    expect(answer.headers.get('content-type')).toBe('application/json');
  });

  test.each<[what: string, payload: object]>([
    ['an email', { email: 'user@example.com' }],
    ['an email that is not normalised', { email: ' USER@example.com ' }],
    ['an email hash in base64', { email_hash: hash }],
    ['an email hash in hexadecimal', { email_hash: hex }],
    ['an email hash in upper-case hexadecimal', { email_hash: hex.toUpperCase() }],
    ['a phone number', { phone: '+12345678901' }],
    ['a phone hash', { phone_hash: hash }],
    ['one form while another is null', { email: 'user@example.com', phone: null }],
    ['unknown members', { email: 'user@example.com', policy: 1, optout_check: 1 }],
  ])('%s is answered with a token set', async (_, payload) => {
    const answer = await createTestService().call(PATH, payload);
    expect(answer.http).toBe(200);
    expect(answer.json.status).toBe('success');
    expect(() => parseTokenSet(answer.json.body)).not.toThrow();
  });
});

describe('the TCF consent string', () => {
  /** Consent of the tests: to all purposes and to vendor 21, unless a test takes something away. */
  const consent = (choices: TcChoices = {}) => encodeTcString({ purposes: PURPOSES, vendors: [21], ...choices });
  const generate = async (tcf_consent_string: unknown, scope: 'UID2' | 'EUID' = 'EUID') =>
    createTestService({ scope }).call(PATH, { email: 'user@example.com', tcf_consent_string });

  // Public samples of the ecosystem.
  test.each([
    ['CPhJRpMPhJRpMABAMBFRACBoALAAAEJAAIYgAKwAQAKgArABAAqAAA', 'success'],
    ['CPehXK9PehXK9ABAMBFRACBoADAAAEJAAIYgAKwAQAKgArABAAqAAA', 'insufficient_user_consent'],
  ])('the sample %s is %s', async (sample, status) => {
    expect((await generate(sample)).json.status).toBe(status);
  });

  test('is optional', async () => {
    expect((await generate(undefined)).json.status).toBe('success');
  });

  test.each([null, '', 'C', 'CP', 'no consent string', 'BOEFEAyOEFEAyAHABDENAI4AAAB9vABAASA', 5, {}])(
    '%j is refused',
    async (text) => {
      const { http, json } = await generate(text);
      expect([http, json]).toEqual([400, { status: 'client_error', message: 'User consent is invalid' }]);
    },
  );

  test('is checked after the DII and before the opt-out', async () => {
    const call = (email: string, tcf_consent_string: string) =>
      createTestService({ scope: 'EUID' }).call(PATH, { email, tcf_consent_string });
    expect((await call('user@', 'none')).json.message).toBe('Invalid Identifier');
    expect((await call('optout@example.com', 'none')).json.message).toBe('User consent is invalid');
    expect((await call('optout@example.com', consent())).json).toEqual({ status: 'optout' });
  });

  test('is ignored in scope UID2', async () => {
    expect((await generate('no consent string', 'UID2')).json.status).toBe('success');
  });
});

describe('a token set', () => {
  test('has the lifetimes of its environment', async () => {
    const times = async (environment: 'integration' | 'production') => {
      const { refresh_from, identity_expires, refresh_expires } = await createTestService({ environment }).generate({
        email: 'user@example.com',
      });
      return [refresh_from, identity_expires, refresh_expires].map((at) => (at - NOON) / 1000);
    };
    expect(await times('integration')).toEqual([900, 3600, 86_400]);
    expect(await times('production')).toEqual([3600, 86_400, 2_592_000]);
  });

  test('has the lifetimes of the options, to the millisecond', async () => {
    const { refresh_from, identity_expires, refresh_expires } = await createTestService({
      refreshFrom: 0.5,
      identityExpires: 2,
      refreshExpires: 7.25,
    }).generate({ email: 'user@example.com' });
    expect([refresh_from - NOON, identity_expires - NOON, refresh_expires - NOON]).toEqual([500, 2000, 7250]);
  });

  test('has strings of the lengths that clients expect, and its own response key', async () => {
    const { generate } = createTestService();
    const sets = [await generate({ email: 'a@example.com' }), await generate({ phone: '+12345678901' })];
    for (const set of sets) {
      expect(Object.keys(set).sort()).toEqual([
        'advertising_token',
        'identity_expires',
        'refresh_expires',
        'refresh_from',
        'refresh_response_key',
        'refresh_token',
      ]);
      expect(set.advertising_token).toMatch(/^[A-Za-z0-9_-]{218}$/);
      expect(set.refresh_token).toMatch(/^[A-Za-z0-9+/]{388}$/);
      expect(set.refresh_response_key).toMatch(/^[A-Za-z0-9+/]{43}=$/);
    }
    expect(sets[0].refresh_response_key).not.toBe(sets[1].refresh_response_key);
  });

  test.each([
    ['UID2', 'email', 'A4'],
    ['UID2', 'phone', 'B4'],
    ['EUID', 'email', 'E4'],
    ['EUID', 'phone', 'F4'],
  ] as const)('in scope %s for an %s starts with %s', async (scope, form, start) => {
    const set = await createTestService({ scope }).generate({
      [form]: form === 'email' ? 'user@example.com' : '+12345678901',
    });
    expect(set.advertising_token.slice(0, 2)).toBe(start);
  });
});

test('the clock is read once for each request', async () => {
  let at = NOON;
  const service = createTestService({ now: () => at++ });
  const answer = await service.call(PATH, { email: 'user@example.com' }, { at: NOON });
  expect(answer.json.body.refresh_from - answer.at!).toBe(900_000);
  expect(answer.json.body.refresh_expires - answer.at!).toBe(86_400_000);
});

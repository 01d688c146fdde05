import { describe, expect, test } from 'vitest';
import { hashTextOf, parseTokenSet } from '../../src/token/index.ts';
import { encodeTcString, type TcChoices } from '../support/cmp.ts';
import { createTestService, NOON } from './fixtures.ts';

const PURPOSES = [1, 2, 3, 4, 7, 10];
const OTHERS = PURPOSES.slice(1);

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
    ['an email without a domain', { email: 'user@' }, 'Invalid Identifier'],
    ['an email with two at signs', { email: 'a@b@c' }, 'Invalid Identifier'],
    ['a phone number of nine digits', { phone: '+123456789' }, 'Invalid Identifier'],
    ['a phone number with spaces', { phone: '+ 1234 56789' }, 'Invalid Identifier'],
    ['a hash without padding', { email_hash: hash.slice(0, 43) }, 'Invalid Identifier'],
    ['a hash of 33 bytes', { email_hash: 'A'.repeat(44) }, 'Invalid Identifier'],
    ['a hash of 63 hexadecimal digits', { phone_hash: hex.slice(1) }, 'Invalid Identifier'],
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

  test.each<[what: string, choices: TcChoices]>([
    ['consent to all purposes', {}],
    [
      'consent to purpose 1, legitimate interest in the others',
      { purposes: [1], purposeInterests: OTHERS, vendorInterests: [21] },
    ],
    [
      'consent to some, legitimate interest in the rest',
      { purposes: [1, 3, 4], purposeInterests: [2, 7, 10], vendorInterests: [21] },
    ],
    ['other vendors and purposes as well', { purposes: [...PURPOSES, 5, 6], vendors: [7, 21] }],
  ])('%s is answered with a token set', async (_, choices) => {
    const { http, json } = await generate(consent(choices));
    expect([http, json.status]).toEqual([200, 'success']);
  });

  test.each<[what: string, choices: TcChoices]>([
    ...PURPOSES.map((one): [string, TcChoices] => [
      `no consent to purpose ${one}`,
      { purposes: PURPOSES.filter((other) => other !== one) },
    ]),
    ['no consent to vendor 21', { vendors: [7] }],
    ['no choice at all', { purposes: [], vendors: [] }],
    ['legitimate interest in purpose 1', { purposes: OTHERS, purposeInterests: [1], vendorInterests: [21] }],
    ['legitimate interest of another vendor', { purposes: [1], purposeInterests: OTHERS, vendorInterests: [7] }],
    ['a restriction that forbids purpose 7', { restrictions: [[7, 0, 21]] }],
    [
      'a restriction of purpose 7 to consent, with legitimate interest alone',
      { purposes: [1, 2, 3, 4, 10], purposeInterests: [7], vendorInterests: [21], restrictions: [[7, 1, 21]] },
    ],
  ])('%s is answered with insufficient_user_consent and no token', async (_, choices) => {
    const { http, json } = await generate(consent(choices));
    expect([http, json]).toEqual([200, { status: 'insufficient_user_consent' }]);
  });

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

test('the answer repeats the nonce of the request and contains the time of the operator', async () => {
  const service = createTestService();
  const { at, nonce } = await service.call(PATH, { email: 'user@example.com' }, { at: NOON - 30_000 });
  expect(at).toBe(NOON);
  expect(nonce).toHaveLength(8);
});

test('the clock is read once for each request', async () => {
  let at = NOON;
  const service = createTestService({ now: () => at++ });
  const answer = await service.call(PATH, { email: 'user@example.com' }, { at: NOON });
  expect(answer.json.body.refresh_from - answer.at!).toBe(900_000);
  expect(answer.json.body.refresh_expires - answer.at!).toBe(86_400_000);
});

import { describe, expect, test } from 'vitest';
import { createKeys, keyDerivation } from '../../src/operator/crypto/keys.ts';
import { createSecrets } from '../../src/operator/crypto/secrets.ts';
import { openAdvertisingToken, sealAdvertisingToken } from '../../src/operator/tokens/advertising-token.ts';
import { createTestService, DAY, NOON, ROOT } from './fixtures.ts';

const PATH = '/v2/token/validate';
const EXACTLY_ONE =
  'Required Parameter Missing: exactly one of [email, email_hash, phone, phone_hash] must be specified';
const user = { email: 'user@example.com' };

test('a token matches the DII that it was generated from, in every form, and no other', async () => {
  const service = createTestService();
  const { advertising_token: token } = await service.generate(user);
  const validate = async (dii: object) => (await service.call(PATH, { token, ...dii })).json;
  expect(await validate(user)).toEqual({ status: 'success', body: true });
  expect(await validate({ email: ' User@Example.com' })).toEqual({ status: 'success', body: true });
  expect(await validate({ email_hash: 'tMmiiTI7IaAcPpQPFQ65uMVCWH8av9jw4cwf/F5HVRQ=' })).toMatchObject({ body: true });
  expect(await validate({ email: 'user2@example.com' })).toEqual({ status: 'success', body: false });
  expect(await validate({ phone: '+12345678901' })).toEqual({ status: 'success', body: false });
});

test('expired, refreshed and opted-out tokens still match', async () => {
  const service = createTestService();
  const set = await service.generate(user);
  const refreshed = (await service.refresh(set)).json.body;
  await service.call('/v2/token/logout', user);
  service.now += 2 * DAY;
  for (const { advertising_token: token } of [set, refreshed])
    expect((await service.call(PATH, { token, ...user })).json.body).toBe(true);
});

test('a token from before the last rotation of its salt bucket does not match', async () => {
  const service = createTestService({ rotationPeriod: 365, identityExpires: 3600 });
  const { advertising_token: token } = await service.generate(user);
  service.now += 365_000;
  expect((await service.call(PATH, { token, ...user })).json).toEqual({ status: 'success', body: false });
});

describe('errors, in the order of the checks', () => {
  const token = 'not a token';
  test.each<[what: string, payload: unknown, message: string]>([
    ['an empty payload', undefined, EXACTLY_ONE],
    ['no DII', { token }, EXACTLY_ONE],
    ['two forms of DII', { token, email: 'a@b.c', phone: '+12345678901' }, EXACTLY_ONE],
    ['an invalid DII', { token, email: 'nobody' }, 'Invalid Identifier'],
    ['no token', user, 'Invalid token'],
    ['a token that is null', { ...user, token: null }, 'Invalid token'],
    ['an empty token', { ...user, token: '' }, 'Invalid token'],
    ['a short token', { ...user, token: 'A4' }, 'Invalid token'],
    ['a number as token', { ...user, token: 12_345 }, 'Invalid token'],
    ['an object as token', { ...user, token: { token } }, 'Invalid token'],
    ['a string that is not a token', { ...user, token }, 'Invalid token'],
    ['a string of the length of a token', { ...user, token: 'A4'.repeat(109) }, 'Invalid token'],
  ])('%s', async (_, payload, message) => {
    const { http, json } = await createTestService().call(PATH, payload);
    expect([http, json]).toEqual([400, { status: 'client_error', message }]);
  });

  test.each([
    ['root secret', { rootSecret: new Uint8Array(32).fill(8) }],
    ['environment', { environment: 'production' }],
    ['scope', { scope: 'EUID' }],
  ] as const)('a token of another %s', async (_, options) => {
    const { advertising_token } = await createTestService(options).generate(user);
    const { http, json } = await createTestService().call(PATH, { token: advertising_token, ...user });
    expect([http, json.message]).toEqual([400, 'Invalid token']);
  });

  test('an altered token, and a percent-encoded one', async () => {
    const service = createTestService();
    const { advertising_token } = await service.generate(user);
    // In the middle: the last character contains bits that base64 decoders ignore.
    const other = advertising_token[100] === 'A' ? 'B' : 'A';
    const altered = `${advertising_token.slice(0, 100)}${other}${advertising_token.slice(101)}`;
    // The first byte, which names the scope, is not encrypted: here it names EUID.
    const ofOtherScope = `E${advertising_token.slice(1)}`;
    for (const token of [altered, ofOtherScope, `${advertising_token}%3D`])
      expect((await service.call(PATH, { token, ...user })).json.message).toBe('Invalid token');
  });

  test("another site's token", async () => {
    const service = createTestService({ participants: [{ siteId: 101 }, { siteId: 102 }] });
    const [mine, other] = service.operator.participants;
    const { advertising_token: token } = await service.generate(user, { as: mine! });
    const { http, json } = await service.call(PATH, { token, ...user }, { as: other! });
    expect([http, json]).toEqual([400, { status: 'client_error', message: 'Unauthorised to validate token' }]);
  });
});

const KEYS = createKeys(keyDerivation(createSecrets(ROOT, 'integration', 'UID2')), [1, 2]);

test('a token belongs to the site whose key has encrypted it, whatever site its content names', async () => {
  const service = createTestService({ participants: [{ siteId: 101 }, { siteId: 102 }], keyGeneration: 2 });
  const [owner, named] = service.operator.participants;
  const { advertising_token } = await service.generate(user, { as: owner! });
  const { siteKeyId: _, ...content } = (await openAdvertisingToken(advertising_token, KEYS.byId))!;
  // With the keys of `/v2/key/sharing`, a client of site 101 can encrypt any content.
  const token = await sealAdvertisingToken({ ...content, siteId: 102 }, { master: KEYS.master, site: KEYS.site(101) });
  expect((await service.call(PATH, { token, ...user }, { as: named! })).json.message).toBe(
    'Unauthorised to validate token',
  );
  expect((await service.call(PATH, { token, ...user }, { as: owner! })).json.body).toBe(true);
});

describe('the key endpoints', () => {
  const participants = [
    { siteId: 101, apiKey: 'publisher', roles: ['GENERATOR'] },
    { siteId: 102, apiKey: 'bidder', roles: ['ID_READER'] },
    { siteId: 103, apiKey: 'sharer', roles: ['SHARER'] },
  ] as const;
  const createServiceWithRoles = () => {
    const service = createTestService({ participants, keyGeneration: 2 });
    const [publisher, bidder, sharer] = service.operator.participants;
    return { service, publisher: publisher!, bidder: bidder!, sharer: sharer! };
  };

  test('bidstream returns the keys that open the tokens of every site', async () => {
    const { service, publisher, bidder } = createServiceWithRoles();
    const { advertising_token } = await service.generate(user, { as: publisher });
    const { json } = await service.call('/v2/key/bidstream', undefined, { as: bidder });
    expect(json.body).toMatchObject({
      max_bidstream_lifetime_seconds: 3610,
      identity_scope: 'UID2',
      allow_clock_skew_seconds: 1800,
    });
    const keys = new Map<number, { secret: Uint8Array<ArrayBuffer> }>(
      json.body.keys.map((key: { id: number; secret: string }) => [
        key.id,
        { secret: Uint8Array.from(Buffer.from(key.secret, 'base64')) },
      ]),
    );
    expect(await openAdvertisingToken(advertising_token, (id) => keys.get(id))).toMatchObject({ siteId: 101 });
    const ids = json.body.keys.map(({ id }: { id: number }) => id);
    expect(ids).toEqual([-1, 101, 102, 103].flatMap((site) => KEYS.generations(site).map(({ id }) => id)));
    expect(ids).not.toContain(KEYS.refresh.id);
    for (const key of json.body.keys) {
      expect(Object.keys(key).sort()).toEqual(['activates', 'created', 'expires', 'id', 'secret']);
      expect(key.activates).toBeLessThan(NOON / 1000);
      expect(key.expires).toBeGreaterThan(NOON / 1000);
    }
    expect(json.body.site_data).toEqual([101, 102, 103].map((id) => ({ id, domain_names: [] })));
  });

  test('sharing returns a SHARER the keys of its own site and the master keys', async () => {
    const { service, sharer } = createServiceWithRoles();
    const { json } = await service.call('/v2/key/sharing', undefined, { as: sharer });
    const { keys, site_data, ...rest } = json.body;
    expect(rest).toEqual({
      caller_site_id: 103,
      master_keyset_id: 9_999_999,
      default_keyset_id: 10_000_103,
      token_expiry_seconds: '2592000',
      max_sharing_lifetime_seconds: 2_592_010,
      identity_scope: 'UID2',
      allow_clock_skew_seconds: 1800,
    });
    expect(keys.map(({ id, keyset_id }: Record<string, number>) => [id, keyset_id])).toEqual([
      ...KEYS.generations(-1).map(({ id }) => [id, 9_999_999]),
      ...KEYS.generations(103).map(({ id }) => [id, 10_000_103]),
    ]);
    expect(site_data).toEqual([{ id: 103, domain_names: [] }]);
  });

  test('sharing returns an ID_READER all keys, with keyset numbers only for its own site and the master', async () => {
    const { service, bidder } = createServiceWithRoles();
    const { json } = await service.call('/v2/key/sharing', undefined, { as: bidder });
    expect(json.body).not.toHaveProperty('max_sharing_lifetime_seconds');
    const sets = new Set(json.body.keys.map(({ keyset_id }: Record<string, number>) => keyset_id));
    expect(sets).toEqual(new Set([9_999_999, 10_000_102, undefined]));
  });
});

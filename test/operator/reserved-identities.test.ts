import { describe, expect, test } from 'vitest';
import { createKeys, keyDerivation } from '../../src/operator/crypto/keys.ts';
import { createSecrets } from '../../src/operator/crypto/secrets.ts';
import { createRawIds } from '../../src/operator/identity/raw-ids.ts';
import { createSalts } from '../../src/operator/identity/salts.ts';
import { sealRefreshToken } from '../../src/operator/tokens/refresh-token.ts';
import { toB64 } from '../../src/token/bytes.ts';
import { hashDii, hashTextOf } from '../../src/token/index.ts';
import { createTestService, DAY, NOON, ROOT } from './fixtures.ts';

/** Expected results of generate, map, and a refresh of the generated set; the last rows are ordinary identities. */
const RESERVED: [dii: string, generate: string, map: 'u' | 'e', refresh: string | undefined][] = [
  ['validate@example.com', 'success', 'u', 'success'],
  ['+12345678901', 'success', 'u', 'success'],
  ['optout@example.com', 'optout', 'e', undefined],
  ['+00000000000', 'optout', 'e', undefined],
  ['refresh-optout@example.com', 'success', 'u', 'optout'],
  ['+00000000002', 'success', 'u', 'optout'],
  ['optout@unifiedid.com', 'success', 'u', 'success'],
  ['+00000000001', 'success', 'u', 'success'],
  ['user@example.com', 'success', 'u', 'success'],
  ['user2@example.com', 'success', 'u', 'success'],
  ['hopefully-not-opted-out@example.com', 'success', 'u', 'success'],
  ['somethingelse@example.com', 'success', 'u', 'success'],
  ['+98765432109', 'success', 'u', 'success'],
  ['+12345678902', 'success', 'u', 'success'],
];

describe.each(RESERVED)('%s', (dii, generate, map, refresh) => {
  const form = dii.startsWith('+') ? 'phone' : 'email';
  const hash = hashTextOf(form, dii)!;
  const forms = [
    [form, dii],
    [`${form}_hash`, hash],
    [`${form}_hash`, Buffer.from(hash, 'base64').toString('hex')],
  ];

  test.each(forms)(`generate answers ${generate} to %s %s`, async (name, value) => {
    const answer = await createTestService().call('/v2/token/generate', { [name!]: value });
    expect([answer.http, answer.json.status, 'body' in answer.json]).toEqual([200, generate, generate === 'success']);
  });

  test.each(forms)(`both versions of map ${map === 'u' ? 'map' : 'do not map'} %s %s`, async (name, value) => {
    const service = createTestService();
    const v3 = await service.call('/v3/identity/map', { [name!]: [value] });
    expect(v3.json.body[name!][0]).toHaveProperty(map);
    const v2 = await service.call('/v2/identity/map', { [name!]: [value] });
    expect(v2.json.body).toHaveProperty(map === 'u' ? 'mapped.0.advertising_id' : 'unmapped.0.reason');
  });

  test(refresh ? `refresh answers ${refresh}` : 'generate issues no token to refresh', async () => {
    const service = createTestService();
    const { json } = await service.call('/v2/token/generate', { [form]: dii });
    if (refresh) expect((await service.refresh(json.body)).json.status).toBe(refresh);
  });
});

test('validate@example.com stays opted in after a recorded opt-out', async () => {
  const service = createTestService();
  await service.call('/v2/token/logout', { email: 'validate@example.com' });
  const set = await service.generate({ email: 'validate@example.com' });
  expect((await service.refresh(set)).json.status).toBe('success');
  const { json } = await service.call('/v3/identity/map', { email: ['validate@example.com'] });
  expect(json.body.email[0].u).toBeTypeOf('string');
});

test('a refresh token of optout@example.com, which generate never issues, is answered optout', async () => {
  const secrets = createSecrets(ROOT, 'integration', 'UID2');
  const rawIds = createRawIds(secrets, createSalts(secrets, 31_536_000));
  const responseKey = new Uint8Array(32).fill(1);
  const refresh_token = await sealRefreshToken(
    {
      scope: 'UID2',
      type: 'email',
      siteId: 101,
      privacyBits: 1,
      firstLevel: rawIds.firstLevel(hashDii('optout@example.com')),
      responseKey,
      establishedAt: NOON,
      createdAt: NOON,
      expiresAt: NOON + DAY,
    },
    createKeys(keyDerivation(secrets), [1]).refresh,
  );
  const answer = await createTestService().refresh({ refresh_token, refresh_response_key: toB64(responseKey) });
  expect([answer.http, answer.json]).toEqual([200, { status: 'optout' }]);
});

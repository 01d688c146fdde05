import { describe, expect, test } from 'vitest';
import { createNodeAesGcm, portableAesGcm } from '../../src/operator/crypto/aes-gcm.ts';
import { createKeys, type DeriveKey, keyDerivation, MASTER, REFRESH } from '../../src/operator/crypto/keys.ts';
import { createSecrets } from '../../src/operator/crypto/secrets.ts';
import { createRawIds } from '../../src/operator/identity/raw-ids.ts';
import { createSalts } from '../../src/operator/identity/salts.ts';
import { resolveOptions } from '../../src/operator/options/resolve.ts';
import { memoryKeys } from '../../src/operator/state/memory-state.ts';
import { openAdvertisingToken, sealAdvertisingToken } from '../../src/operator/tokens/advertising-token.ts';
import { firstGenerations } from '../../src/operator/tokens/key-generations.ts';
import { createKeySchedule } from '../../src/operator/tokens/key-schedule.ts';
import { openRefreshToken, sealRefreshToken } from '../../src/operator/tokens/refresh-token.ts';
import { createTokenIssuer } from '../../src/operator/tokens/token-issuer.ts';
import { fromB64, fromHex, toB64, utf8 } from '../../src/token/bytes.ts';
import { openAes } from '../../src/token/cipher.ts';
import { createTestService, NOON, ROOT } from './fixtures.ts';

describe('an advertising token of the ecosystem (docs/protocol.md, "Test vectors")', () => {
  const TOKEN =
    'AIAAAACkOqJj9VoxXJNnuX3v-ymceRf8_Av0vA5asOj9YBZJc1kV1vHdmb0AIjlzWnFF-gxIlgXqhRFhPo3iXpugPBl3gv4GKnGkw-Zgm2QqMsDPPLpMCYiWrIUqHPm8hQiq9PuTU-Ba9xecRsSIAN0WCwKLwA_EDVdzmnLJu64dQoeYmuu3u1G2EuTkuMrevmP98tJqSUePKwnfK73-0Zdshw';
  const KEYS = new Map([
    [164, { secret: fromHex('8b25f1ad125c24e8a5a8171226c37b5ca088b9285bada5dda810a9a4268b089b') }],
    [165, { secret: fromHex('20fb07c2849afa56ca74681d83c08bd730a40b41e26ea70e6c33fe7d41181785') }],
  ]);

  test('opens with its keys', async () => {
    expect(await openAdvertisingToken(TOKEN, (id) => KEYS.get(id))).toMatchObject({
      scope: 'UID2',
      type: 'email',
      siteId: 9000,
      siteKeyId: 165,
      rawId: fromB64('ywsvDNINiZOVSsfkHpLpSJzXzhr6Jx9Z/4Q0+lsEUvM='),
    });
  });

  test.each<[what: string, text: string, known: number[]]>([
    ['without the master key', TOKEN, [165]],
    ['without the site key', TOKEN, [164]],
    ['with an altered byte', TOKEN.replace('OqJj', 'OqJk'), [164, 165]],
    ['cut short', TOKEN.slice(0, -1), [164, 165]],
    ['of another version', `AH${TOKEN.slice(2)}`, [164, 165]],
    ['with padding', `${TOKEN}==`, [164, 165]],
    ['with percent-encoded padding', `${TOKEN}%3D`, [164, 165]],
    ['in standard base64', TOKEN.replaceAll('-', '+').replaceAll('_', '/'), [164, 165]],
    ['an empty string', '', [164, 165]],
    ['a short string', 'AIAA', [164, 165]],
  ])('does not open %s', async (_, text, known) => {
    expect(await openAdvertisingToken(text, (id) => (known.includes(id) ? KEYS.get(id) : undefined))).toBeUndefined();
  });
});

const keys = createKeys(keyDerivation(createSecrets(ROOT, 'integration', 'UID2')), [1]);

test('an advertising token opens to the content that was sealed, with a raw ID of 32 or 33 bytes', async () => {
  for (const length of [32, 33]) {
    const token = {
      scope: 'EUID',
      type: 'phone',
      siteId: 2_000_000,
      privacyBits: 1,
      rawId: new Uint8Array(length).fill(5),
      establishedAt: NOON - 1,
      createdAt: NOON,
      expiresAt: NOON + 1,
    } as const;
    const text = await sealAdvertisingToken(token, { master: keys.master, site: keys.site(101) });
    expect(text).toHaveLength(length === 32 ? 218 : 219);
    expect(await openAdvertisingToken(text, keys.byId)).toEqual({ ...token, siteKeyId: keys.site(101).id });
  }
});

test('an advertising token has the byte fields of docs/protocol.md, "Tokens"', async () => {
  const token = await sealAdvertisingToken(
    {
      scope: 'UID2',
      type: 'email',
      siteId: 101,
      privacyBits: 1,
      rawId: new Uint8Array(32).fill(0xab),
      establishedAt: 0x0102030405,
      createdAt: 0x0605040302,
      expiresAt: 0x0a0b0c0d0e,
    },
    { master: keys.master, site: keys.site(101) },
  );
  const bytes = Buffer.from(token, 'base64url');
  expect(bytes.subarray(0, 6).toString('hex')).toBe('038000000001');
  const master = Buffer.from(await openAes(keys.master.secret, Uint8Array.from(bytes.subarray(6))));
  expect(master.subarray(0, 33).toString('hex')).toBe(
    '0000000a0b0c0d0e' + '0000000605040302' + '00000000' + '01' + '00000000' + '00000000' + '00003301',
  );
  const site = Buffer.from(await openAes(keys.site(101).secret, Uint8Array.from(master.subarray(33))));
  expect(site.toString('hex')).toBe(
    '00000065' +
      '0000000000000000' +
      '00000000' +
      '00000001' +
      '0000000102030405' +
      '0000000605040302' +
      'ab'.repeat(32),
  );
});

test('a refresh token opens to the content that was sealed', async () => {
  const token = {
    scope: 'UID2',
    type: 'phone',
    siteId: 101,
    privacyBits: 1,
    firstLevel: new Uint8Array(32).fill(3),
    responseKey: new Uint8Array(32).fill(4),
    establishedAt: NOON - 1,
    createdAt: NOON,
    expiresAt: NOON + 1,
  } as const;
  const text = await sealRefreshToken(token, keys.refresh);
  expect(text).toHaveLength(388);
  expect(await openRefreshToken(fromB64(text), 'UID2', keys.refreshById)).toEqual(token);
  expect(await openRefreshToken(fromB64(text), 'EUID', keys.refreshById)).toBeUndefined();
});

test('a refresh token derives no key of another owner, whatever key number an anonymous caller writes into it', async () => {
  const secrets = createSecrets(ROOT, 'integration', 'UID2');
  const store = memoryKeys();
  await store.put(firstGenerations(2, NOON, 1));
  const owners = new Set<number>();
  const derived = keyDerivation(secrets);
  const derive: DeriveKey = (siteId, generation) => {
    owners.add(siteId);
    return derived(siteId, generation);
  };
  const schedule = createKeySchedule({ store, derive, rotationMs: undefined, refreshExpiresMs: 1 });
  const rawIds = createRawIds(secrets, createSalts(secrets, 31_536_000));
  const { openRefresh } = createTokenIssuer(schedule, rawIds, resolveOptions({ rootSecret: ROOT }));
  const bytes = new Uint8Array(291);
  for (const id of [1, 129, 131, 257, 101 * 128 + 129, 2 ** 31 - 1, 2 ** 31 + 129]) {
    new DataView(bytes.buffer).setUint32(1, id);
    expect(await openRefresh(bytes, NOON)).toBeUndefined();
  }
  expect([...owners].sort()).toEqual([MASTER, REFRESH]);
});

test('a refresh keeps site, DII type, privacy bits, raw ID and the time of establishment, and renews the other times', async () => {
  const service = createTestService({ siteId: 4711 });
  const set = await service.generate({ phone: '+12345678902' });
  service.now += 900_000;
  const { json } = await service.refresh(set);
  const open = (text: string) => openAdvertisingToken(text, keys.byId);
  const [first, second] = [await open(set.advertising_token), await open(json.body.advertising_token)];
  expect(first).toMatchObject({ siteId: 4711, type: 'phone', privacyBits: 1, establishedAt: NOON, createdAt: NOON });
  expect(second).toEqual({ ...first, createdAt: service.now, expiresAt: service.now + 3_600_000 });
});

describe.each([
  ['Node', createNodeAesGcm(await import('node:crypto'))],
  ['portable', portableAesGcm],
])('AES-GCM, %s implementation', (_, implementation) => {
  const key = new Uint8Array(32).fill(1);
  const plain = utf8('plain text');

  test('opens what the other implementations have sealed', async () => {
    for (const other of [portableAesGcm, createNodeAesGcm(await import('node:crypto'))])
      expect(await implementation.open(key, await other.seal(key, plain))).toEqual(plain);
    expect(await openAes(key, await implementation.seal(key, plain))).toEqual(plain);
  });

  test('puts the head before the sealed bytes and never repeats an IV', async () => {
    const sealed = await Promise.all(Array.from({ length: 2000 }, () => implementation.seal(key, plain, utf8('head'))));
    for (const bytes of sealed) expect(toB64(bytes.subarray(0, 4))).toBe('aGVhZA==');
    expect(new Set(sealed.map((bytes) => toB64(bytes.subarray(4, 16)))).size).toBe(2000);
  });

  test('does not open bytes that were altered, shortened or sealed under another key', async () => {
    const sealed = await implementation.seal(key, plain);
    const altered = sealed.slice();
    altered[20]! ^= 1;
    for (const bytes of [altered, sealed.slice(0, 27), sealed.slice(1), new Uint8Array()])
      expect(await implementation.open(key, bytes)).toBeUndefined();
    expect(await implementation.open(new Uint8Array(32), sealed)).toBeUndefined();
  });
});

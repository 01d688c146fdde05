import { hkdfSync } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createNodeB64,
  decodeB64,
  encodeB64Ascii,
  encodeB64Slices,
  portableB64,
} from '../../src/operator/crypto/base64.ts';
import { createKeys, keyDerivation, MASTER, MAX_SITE_ID, REFRESH } from '../../src/operator/crypto/keys.ts';
import { createSecrets } from '../../src/operator/crypto/secrets.ts';
import { bucketOf, saltedHash } from '../../src/operator/identity/raw-ids.ts';
import { readInt32, readInt64, writeInt32, writeInt64, zeroBytes } from '../../src/operator/tokens/byte-fields.ts';
import { int64, toB64, toHex, utf8 } from '../../src/token/bytes.ts';
import { hashDii } from '../../src/token/index.ts';
import { ROOT } from './fixtures.ts';

describe('raw IDs under the salts of the ecosystem (docs/protocol.md, "Test vectors")', () => {
  const SALT = 'fOGY/aRE44peL23i+cE9MkJrzmEeNZZziNZBfq7qqk8=';
  const BUCKETS = ['vgv1BwiNRCW7F3VcNXHlZh+7oHJ4G4gCshbGcVOLnss=', 'vgv1BwiNRCW7F3VcNXHlZh+7oHJ4G4gCshbGcVOLnst='];
  test.each<[dii: string, firstLevel: string, index: number, bucket: number, rawId?: string]>([
    [
      'test@example.com',
      'RNzyiMMy106hy8MpBOsHBe+ZZkQR8IbUAG/IC2OrNr4=',
      282_050,
      0,
      'yCevINTMQ+BMfihNbXjrDLbm/FF+JvBan5YqmToByik=',
    ],
    [
      'optout@example.com',
      '5ihBI2GMPQ3CugqR0ezR6/WCMmZjXYNAQ0hC2jQ3smM=',
      942_721,
      1,
      'oZNV3Tlviq0HxoHvbClj4b+vNbiDJOR250MwY99X1NM=',
    ],
    [
      '+00000000000',
      '4agDG1vgDdl+u0cmdQwu0glN/JjHuoRm7KnST+qSM/s=',
      924_291,
      1,
      '9NZ0tSLT08JYnA+XpOu+2mcMIpLlhwoj7Ywiz71utKQ=',
    ],
    ['user@example.com', 'sNucuuqRSevxEAlg4mdhE+VFd+d/XOb6N/kYA5QS/zE=', 724_412, 2],
    ['+12345678901', 'urve3oGxLtO2WGhlQFKMzqhXOdYqSB53Rrgqpp9CFjY=', 764_862, 2],
  ])('%s', (dii, firstLevel, index, bucket, rawId) => {
    const user = saltedHash(hashDii(dii), utf8(SALT));
    expect(toB64(user)).toBe(firstLevel);
    expect(bucketOf(user)).toBe(index);
    // The operator of the vectors has 5 buckets, this one 2^20.
    expect(index % 5).toBe(bucket);
    if (rawId) expect(toB64(saltedHash(user, utf8(BUCKETS[bucket]!)))).toBe(rawId);
  });
});

describe('derived secrets', () => {
  const secrets = createSecrets(ROOT, 'integration', 'UID2');

  test('are HKDF-SHA-256 with environment and scope as salt and the label as info', () => {
    for (const label of ['first-level-salt', 'bucket/0/56', 'bucket/1048575/-1', 'master-key/1', 'site-key/101/127'])
      expect(toHex(secrets.derive(label))).toBe(
        toHex(new Uint8Array(hkdfSync('sha256', ROOT, 'tessera/1/integration/UID2', label, 32))),
      );
  });

  test('match a fixed vector, to which docs/operating/operator.md links', () => {
    const root = Uint8Array.from({ length: 32 }, (_, at) => at);
    const { derive, fingerprint } = createSecrets(root, 'production', 'UID2');
    expect(toB64(derive('first-level-salt'))).toBe('jXE6Bb4Qop0H6QBTruNOauBYw8D3x1Gtnq3g5khXfwY=');
    expect(fingerprint).toBe('4d3a81814affdcd0');
  });

  test('differ between environments, scopes and roots', () => {
    const all = [
      secrets,
      createSecrets(ROOT, 'production', 'UID2'),
      createSecrets(ROOT, 'integration', 'EUID'),
      createSecrets(new Uint8Array(32), 'integration', 'UID2'),
    ];
    expect(new Set(all.map(({ derive }) => toB64(derive('master-key/1')))).size).toBe(4);
    expect(new Set(all.map(({ fingerprint }) => fingerprint)).size).toBe(4);
  });
});

describe('key numbers', () => {
  const secrets = createSecrets(ROOT, 'integration', 'UID2');

  test('are unique for each owner and generation, and find the key', () => {
    const keys = createKeys(keyDerivation(secrets), [1, 2, 3]);
    const all = [MASTER, REFRESH, 1, 2, 101, MAX_SITE_ID].flatMap((siteId) => keys.generations(siteId));
    expect(new Set(all.map(({ id }) => id)).size).toBe(18);
    expect(new Set(all.map(({ secret }) => toB64(secret))).size).toBe(18);
    for (const key of all) expect(keys.byId(key.id)).toEqual(key);
    expect(Math.max(...all.map(({ id }) => id))).toBeLessThan(2 ** 31);
  });

  test('the newest generation seals, and no later one is found', () => {
    const keys = createKeys(keyDerivation(secrets), [1, 2, 3]);
    expect([keys.master.generation, keys.refresh.generation, keys.site(101).generation]).toEqual([3, 3, 3]);
    for (const id of [0, 4, 127, 128, 132, -1, -126]) expect(keys.byId(id)).toBeUndefined();
  });
});

test('a cache of keys that is full loses its oldest one alone', () => {
  const secrets = createSecrets(ROOT, 'integration', 'UID2');
  let derived = 0;
  const derive = (label: string) => {
    derived++;
    return secrets.derive(label);
  };
  const keyOf = keyDerivation({ ...secrets, derive });
  for (let siteId = 1; siteId <= 10_001; siteId++) keyOf(siteId, 1);
  for (let siteId = 2; siteId <= 10_001; siteId++) keyOf(siteId, 1);
  expect(derived).toBe(10_001);
});

describe('the fast encoders agree with token/bytes.ts and Node', () => {
  test('base64', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        for (const { encode, encodeUrl } of [createNodeB64(Buffer), portableB64]) {
          expect(encode(bytes)).toBe(toB64(bytes));
          expect(encodeUrl(bytes)).toBe(Buffer.from(bytes).toString('base64url'));
        }
        for (const ascii of [encodeB64Ascii(bytes), utf8(toB64(bytes).replace(/=+$/, ''))])
          expect(Uint8Array.from(decodeB64(ascii)!)).toEqual(Uint8Array.from(bytes));
      }),
    );
  });

  test.each([0, 1, 24_575, 24_576, 24_577, 100_000])('base64 of %i bytes in slices', async (length) => {
    const bytes = Uint8Array.from({ length }, (_, i) => i);
    let pauses = 0;
    const sliced = await encodeB64Slices(bytes, () => void pauses++);
    expect(Buffer.from(sliced).toString()).toBe(toB64(bytes));
    expect(pauses).toBe(Math.ceil(length / 24_576));
  });

  test('integers', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.integer(), (long, short) => {
        const bytes = zeroBytes(12);
        writeInt64(bytes, 0, long);
        writeInt32(bytes, 8, short);
        const expected = Buffer.alloc(12);
        expected.writeBigInt64BE(BigInt(long), 0);
        expected.writeInt32BE(short, 8);
        expect([...bytes]).toEqual([...expected]);
        expect([...int64(long)]).toEqual([...expected.subarray(0, 8)]);
        expect([readInt64(bytes, 0), readInt32(bytes, 8)]).toEqual([long, short]);
      }),
    );
  });
});

import { createCipheriv } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { concat, fromB64, fromHex, int64, toB64, toHex, utf8 } from '../../src/token/bytes.ts';
import { type AesKey, aesKey, openAes, sealAes } from '../../src/token/cipher.ts';
import { SMALLEST_REQUEST, SMALLEST_RESPONSE } from '../../src/token/envelope.ts';
import {
  openRefresh,
  openRequest,
  openResponse,
  sealRefresh,
  sealRequest,
  sealResponse,
} from '../../src/token/index.ts';
import { runsOf } from '../support/properties.ts';
import { REFRESHES, REQUESTS } from '../vectors/envelopes.ts';

/** Hide `crypto.subtle`, as on a plain-http page. `getRandomValues` exists there. */
const hideSubtle = () => {
  const real = crypto;
  vi.stubGlobal('crypto', { getRandomValues: (bytes: Uint8Array<ArrayBuffer>) => real.getRandomValues(bytes) });
};

afterEach(() => void vi.unstubAllGlobals());

const sealedByNode = (key: Uint8Array, plain: Uint8Array, iv = new Uint8Array(12).fill(3)) => {
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  return new Uint8Array(Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]));
};

describe.each([
  ['Web Crypto', () => {}],
  ['noble', hideSubtle],
])('with %s', (by, prepare) => {
  const keyOf = async (raw: Parameters<typeof aesKey>[0]): Promise<AesKey> => {
    prepare();
    const key = await aesKey(raw);
    // Make sure that the named implementation is the one under test.
    expect(key instanceof Uint8Array).toBe(by === 'noble');
    return key;
  };
  const someKey = () => keyOf(new Uint8Array(32).fill(5));
  const nonce = fromHex(REQUESTS.nonceHex);
  const { at } = REQUESTS;

  test.each(REQUESTS.rows)('the request %s is sealed to the bytes of the vector and opens again', async (json, b64) => {
    const key = await keyOf(fromB64(REQUESTS.secretB64));
    const envelope = await sealRequest(key, { at, nonce, json }, fromHex(REQUESTS.ivHex));
    expect(toB64(envelope)).toBe(b64);
    expect(await openRequest(key, envelope)).toEqual({ at, nonce, json });
  });

  test.each(REFRESHES.rows)('the refresh answer %j opens', async (json, bodyB64) => {
    prepare();
    expect(await openRefresh(bodyB64, REFRESHES.keyB64)).toBe(json);
  });

  test('requests, responses and refresh answers open again', async () => {
    const key = await someKey();
    const json = '{"status":"success","body":"Ærø 😊"}';
    expect(await openRequest(key, await sealRequest(key, { at, nonce, json }))).toEqual({ at, nonce, json });
    expect(await openResponse(key, await sealResponse(key, { at, nonce, json }))).toEqual({ at, nonce, json });
    expect(await openResponse(key, await sealResponse(key, { at, nonce, json: utf8(json) }))).toMatchObject({ json });
    expect(await openRefresh(toB64(await sealRefresh(key, json)), toB64(new Uint8Array(32).fill(5)))).toBe(json);
  });

  test('a request without payload is 45 bytes long, and opens', async () => {
    const key = await someKey();
    const envelope = await sealRequest(key, { at, nonce, json: '' });
    expect(envelope).toHaveLength(45);
    expect(SMALLEST_REQUEST).toBe(45);
    expect(envelope[0]).toBe(1);
    expect(await openRequest(key, envelope)).toEqual({ at, nonce, json: '' });
  });

  test('a response without payload is 44 bytes long, and opens', async () => {
    const key = await someKey();
    const envelope = await sealResponse(key, { at, nonce, json: '' });
    expect(envelope).toHaveLength(44);
    expect(SMALLEST_RESPONSE).toBe(44);
    expect(await openResponse(key, envelope)).toEqual({ at, nonce, json: '' });
  });

  test('each error says what went wrong, and has the cause', async () => {
    const key = await someKey();
    const raw = new Uint8Array(32).fill(5);
    const keyB64 = toB64(raw);
    const messageOf = (opening: Promise<unknown>) =>
      opening.then(
        () => 'opens',
        ({ message, cause }: Error) => `${message}${cause ? ', with a cause' : ''}`,
      );
    expect(await messageOf(openRefresh('{}', keyB64))).toBe(
      'refresh response: expected base64, got another string of 2 characters, with a cause',
    );
    expect(await messageOf(openResponse(key, new Uint8Array(27)))).toBe(
      'envelope: expected 28 bytes or more, got 27 bytes',
    );
    expect(await messageOf(openResponse(key, new Uint8Array(28)))).toBe(
      'envelope: decryption failed: the key is wrong, or the bytes were altered, with a cause',
    );
    expect(await messageOf(openResponse(key, new Uint8Array(sealedByNode(raw, new Uint8Array(15)))))).toBe(
      'plaintext: expected time and nonce, got 15 bytes',
    );
    const other = concat(int64(at), nonce, Uint8Array.of(0xff));
    expect(await messageOf(openResponse(key, new Uint8Array(sealedByNode(raw, other))))).toBe(
      'plaintext: expected UTF-8, got other bytes, with a cause',
    );
  });

  test('every sealed message has its own initialisation vector', async () => {
    const key = await someKey();
    const seals = await Promise.all(Array.from({ length: 20 }, () => sealAes(key, utf8('same'))));
    expect(new Set(seals.map((sealed) => toHex(sealed.subarray(0, 12)))).size).toBe(20);
  });

  test('sealed bytes equal those of node:crypto', async () => {
    const raw = new Uint8Array(32).fill(5);
    const key = await keyOf(raw);
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 100 }),
        fc.uint8Array({ minLength: 12, maxLength: 12 }),
        async (plain, iv) => {
          const sealed = await sealAes(key, new Uint8Array(plain), new Uint8Array(iv));
          expect(toHex(sealed)).toBe(toHex(sealedByNode(raw, plain, iv)));
          expect([...(await openAes(key, sealed))]).toEqual([...plain]);
        },
      ),
      { numRuns: runsOf(25) },
    );
  });

  test('one altered bit or another key is decrypt_failed', async () => {
    const key = await someKey();
    const sealed = await sealResponse(key, { at, nonce, json: '{}' });
    for (let index = 0; index < sealed.length; index += 3) {
      const altered = sealed.slice();
      altered[index]! ^= 1 << (index % 8);
      await expect(openResponse(key, altered)).rejects.toMatchObject({ name: 'TokenError', code: 'decrypt_failed' });
    }
    const other = await keyOf(new Uint8Array(32).fill(6));
    await expect(openResponse(other, sealed)).rejects.toMatchObject({ code: 'decrypt_failed' });
    await expect(openRequest(other, concat(Uint8Array.of(1), sealed))).rejects.toMatchObject({
      code: 'decrypt_failed',
    });
  });

  test('a response under 28 bytes, without time and nonce, or not in UTF-8 is malformed_response', async () => {
    const key = await someKey();
    const raw = new Uint8Array(32).fill(5);
    for (const sealed of [
      new Uint8Array(0),
      new Uint8Array(27),
      sealedByNode(raw, new Uint8Array(15)),
      sealedByNode(raw, concat(int64(at), nonce, Uint8Array.of(0xff))),
    ])
      await expect(openResponse(key, new Uint8Array(sealed))).rejects.toMatchObject({ code: 'malformed_response' });
  });

  test.each([
    ['another key', 'decrypt_failed', REFRESHES.rows[0]![1], toB64(new Uint8Array(32).fill(9))],
    ['an altered byte', 'decrypt_failed', alter(REFRESHES.rows[0]![1], 13), REFRESHES.keyB64],
    ['an altered tag', 'decrypt_failed', alter(REFRESHES.rows[0]![1], -1), REFRESHES.keyB64],
    ['28 zero bytes', 'decrypt_failed', toB64(new Uint8Array(28)), REFRESHES.keyB64],
    ['27 bytes', 'malformed_response', toB64(new Uint8Array(27)), REFRESHES.keyB64],
    ['an empty body', 'malformed_response', '', REFRESHES.keyB64],
    ['a body that is not base64', 'malformed_response', '{"status":"optout"}', REFRESHES.keyB64],
    ['plaintext that is not UTF-8', 'malformed_response', REFRESHES.notUtf8B64, REFRESHES.keyB64],
  ])(
    'a refresh answer with %s is %s, and the message quotes neither key nor body',
    async (_, code, bodyB64, keyB64) => {
      prepare();
      const error = await openRefresh(bodyB64, keyB64).catch((thrown) => thrown);
      expect(error).toMatchObject({ name: 'TokenError', code });
      expect(error.message).not.toContain(keyB64);
      if (bodyB64) expect(error.message).not.toContain(bodyB64);
    },
  );
});

test('a key of Web Crypto cannot be exported', async () => {
  const key = (await aesKey(new Uint8Array(32))) as CryptoKey;
  await expect(crypto.subtle.exportKey('raw', key)).rejects.toThrow();
});

test('a page without `crypto` uses noble', async () => {
  vi.stubGlobal('crypto', undefined);
  expect(await aesKey(new Uint8Array(32))).toEqual(new Uint8Array(32));
});

/** Change one byte of a base64 string; a negative offset counts from the end. */
function alter(b64: string, at: number): string {
  const bytes = fromB64(b64);
  bytes[at < 0 ? bytes.length + at : at]! ^= 1;
  return toB64(bytes);
}

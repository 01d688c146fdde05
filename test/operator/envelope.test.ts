import { describe, expect, test } from 'vitest';
import { decodeB64 } from '../../src/operator/crypto/base64.ts';
import { fromB64, toB64, utf8 } from '../../src/token/bytes.ts';
import { aesKey } from '../../src/token/cipher.ts';
import { openResponse, sealRequest } from '../../src/token/index.ts';
import { createTestService, envelope, NOON } from './fixtures.ts';

const HINT =
  ' See https://unifiedid.com/docs/getting-started/gs-encryption-decryption for details on the request envelope format.';
const JSON_BODY =
  'Invalid body: The request body is unencrypted JSON. It must be an encrypted request envelope. See https://unifiedid.com/docs/getting-started/gs-encryption-decryption#encryption-and-decryption-code-examples for encryption and decryption code examples.';
const MISSING = 'Invalid body: Body is missing.';
const BASE64 = `Invalid body: Body is not valid base64.${HINT}`;
const SHORT = `Invalid body: Body too short. Check encryption method.${HINT}`;
const KEY = `Invalid body: Check encryption key (ClientSecret).${HINT}`;
const TIME = 'Invalid timestamp: Request too old or client time drift.';
const PAYLOAD = 'Invalid payload in body: Data is not valid json string.';
const VERSION = (byte: number) =>
  `Invalid body: Invalid request envelope format version: received ${byte}, must be 1.${HINT}`;

const PATH = '/v2/token/generate';
const OCTETS = 'application/octet-stream';
const service = createTestService();
const { apiKey, clientSecret } = service.participant;
const user = { email: 'user@example.com' };
const good = await envelope(user, clientSecret, NOON);

const post = (body: BodyInit | null, contentType?: string) =>
  service.post(PATH, body, {
    authorization: `Bearer ${apiKey}`,
    ...(contentType ? { 'content-type': contentType } : {}),
  });
const altered = (at: number, byte: number): Uint8Array<ArrayBuffer> => {
  const bytes = good.slice();
  bytes[at] = byte;
  return bytes;
};
const otherSecret = toB64(new Uint8Array(32).fill(9));

describe('a malformed envelope is a client error, in the order of the checks', () => {
  test.each<[what: string, body: () => BodyInit | Promise<BodyInit>, message: string, contentType?: string]>([
    ['an empty body', () => '', MISSING],
    ['an empty body, as bytes', () => new Uint8Array(), MISSING, OCTETS],
    ['JSON', () => JSON.stringify(user), JSON_BODY],
    ['JSON, as bytes', () => JSON.stringify({ ...user, and: 'so on and so on and so on' }), JSON_BODY, OCTETS],
    ['short JSON, as bytes', () => '{"email":"a@b"}', JSON_BODY, OCTETS],
    ['a JSON array', () => '["user@example.com"]', BASE64],
    ['not base64', () => '%%%', BASE64],
    ['base64 with a line break at its end', () => `${toB64(good)}\n`, BASE64],
    ['base64 with a space', () => toB64(good).replace(/^..../, '$& '), BASE64],
    ['URL-safe base64', () => `-_${toB64(good).slice(2)}`, BASE64],
    ['44 bytes', () => toB64(good.slice(0, 44)), SHORT],
    ['JSON in base64', () => toB64(utf8(JSON.stringify(user))), JSON_BODY],
    ['long JSON in base64', () => toB64(utf8(JSON.stringify([user, user, user]))), VERSION(91)],
    ['version 2', () => toB64(altered(0, 2)), VERSION(2)],
    ['version 255, as bytes', () => altered(0, 255), VERSION(255), OCTETS],
    ['an altered byte', () => toB64(altered(40, good[40]! ^ 1)), KEY],
    ['another secret', async () => toB64(await envelope(user, otherSecret, NOON)), KEY],
    ['another secret, as bytes', () => envelope(user, otherSecret, NOON), KEY, OCTETS],
    ['a JSON array inside', async () => toB64(await envelope([user], clientSecret, NOON)), PAYLOAD],
    ['a JSON number inside', async () => toB64(await envelope(5, clientSecret, NOON)), PAYLOAD],
    ['a JSON null inside', async () => toB64(await envelope(null, clientSecret, NOON)), PAYLOAD],
    ['garbage inside', async () => toB64(await envelope('{', clientSecret, NOON)), PAYLOAD],
    ['bytes without the content type for them', () => good, BASE64],
    ['base64 of an altered envelope, with the content type for bytes', () => toB64(altered(0, 2)), VERSION(2), OCTETS],
  ])('%s', async (_, body, message, contentType) => {
    const response = await post(await body(), contentType);
    expect(response.status).toBe(400);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toEqual({ status: 'client_error', message });
  });

  test('an EUID operator links to the documentation of EUID', async () => {
    const euid = createTestService({ scope: 'EUID' });
    const authorization = `Bearer ${euid.participant.apiKey}`;
    const messageOf = async (body: string) =>
      ((await (await euid.post(PATH, body, { authorization })).json()) as { message: string }).message;
    for (const [body, message] of [
      ['%%%', BASE64],
      [JSON.stringify(user), JSON_BODY],
      [toB64(good.slice(0, 44)), SHORT],
      [toB64(altered(0, 2)), VERSION(2)],
      [toB64(good), KEY],
    ] as const)
      expect(await messageOf(body)).toBe(message.replace('https://unifiedid.com/', 'https://euid.eu/'));
  });

  test('a payload that is not UTF-8', async () => {
    // Sealed with Web Crypto: the project's functions seal strings only.
    const key = await crypto.subtle.importKey('raw', fromB64(clientSecret), 'AES-GCM', false, ['encrypt']);
    const plain = new Uint8Array(18).fill(0xff);
    new DataView(plain.buffer).setBigInt64(0, BigInt(NOON));
    const iv = new Uint8Array(12);
    const sealed = new Uint8Array(await crypto.subtle.encrypt({ name: 'AES-GCM', iv }, key, plain));
    const response = await post(toB64(Uint8Array.of(1, ...iv, ...sealed)));
    expect(await response.json()).toEqual({ status: 'client_error', message: PAYLOAD });
  });
});

describe('the time in an envelope may differ by less than two minutes in either direction', () => {
  test.each<[differs: number, accepted: boolean]>([
    [0, true],
    [119_999, true],
    [-119_999, true],
    [120_000, false],
    [-120_000, false],
    [86_400_000, false],
  ])('%d ms: %s', async (differs, accepted) => {
    const { http, json } = await service.call(PATH, user, { at: NOON + differs });
    expect([http, json.message]).toEqual(accepted ? [200, undefined] : [400, TIME]);
  });

  test('an extreme time is refused', async () => {
    const sealed = await sealRequest(await aesKey(fromB64(clientSecret)), {
      at: Number.MIN_SAFE_INTEGER,
      nonce: new Uint8Array(8),
      json: '{}',
    });
    expect(await (await post(toB64(sealed))).json()).toMatchObject({ message: TIME });
  });
});

describe('only the content type application/octet-stream selects bytes', () => {
  const read = async (response: Response) => {
    const body = new Uint8Array(await response.arrayBuffer());
    const binary = response.headers.get('content-type') === OCTETS;
    const sealed = binary ? body : fromB64(new TextDecoder().decode(body));
    return [response.headers.get('content-type'), JSON.parse((await openResponse(await key, sealed)).json).status];
  };
  const key = aesKey(fromB64(clientSecret));

  test.each<[contentType: string | undefined, body: 'bytes' | 'text', answered: string]>([
    [OCTETS, 'bytes', OCTETS],
    ['APPLICATION/octet-stream', 'bytes', OCTETS],
    [OCTETS, 'text', 'text/plain'],
    ['text/plain', 'text', 'text/plain'],
    ['text/plain;charset=UTF-8', 'text', 'text/plain'],
    ['application/x-www-form-urlencoded', 'text', 'text/plain'],
    ['application/x-www-form-urlencoded; charset=utf-8', 'text', 'text/plain'],
    ['application/json', 'text', 'text/plain'],
    ['application/octet-stream; charset=utf-8', 'text', 'text/plain'],
    [undefined, 'text', 'text/plain'],
  ])('%s with %s is answered as %s', async (contentType, body, answered) => {
    const response = await post(body === 'bytes' ? good : toB64(good), contentType);
    expect(await read(response)).toEqual([answered, 'success']);
  });

  test('padding may be left out', async () => {
    const bare = toB64(good).replace(/=+$/, '');
    expect(await read(await post(bare))).toEqual(['text/plain', 'success']);
  });
});

test('an answer repeats the nonce of its request, and a repeated request is answered again', async () => {
  const key = await aesKey(fromB64(clientSecret));
  const nonce = fromB64('MS/lqgiyoEk=');
  const body = toB64(await sealRequest(key, { at: NOON, nonce, json: JSON.stringify(user) }));
  for (let time = 0; time < 2; time++) {
    const plain = await openResponse(key, fromB64(await (await post(body)).text()));
    expect([plain.nonce, plain.at]).toEqual([nonce, NOON]);
  }
});

describe('envelopes of the Java SDK open (docs/protocol.md, "Test vectors")', () => {
  const at = 1_667_885_597_644;
  const java = createTestService({
    now: () => at,
    apiKey: 'java',
    clientSecret: 'ioG3wKxAokmp+rERx6A4kM/13qhyolUXIu14WN16Spo=',
  });
  test.each([
    ['email', 'Acw8ysqYieqzgA54fifdV1TB6V+da8p/AFc8Ju/IYrD77pL7JYMJj8YqD9EsrG3d2d2j0H7kZjH41YsNLpFVCH+oce28z9L9ug=='],
    ['phone', 'Acw8ysqYieqzgA54fifdV1TB6V+da8p/AFc8Ju/IYqX+4JXyJYMJ0JJrSKV84juIkIH33GCmx+7RM2pSX9P4nAN0pn2g'],
    [
      'email_hash',
      'Acw8ysqYieqzgA54fifdV1TB6V+da8p/AFc8Ju/IYrD77pL7WNFKiMt7QbM9mWHZwOWPyVTqSnDVNzhXRdcmIkV0ODOdll2inDo9iIZQ5oV2NvSUSWG5j6ACiXKH0JxiTPzs716eIH7P1Q==',
    ],
    [
      'phone_hash',
      'Acw8ysqYieqzgA54fifdV1TB6V+da8p/AFc8Ju/IYqX+4JXyWNFKiMt7QbMMm27H3fmEq2zPRUnXdFpLTdVdc0RNWxOruBaarHYQksdqpbkVFa+walbcj6AClILBJjbDMl1IoeqJVG2fyw==',
    ],
  ])('%s', async (_, body) => {
    const response = await java.post(PATH, body, { authorization: 'Bearer java' });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/plain']);
  });
});

test.each<[text: string, length: number | undefined]>([
  ['', 0],
  ['QQ==', 1],
  ['QQ', 1],
  ['QUI=', 2],
  ['QUI', 2],
  ['QUJD', 3],
  ['QUJDRA==', 4],
  ['Q', undefined],
  ['Q===', undefined],
  ['QQ=', undefined],
  ['QUI==', undefined],
  ['QUJD=', undefined],
  ['QQ==QQ==', undefined],
  ['=', undefined],
  ['====', undefined],
  ['QUJ\u0100', undefined],
  ['Q Q=', undefined],
  ['QU\nI', undefined],
])('base64 %j decodes to %s bytes', (text, length) => expect(decodeB64(utf8(text))?.length).toBe(length));

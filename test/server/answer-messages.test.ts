/** What the errors say about 200 answers that cannot be used and about wrong arguments: what was expected, what came instead. */

import { expect, test } from 'vitest';
import { type Client, type ClientOptions, createClient, type Dii } from '../../src/server/index.ts';
import { parseTokenSet } from '../../src/token/token-set.ts';
import { NOW, opened, optionsFor, plain, rejectionOf, SET, scriptedService } from './scripted-service.ts';

const dii = { email: 'user@example.com' };
const CALLS = {
  generate: (client) => client.generate(dii),
  validate: (client) => client.validate('token', dii),
  optOut: (client) => client.optOut(dii),
  mapIdentities: (client) => client.mapIdentities([dii]).toArray(),
  mapIdentitiesV2: (client) => client.mapIdentitiesV2([dii]).toArray(),
  rotatedBuckets: (client) => client.rotatedBuckets(NOW),
  optOutStatus: (client) => client.optOutStatus(['id']).toArray(),
} satisfies Record<string, (client: Client) => Promise<unknown>>;

test.each<[method: keyof typeof CALLS, body: unknown, said: string]>([
  ['generate', { advertising_token: 5 }, 'advertising_token: expected string, got number'],
  ['validate', 'true', 'body: expected boolean, got string'],
  ['optOut', undefined, 'optout: expected OK, got undefined'],
  ['optOut', 'OK', 'optout: expected OK, got undefined'],
  ['optOut', { optout: 'LATER' }, 'optout: expected OK, got another string'],
  ['mapIdentities', { email: {} }, 'email: expected array, got object'],
  ['mapIdentities', { email: [] }, 'email: expected 1 results, got 0'],
  ['mapIdentities', { email: [{ u: 'u', r: NOW }] }, 'r: expected epoch seconds, got another number'],
  ['mapIdentities', { email: [{ u: 'u', r: `${NOW}` }] }, 'r: expected epoch seconds, got string'],
  ['mapIdentitiesV2', { mapped: [] }, 'email: expected 1 results, got 0'],
  ['mapIdentitiesV2', { mapped: [], unmapped: [{ reason: 'x' }] }, 'identifier: expected string, got undefined'],
  [
    'mapIdentitiesV2',
    { mapped: [{ identifier: 'another', advertising_id: 'u', bucket_id: 'b' }] },
    'email: expected one result for each DII, but one DII has none',
  ],
  ['rotatedBuckets', {}, 'body: expected array, got object'],
  [
    'rotatedBuckets',
    [{ bucket_id: 'b', last_updated: 'yesterday' }],
    'last_updated: expected UTC date-time, got another string',
  ],
  ['rotatedBuckets', [{ bucket_id: 'b', last_updated: 5 }], 'last_updated: expected UTC date-time, got number'],
  [
    'optOutStatus',
    { opted_out: [{ advertising_id: 'id' }] },
    'opted_out_since: expected epoch milliseconds, got undefined',
  ],
  [
    'optOutStatus',
    { opted_out: [{ advertising_id: 'other', opted_out_since: NOW }] },
    'advertising_id: expected a raw ID from the request, got a different one',
  ],
])('%s with the body %j', async (method, body, said) => {
  const service = scriptedService(opened({ status: 'success', body }));
  const error = await rejectionOf(CALLS[method](createClient({ ...optionsFor(service), hashLocally: 'none' })));
  expect(error).toMatchObject({
    code: 'malformed_response',
    status: 200,
    message: `${method}: POST ${service.seen[0]!.path} answered 200: ${said}`,
  });
});

test.each<[dii: Dii, hashLocally: ClientOptions['hashLocally'], expected: string]>([
  [{ email: 'nobody' }, 'emails', 'an email address'],
  [{ phone: '555' }, 'emails', 'a phone number: + and 10 to 15 digits'],
  [{ phone: '555' }, 'all', 'a phone number: + and 10 to 15 digits'],
  [{ emailHash: 'short' }, 'emails', 'a hash: 32 bytes in base64 or hexadecimal'],
  [{ phoneHash: '' }, 'all', 'a hash: 32 bytes in base64 or hexadecimal'],
])(
  'invalid DII is not sent, and the error describes a valid one: %j, hashLocally %s',
  async (given, hashLocally, expected) => {
    const service = scriptedService(plain(500));
    const client = createClient({ ...optionsFor(service), hashLocally });
    expect(await rejectionOf(client.generate(given))).toMatchObject({
      code: 'client_error',
      message: `generate: POST /v2/token/generate not sent: expected ${expected} (Invalid Identifier)`,
    });
    expect(service.seen).toEqual([]);
  },
);

const DII = 'DII: expected an object with exactly one of email, emailHash, phone, phoneHash as a string';
const promise = Promise.resolve(dii) as never;

test.each<[what: string, call: (client: Client) => unknown, expected: string]>([
  ['generate: dii', (client) => client.generate(promise), DII],
  ['generate: a member', (client) => client.generate({ email: promise }), `${DII}, got email as`],
  ['generate: options', (client) => client.generate(dii, promise), 'options: expected object'],
  ['generate: consent', (client) => client.generate(dii, { tcfConsent: promise }), 'tcfConsent: expected string'],
  ['validate: token', (client) => client.validate(promise, dii), 'advertisingToken: expected string'],
  ['validate: dii', (client) => client.validate('token', promise), DII],
  ['refresh', (client) => client.refresh(promise), 'tokens: expected object'],
  ['optOut', (client) => client.optOut(promise), DII],
  ['mapIdentities', (client) => client.mapIdentities(promise).toArray(), 'source: expected iterable or async iterable'],
  ['mapIdentities: an item', (client) => client.mapIdentities([promise]).toArray(), DII],
  ['mapIdentitiesV2', (client) => client.mapIdentitiesV2([promise]).toArray(), DII],
  ['optOutStatus', (client) => client.optOutStatus(promise), 'rawIds: expected iterable or async iterable'],
  ['optOutStatus: an item', (client) => client.optOutStatus([promise]).toArray(), 'rawIds: expected string'],
  ['rotatedBuckets', (client) => client.rotatedBuckets(promise), 'since: expected epoch milliseconds or a valid Date'],
  ['createClient', () => createClient(promise), 'options: expected object'],
  [
    'createClient: apiKey',
    () => createClient({ ...optionsFor(scriptedService(plain(500))), apiKey: promise }),
    'apiKey: expected string',
  ],
])('a missing await is named, and nothing is sent: %s', async (_, call, expected) => {
  const service = scriptedService(plain(500));
  const got = expected.includes(', got ') ? '' : ', got';
  expect(await rejectionOf((async () => call(createClient(optionsFor(service))))())).toEqual(
    new TypeError(`${expected}${got} a Promise: await it`),
  );
  expect(service.seen).toEqual([]);
});

test.each([{ status: 'success', tokens: parseTokenSet(SET) }, { status: 'optout' }])(
  'a refresh of a whole result says which part of it to pass: %j',
  async (result) => {
    const client = createClient(optionsFor(scriptedService(plain(500))));
    expect(await rejectionOf(client.refresh(result as never))).toEqual(
      new TypeError('tokens: expected a token set, got a result: if its status is success, pass result.tokens'),
    );
  },
);

test('an argument that is no text is named', async () => {
  const client = createClient(optionsFor(scriptedService(plain(500))));
  for (const [call, name, got = 'number'] of [
    [client.validate(5 as never, dii), 'advertisingToken'],
    [client.refresh({ refreshToken: 5, responseKeyB64: 'key' } as never), 'tokens.refreshToken'],
    [client.refresh({ refreshToken: 'r', responseKeyB64: 5 } as never), 'tokens.responseKeyB64'],
    [client.generate(dii, { tcfConsent: 5 } as never), 'tcfConsent'],
    [client.generate(dii, { tcfConsent: '' }), 'tcfConsent', 'empty string'],
    [client.generate(dii, { tcfConsent: null } as never), 'tcfConsent', 'null'],
  ] as const)
    expect(await rejectionOf(call)).toEqual(new TypeError(`${name}: expected string, got ${got}`));
});

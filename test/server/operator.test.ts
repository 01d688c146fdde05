/** The client and the handler against the real operator, in one process. */

import { describe, expect, test } from 'vitest';
import { createOperator } from '../../src/operator/index.ts';
import { answerOf, createClient, type Dii, tokenHandler } from '../../src/server/index.ts';
import { fromB64 } from '../../src/token/bytes.ts';
import { aesKey } from '../../src/token/cipher.ts';
import { hashTextOf } from '../../src/token/dii.ts';
import { sealRequest } from '../../src/token/envelope.ts';
import { parseAnswer } from '../../src/token/token-set.ts';
import { encodeTcString } from '../support/cmp.ts';
import { API_KEY, NOW, rejectionOf, SECRET } from './scripted-service.ts';

/** An operator and a client of it. `clock.at` is the operator's clock; the client's clock is `offsetMs` ahead. */
const live = (scope: 'UID2' | 'EUID' = 'UID2') => {
  const clock = { at: NOW, offsetMs: 0 };
  const operator = createOperator({
    apiKey: API_KEY,
    clientSecret: SECRET,
    siteId: 101,
    scope,
    roles: ['GENERATOR', 'MAPPER', 'OPTOUT'],
    rootSecret: SECRET,
    rotationPeriod: 86_400,
    now: () => clock.at,
  });
  const options = {
    baseUrl: 'https://operator.example',
    apiKey: API_KEY,
    clientSecret: SECRET,
    fetch: (url: string, init: RequestInit) => operator.fetch(new Request(url, init)),
    now: () => clock.at + clock.offsetMs,
  };
  return { clock, operator, options, client: createClient(options) };
};

const tokensOf = async (client: ReturnType<typeof live>['client'], email = 'user@example.com') => {
  const result = await client.generate({ email });
  if (result.status !== 'success') throw new Error('expected tokens');
  return result.tokens;
};

/** Record an opt-out as a participant with the role OPTOUT. */
const optOut = async ({ fetch }: ReturnType<typeof live>['options'], at: number, email: string) => {
  const key = await aesKey(fromB64(SECRET));
  const body = await sealRequest(key, { at, nonce: new Uint8Array(8), json: JSON.stringify({ email }) });
  const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/octet-stream' };
  const response = await fetch('https://operator.example/v2/token/logout', { method: 'POST', headers, body });
  expect(response.status).toBe(200);
};

describe('the TCF consent of a user', () => {
  const PERMITTED = encodeTcString({ purposes: [1, 2, 3, 4, 7, 10], vendors: [21] });
  const REFUSED = encodeTcString({ purposes: [], vendors: [] });
  const user: Dii = { email: 'user@example.com' };

  test('is sent: an operator of EUID makes a set with it, and refuses without it', async () => {
    const { client } = live('EUID');
    expect(await client.generate(user, { tcfConsent: PERMITTED })).toMatchObject({ status: 'success' });
    expect(await rejectionOf(client.generate(user, { tcfConsent: REFUSED }))).toMatchObject({
      code: 'no_consent',
      status: 200,
      message: "generate: POST /v2/token/generate answered 200: the user's consent string does not permit a token",
    });
    expect(await rejectionOf(client.generate(user, { tcfConsent: 'CP' }))).toMatchObject({
      code: 'client_error',
      status: 400,
      message: 'generate: POST /v2/token/generate answered 400: client_error: User consent is invalid',
    });
    expect(await client.generate(user)).toMatchObject({ status: 'success' });
  });

  test('is not read by an operator of UID2', async () => {
    expect(await live().client.generate(user, { tcfConsent: REFUSED })).toMatchObject({ status: 'success' });
  });

  test('comes from the option tcfConsent of tokenHandler; without consent the answer is that of nobody', async () => {
    const { client } = live('EUID');
    const errors: unknown[] = [];
    const tokens = tokenHandler({
      client,
      user: () => user,
      tcfConsent: (request) => request.headers.get('x-tcf-consent'),
      onError: (error) => errors.push(error),
    });
    const post = (consent?: string) =>
      tokens(
        new Request('https://www.publisher.example/token', {
          method: 'POST',
          headers: consent === undefined ? {} : { 'x-tcf-consent': consent },
        }),
      );
    expect((await post(PERMITTED)).status).toBe(200);
    expect((await post()).status).toBe(200);
    expect((await post('')).status).toBe(200);
    expect(errors).toEqual([]);
    expect((await post(REFUSED)).status).toBe(204);
    expect(errors).toEqual([expect.objectContaining({ code: 'no_consent' })]);
  });
});

describe('generate', () => {
  test.each(['binary', 'text'] as const)(
    'returns a set with the times of the operator (%s envelopes)',
    async (envelope) => {
      const { options } = live();
      const result = await createClient({ ...options, envelope }).generate({ email: 'user@example.com' });
      expect(result).toMatchObject({
        status: 'success',
        tokens: { refreshAt: NOW + 900_000, expiresAt: NOW + 3_600_000, endsAt: NOW + 86_400_000 },
      });
      expect(parseAnswer(answerOf(result))).toEqual(result.status === 'success' && result.tokens);
    },
  );

  test.each(['emails', 'all', 'none'] as const)(
    'recognises an opted-out user in each form (hashLocally: %s)',
    async (hashLocally) => {
      const { options } = live();
      const client = createClient({ ...options, hashLocally });
      expect(await client.generate({ email: ' OptOut@example.com' })).toEqual({ status: 'optout' });
      expect(await client.generate({ phone: '+00000000000' })).toEqual({ status: 'optout' });
      expect(await client.generate({ emailHash: 'DYsnJ8r5+cjRDHue98gIGDKvLIMuqAm/RRLODrjqK50=' })).toEqual({
        status: 'optout',
      });
    },
  );

  test.each([{ email: 'nobody' }, { phone: '555-555-5555' }, { emailHash: 'short' }] as const)(
    '%j is a client_error with the message of the operator',
    async (dii) => {
      const client = createClient({ ...live().options, hashLocally: 'none' });
      const e = await rejectionOf(client.generate(dii));
      expect(e).toMatchObject({ code: 'client_error', status: 400 });
      expect(e.message).toContain('Invalid Identifier');
    },
  );

  test('a wrong key is unauthorized, a wrong secret is client_error', async () => {
    const { options } = live();
    const stranger = createClient({ ...options, apiKey: 'somebody-else' });
    expect(await rejectionOf(stranger.generate({ email: 'a@b.c' }))).toMatchObject({
      code: 'unauthorized',
      status: 401,
    });
    const confused = createClient({ ...options, clientSecret: `${'A'.repeat(43)}=` });
    const e = await rejectionOf(confused.generate({ email: 'a@b.c' }));
    expect(e).toMatchObject({ code: 'client_error', status: 400 });
    expect(e.message).toContain('Check encryption key (ClientSecret)');
  });

  test.each([-120_000, 120_000])('a clock that is %i ms off is clock_skew', async (offsetMs) => {
    const { client, clock } = live();
    clock.offsetMs = offsetMs;
    expect(await rejectionOf(client.generate({ email: 'a@b.c' }))).toMatchObject({ code: 'clock_skew', status: 400 });
    clock.offsetMs = offsetMs / 2;
    expect((await client.generate({ email: 'a@b.c' })).status).toBe('success');
  });
});

describe('refresh', () => {
  test('refreshes the refreshed set again', async () => {
    const { client, clock } = live();
    let tokens = await tokensOf(client);
    for (let generation = 0; generation < 5; generation++) {
      clock.at = tokens.refreshAt;
      const result = await client.refresh(tokens);
      if (result.status !== 'success') throw new Error('expected tokens');
      expect(result.tokens.expiresAt).toBe(clock.at + 3_600_000);
      expect(result.tokens.refreshToken).not.toBe(tokens.refreshToken);
      tokens = result.tokens;
    }
  });

  test('a later opt-out is a result', async () => {
    const { client } = live();
    expect(await client.refresh(await tokensOf(client, 'refresh-optout@example.com'))).toEqual({ status: 'optout' });
  });

  test('an expired and an invalid token are refresh_rejected', async () => {
    const { client, clock } = live();
    const tokens = await tokensOf(client);
    clock.at = tokens.endsAt + 1;
    const late = await rejectionOf(client.refresh(tokens));
    expect(late).toMatchObject({ code: 'refresh_rejected', status: 400 });
    expect(late.message).toContain('expired_token');
    const forged = await rejectionOf(client.refresh({ ...tokens, refreshToken: 'A'.repeat(388) }));
    expect(forged).toMatchObject({ code: 'refresh_rejected', status: 400 });
    expect(forged.message).toContain('invalid_token');
  });
});

describe('validate', () => {
  test('tells whether a token was generated from a DII, in any form', async () => {
    const { client } = live();
    const { advertisingToken } = await tokensOf(client);
    expect(await client.validate(advertisingToken, { email: 'USER@example.com' })).toBe(true);
    expect(await client.validate(advertisingToken, { emailHash: hashTextOf('email', 'user@example.com')! })).toBe(true);
    expect(await client.validate(advertisingToken, { email: 'other@example.com' })).toBe(false);
  });

  test('a malformed token is client_error', async () => {
    const e = await rejectionOf(live().client.validate('no token', { email: 'user@example.com' }));
    expect(e).toMatchObject({ code: 'client_error', status: 400 });
    expect(e.message).toContain('Invalid token');
  });
});

describe('mapping', () => {
  const SOURCE: readonly Dii[] = [
    { email: 'user@example.com' },
    { phone: '+12345678901' },
    { email: 'optout@example.com' },
    { phone: '555-555-5555' },
    { emailHash: hashTextOf('email', 'user@example.com')! },
    { phoneHash: 'no hash' },
    { email: 'nobody' },
  ];
  const STATUSES = ['mapped', 'mapped', 'optout', 'unmapped', 'mapped', 'unmapped', 'unmapped'];

  test.each(['emails', 'all', 'none'] as const)(
    'version 3 returns the same results for every hashLocally (%s)',
    async (hashLocally) => {
      const { options, client } = live();
      const results = await createClient({ ...options, hashLocally })
        .mapIdentities(SOURCE)
        .toArray();
      expect(results.map(({ status }) => status)).toEqual(STATUSES);
      // DII that local normalisation refuses is not sent, so it has no time of an answer.
      const untimed = (list: typeof results) =>
        list.map((result) => (result.status === 'unmapped' ? { ...result, answeredAt: undefined } : result));
      expect(untimed(results)).toEqual(untimed(await client.mapIdentities(SOURCE).toArray()));
      expect(results.map(({ dii }) => dii)).toEqual(SOURCE);
      const [first, , , , again] = results;
      if (first?.status !== 'mapped' || again?.status !== 'mapped') throw new Error('expected raw IDs');
      expect(first.rawId).toHaveLength(44);
      expect(again.rawId).toBe(first.rawId);
      expect(first.remapAt).toBeGreaterThan(NOW);
      expect(first.answeredAt).toBe(NOW);
    },
  );

  test('version 2 returns the raw IDs of version 3, each with its bucket', async () => {
    const { client } = live();
    const v2 = await client.mapIdentitiesV2(SOURCE).toArray();
    const v3 = await client.mapIdentities(SOURCE).toArray();
    expect(v2.map(({ status }) => status)).toEqual(STATUSES);
    const idsOf = (results: readonly object[]) =>
      results.map((result) => ('rawId' in result ? result.rawId : undefined));
    expect(idsOf(v2)).toEqual(idsOf(v3));
    expect(v2[0]).toMatchObject({ bucketId: expect.any(String), answeredAt: NOW });
  });

  test('20,000 results keep the order, in batches that the operator accepts', async () => {
    const { client } = live();
    const source = Array.from({ length: 20_000 }, (_, i) => ({ phone: `+${1_000_000_000 + i}` }));
    const all = await client.mapIdentities(source).toArray();
    expect(all.map(({ dii }) => dii)).toEqual(source);
    const alone = await client.mapIdentities([source[12_345]!]).toArray();
    expect(all[12_345]).toEqual(alone[0]);
  });

  test('after a rotation the bucket is listed and the raw ID has changed', async () => {
    const { client, clock } = live();
    const map = async () => {
      const [result] = await client.mapIdentitiesV2([{ email: 'user@example.com' }]).toArray();
      if (result?.status !== 'mapped') throw new Error('expected a raw ID');
      return result;
    };
    const before = await map();
    const quiet = await client.rotatedBuckets(before.answeredAt);
    expect(quiet).toMatchObject({ answeredAt: clock.at });
    expect(quiet.buckets.map(({ bucketId }) => bucketId)).not.toContain(before.bucketId);
    // After a whole period every bucket has rotated once.
    clock.at += 86_400_000;
    const after = await map();
    expect(after.bucketId).toBe(before.bucketId);
    expect(after.rawId).not.toBe(before.rawId);
    const { buckets } = await client.rotatedBuckets(clock.at - 60_000);
    expect(buckets.length).toBeGreaterThan(100);
    for (const { rotatedAt } of buckets) {
      expect(rotatedAt).toBeGreaterThanOrEqual(clock.at - 60_000);
      expect(rotatedAt).toBeLessThanOrEqual(clock.at);
    }
  });
});

describe('optOutStatus', () => {
  test('finds the raw IDs of users who have opted out since', async () => {
    const { client, options, clock } = live();
    const source = ['a@example.com', 'b@example.com', 'c@example.com'].map((email) => ({ email }));
    const ids = (await client.mapIdentities(source).toArray()).map((result) =>
      result.status === 'mapped' ? result.rawId : '',
    );
    expect(await client.optOutStatus(ids).toArray()).toEqual([]);
    clock.at += 1000;
    await optOut(options, clock.at, 'b@example.com');
    clock.at += 1000;
    expect(await client.optOutStatus(ids).toArray()).toEqual([
      { rawId: ids[1], optedOutAt: clock.at - 1000, answeredAt: clock.at },
    ]);
    expect((await client.mapIdentities(source).toArray()).map(({ status }) => status)).toEqual([
      'mapped',
      'optout',
      'mapped',
    ]);
  });
});

describe('tokenHandler', () => {
  test('answers a refreshable set, and optout for an opted-out user', async () => {
    const { client } = live();
    const handler = tokenHandler({ client, user: (request) => ({ email: request.headers.get('x-user')! }) });
    const post = (user: string) =>
      handler(new Request('https://www.publisher.example/t', { method: 'POST', headers: { 'x-user': user } }));
    const tokens = parseAnswer(await (await post('user@example.com')).json());
    if (tokens === 'optout') throw new Error('expected tokens');
    expect((await client.refresh(tokens)).status).toBe('success');
    expect(await (await post('optout@example.com')).json()).toEqual({ status: 'optout' });
  });
});

/** The client and the handler against the real operator, in one process. */

import { describe, expect, test } from 'vitest';
import { createOperator } from '../../src/operator/index.ts';
import { answerOf, createClient, type Dii, tokenHandler } from '../../src/server/index.ts';
import { hashTextOf } from '../../src/token/dii.ts';
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

  test.each([-120_000, 120_000])('a clock that is %i ms off is clock_skew', async (offsetMs) => {
    const { client, clock } = live();
    clock.offsetMs = offsetMs;
    expect(await rejectionOf(client.generate({ email: 'a@b.c' }))).toMatchObject({ code: 'clock_skew', status: 400 });
    clock.offsetMs = offsetMs / 2;
    expect((await client.generate({ email: 'a@b.c' })).status).toBe('success');
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
});

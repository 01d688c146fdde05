import { describe, expect, test } from 'vitest';
import { ENVELOPE_MS } from '../../src/operator/ports/envelopes.ts';
import type { State } from '../../src/operator/ports/state.ts';
import { memoryEnvelopes } from '../../src/operator/state/envelopes.ts';
import { memoryState } from '../../src/operator/state/memory-state.ts';
import { toB64 } from '../../src/token/bytes.ts';
import { BASE, createTestService, DAY, envelope, NOON, ROOT, SECOND, type TestService } from './fixtures.ts';

const GENERATE = '/v2/token/generate';
const LOGOUT = '/v2/token/logout';
const user = { email: 'user@example.com' };
const REFUSED = {
  status: 'client_error',
  message: 'Invalid body: The envelope has been received before. Seal each request anew.',
};

/** Post one and the same envelope, as bytes or as base64. */
const sender = (service: TestService, sealed: Uint8Array<ArrayBuffer>) => async (path: string, binary: boolean) => {
  const response = await service.post(path, binary ? sealed : toB64(sealed), {
    authorization: `Bearer ${service.participant.apiKey}`,
    ...(binary && { 'content-type': 'application/octet-stream' }),
  });
  const text = await response.text();
  return { http: response.status, json: response.status === 200 ? undefined : JSON.parse(text) };
};
const statusOf = async (service: TestService): Promise<string> => (await service.call(GENERATE, user)).json.status;

test.each<[first: string, payload: object]>([
  [GENERATE, user],
  ['/v2/token/validate', { ...user, token: 'a-token' }],
  [LOGOUT, { email: 'other@example.com' }],
])(
  'logout refuses an envelope that was received before: at %s, in either form, to the end of its time window',
  async (first, payload) => {
    const service = createTestService();
    // As far in the future as a clock may be.
    const send = sender(service, await envelope(payload, service.participant.clientSecret, NOON + 119 * SECOND));
    await send(first, false);
    for (const later of [0, 1, 238 * SECOND]) {
      service.now = NOON + later;
      for (const binary of [false, true])
        expect(await send(LOGOUT, binary)).toMatchObject({ http: 400, json: REFUSED });
    }
    service.now = NOON + 239 * SECOND;
    expect((await send(LOGOUT, false)).json.message).toContain('Invalid timestamp');
    expect(await statusOf(service)).toBe('success');
  },
);

describe('logout refuses an envelope that was refused before', () => {
  const OPT_OUT_ONLY = { apiKey: 'opt-outs', roles: ['OPTOUT'] } as const;
  const MAPPER = { apiKey: 'mapper', roles: ['MAPPER', 'OPTOUT'] } as const;
  test.each<[reason: string, path: string, http: number, given: typeof OPT_OUT_ONLY | typeof MAPPER, method?: string]>([
    ['because of the role', GENERATE, 401, OPT_OUT_ONLY],
    ['because of the rate limit', '/v2/identity/map', 429, MAPPER],
    ['because of the path', '/v2/token/generat', 404, MAPPER],
    ['because of the method', GENERATE, 405, MAPPER, 'PUT'],
  ])('%s', async (_, path, http, given, method = 'POST') => {
    const service = createTestService({ participants: [given, { apiKey: 'generator' }], rateLimit: 1 });
    const [participant, as] = service.operator.participants;
    const authorization = `Bearer ${participant!.apiKey}`;
    // A database counts in its own time: sent until the limit is reached.
    const refused = async () => {
      const body = toB64(await envelope(user, participant!.clientSecret, NOON));
      const request = new Request(BASE + path, { method, body, headers: { authorization } });
      return { body, http: (await service.operator.fetch(request)).status };
    };
    let sent = await refused();
    while (sent.http !== http) sent = await refused();
    const replayed = await service.post(LOGOUT, sent.body, { authorization });
    expect([replayed.status, await replayed.json()]).toEqual([400, REFUSED]);
    expect((await service.call(GENERATE, user, { as: as! })).json.status).toBe('success');
  });

  test.each([121 * SECOND, 3600 * SECOND])('because its clock was %i ms ahead', async (aheadMs) => {
    const service = createTestService();
    const send = sender(service, await envelope(user, service.participant.clientSecret, NOON + aheadMs));
    expect((await send(GENERATE, false)).json.message).toContain('Invalid timestamp');
    service.now = NOON + aheadMs;
    expect(await send(LOGOUT, false)).toMatchObject({ http: 400, json: REFUSED });
  });
});

test.each([
  ['rateLimit', { rateLimit: 2 }],
  // The first request of a participant counts for its address, too.
  ['anonymousRateLimit', { anonymousRateLimit: 3 }],
])('envelopes of a clock that is ahead count towards %s, and one above it is not remembered', async (_, options) => {
  const added: string[] = [];
  const state: State = {
    ...memoryState(),
    envelopes: {
      add: async (tag) => {
        added.push(tag);
        return true;
      },
    },
  };
  const service = createTestService({ state, ...options });
  const { apiKey, clientSecret } = service.participant;
  const send = async (): Promise<number> => {
    const body = toB64(await envelope(user, clientSecret, NOON + 3600 * SECOND));
    const request = new Request(BASE + LOGOUT, {
      method: 'POST',
      body,
      headers: { authorization: `Bearer ${apiKey}` },
    });
    return (await service.operator.fetch(request, { address: '192.0.2.1' })).status;
  };
  const statuses: number[] = [];
  while (!statuses.includes(429)) statuses.push(await send());
  expect(added).toHaveLength(statuses.length - 1);
});

test('an envelope that is more than an hour ahead is forgotten an hour later', async () => {
  const store = memoryEnvelopes();
  const sealedAt = NOON + DAY;
  expect(await store.add('tag', NOON, sealedAt)).toBe(true);
  const forgottenAt = NOON + 3600 * SECOND + ENVELOPE_MS;
  expect(await store.add('tag', forgottenAt - 1, sealedAt)).toBe(false);
  expect(await store.add('tag', forgottenAt, sealedAt)).toBe(true);
});

test('logout refuses an envelope that is older than the role OPTOUT', async () => {
  const state = memoryState();
  const given = { apiKey: 'publisher', clientSecret: toB64(ROOT) };
  const before = createTestService({ state, participants: [{ ...given, roles: ['GENERATOR'] }] });
  const send = (service: TestService, sealed: Uint8Array<ArrayBuffer>, path: string) =>
    sender(service, sealed)(path, false);
  const sealed = await envelope(user, given.clientSecret, NOON);
  expect((await send(before, sealed, GENERATE)).http).toBe(200);
  const participants = [{ ...given, roles: ['GENERATOR', 'OPTOUT'] as const }];
  const after = createTestService({ state, participants, now: () => NOON + SECOND });
  expect(await send(after, sealed, LOGOUT)).toMatchObject({ http: 400, json: { status: 'client_error' } });
  expect((await send(after, await envelope(user, given.clientSecret, NOON + SECOND), LOGOUT)).http).toBe(200);
});

test('two logouts of one user with envelopes of their own are both accepted', async () => {
  const service = createTestService();
  for (let at = 0; at < 2; at++) expect((await service.call(LOGOUT, user)).json.body).toEqual({ optout: 'OK' });
  expect(await statusOf(service)).toBe('optout');
});

test('other endpoints accept an envelope that is sent again', async () => {
  const service = createTestService();
  const send = sender(service, await envelope(user, service.participant.clientSecret, NOON));
  for (const binary of [false, false, true]) expect((await send(GENERATE, binary)).http).toBe(200);
});

test('an envelope is remembered until no node accepts it any more, however much their clocks may differ', async () => {
  const state = { ...memoryState(), envelopes: memoryEnvelopes() };
  const [slow, fast] = [createTestService({ state }), createTestService({ state })];
  const setTime = (now: number): void => {
    slow.now = now - 119 * SECOND;
    fast.now = now + 119 * SECOND;
  };
  setTime(NOON);
  const send = sender(slow, await envelope(user, slow.participant.clientSecret, NOON));
  expect((await send(GENERATE, false)).http).toBe(200);
  setTime(NOON + 238 * SECOND);
  // Removes the envelopes that it takes for old ones.
  expect((await fast.call(GENERATE, user)).http).toBe(200);
  expect(await send(LOGOUT, false)).toMatchObject({ http: 400, json: REFUSED });
});

test('an envelope is forgotten after eight minutes', async () => {
  const envelopes = memoryEnvelopes();
  expect(await envelopes.add('tag', NOON, NOON)).toBe(true);
  expect(await envelopes.add('tag', NOON + 480 * SECOND - 1, NOON)).toBe(false);
  expect(await envelopes.add('tag', NOON + 480 * SECOND, NOON)).toBe(true);
});

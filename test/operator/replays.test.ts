import { describe, expect, test } from 'vitest';
import { memoryEnvelopes } from '../../src/operator/state/envelopes.ts';
import { memoryState } from '../../src/operator/state/memory-state.ts';
import { toB64 } from '../../src/token/bytes.ts';
import { createTestService, envelope, NOON, SECOND, type TestService } from './fixtures.ts';

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

describe('logout refuses an envelope that was received before', () => {
  test.each<[first: string, payload: object]>([
    [GENERATE, user],
    ['/v2/token/validate', { ...user, token: 'a-token' }],
    [LOGOUT, { email: 'other@example.com' }],
  ])('at %s, in either form, to the end of its time window', async (first, payload) => {
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
  });
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
  expect(await envelopes.add('tag', NOON)).toBe(true);
  expect(await envelopes.add('tag', NOON + 480 * SECOND - 1)).toBe(false);
  expect(await envelopes.add('tag', NOON + 480 * SECOND)).toBe(true);
});

/** What a refresh looks like on the wire, and who opens its answer. */

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { MINUTE, useFakeClock } from '../support/scene.ts';
import { BASE_URL, createStage, strike, wireSet } from './stage.ts';

beforeEach(() => void useFakeClock());
afterEach(strike);

test('the request is a POST of the raw refresh token, without credentials, redirects, or a header of its own', async () => {
  const stage = createStage();
  stage.openWith();
  await stage.pass(15 * MINUTE);
  expect(stage.sent).toHaveLength(1);
  const [{ url, init }] = stage.sent as [(typeof stage.sent)[0]];
  const { signal, ...rest } = init;
  expect(url).toBe(`${BASE_URL}/v2/token/refresh`);
  expect(rest).toEqual({
    method: 'POST',
    body: wireSet(1).refresh_token,
    credentials: 'omit',
    redirect: 'error',
  });
  expect(signal).toBeInstanceOf(AbortSignal);
  stage.close();
});

test('every rotation is opened with the key that came with the token that was sent', async () => {
  const stage = createStage();
  const { session } = stage.openWith();
  await stage.pass(60 * MINUTE);
  expect(stage.sent.map(({ n }) => n)).toEqual([1, 2, 3, 4]);
  expect(session.advertisingToken).toBe('advertising-5');
  stage.close();
});

test('a page without Web Crypto rotates all the same, through noble', async () => {
  const real = crypto;
  vi.stubGlobal('crypto', { getRandomValues: real.getRandomValues.bind(real) });
  const stage = createStage();
  const { session } = stage.openWith();
  await stage.pass(15 * MINUTE);
  await vi.waitFor(() => expect(session.advertisingToken).toBe('advertising-2'));
  expect(crypto.subtle).toBeUndefined();
  await stage.pass(15 * MINUTE);
  await vi.waitFor(() => expect(session.advertisingToken).toBe('advertising-3'));
  stage.close();
});

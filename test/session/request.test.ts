/** The request of a refresh, and how its answer is decrypted. */

import { expect, test, vi } from 'vitest';
import { MINUTE, until } from '../support/clock.ts';
import { BASE_URL, fixtureForEachTest, wireSet } from './fixtures.ts';

const fixture = fixtureForEachTest();

test('a refresh is a POST of the raw refresh token, without credentials, redirects, the address of the page or custom headers', async () => {
  fixture.openStored();
  await fixture.advance(15 * MINUTE);
  expect(fixture.sent).toHaveLength(1);
  const [{ url, init }] = fixture.sent as [(typeof fixture.sent)[0]];
  const { signal, ...rest } = init;
  expect(url).toBe(`${BASE_URL}/v2/token/refresh`);
  expect(rest).toEqual({
    method: 'POST',
    body: wireSet(1).refresh_token,
    credentials: 'omit',
    cache: 'no-store',
    redirect: 'error',
    referrerPolicy: 'no-referrer',
  });
  expect(signal).toBeInstanceOf(AbortSignal);
});

test('every answer is decrypted with the key that came with the refresh token sent', async () => {
  const { session } = fixture.openStored();
  await fixture.advance(60 * MINUTE);
  expect(fixture.sent.map(({ n }) => n)).toEqual([1, 2, 3, 4]);
  expect(session.advertisingToken).toBe('advertising-5');
});

test('a page without Web Crypto refreshes through noble', async () => {
  const real = crypto;
  vi.stubGlobal('crypto', { getRandomValues: real.getRandomValues.bind(real) });
  const { session } = fixture.openStored();
  await fixture.advance(15 * MINUTE);
  await until(() => session.advertisingToken === 'advertising-2');
  expect(crypto.subtle).toBeUndefined();
  await fixture.advance(15 * MINUTE);
  await until(() => session.advertisingToken === 'advertising-3');
});

/** What the development build warns about on a page that replaces the UID2 SDK. */

import { IDBFactory } from 'fake-indexeddb';
import { afterEach, beforeEach, expect, type MockInstance, test, vi } from 'vitest';
import { type InitOptions, installUid2, type Uid2 } from '../../../src/page/uid2/index.ts';
import { createFixture, restoreGlobals, rotate, wireSet } from '../../session/fixtures.ts';
import { until, useFakeClock } from '../../support/clock.ts';
import { clearPlaces, putCookie, setCookie } from './fixtures.ts';

const OPTIONS: InitOptions = { baseUrl: 'https://operator.example' };
const COOKIE: InitOptions = { ...OPTIONS, useCookie: true };
const fixture = createFixture(rotate);
let sdk: Uid2;
let warn: MockInstance<typeof console.warn>;

const load = () => {
  sdk?.abort();
  delete window.__uid2;
  sdk = installUid2();
  return sdk;
};
const init = async (options: InitOptions) => {
  load().init(options);
  await until(() => sdk.isInitComplete());
};
const warnings = () => warn.mock.calls.map(([text]) => text);
const said = (text: string) => `[tessera] __uid2: ${text}; see docs/migration.md`;

beforeEach(() => {
  useFakeClock();
  vi.stubGlobal('indexedDB', new IDBFactory());
  vi.stubGlobal('fetch', fixture.fetch);
  warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
});
afterEach(async () => {
  sdk.abort();
  clearPlaces();
  delete window.__uid2;
  warn.mockRestore();
  await restoreGlobals();
});

test('a page that relies on the configuration cookie of the UID2 SDK', async () => {
  putCookie(COOKIE, '__uid_2_config');
  load();
  await fixture.advance(5_000);
  expect(warnings()).toEqual([
    said('init was not called, and the configuration cookie of the UID2 SDK starts nothing: call init on this page'),
  ]);
});

test('a cookie of a server, without useCookie', async () => {
  putCookie(wireSet(1));
  await init(OPTIONS);
  expect(warnings()).toEqual([said('the cookie with an identity is ignored: pass useCookie: true to init')]);
});

test('a cookie that a server has deleted', async () => {
  await init({ ...COOKIE, identity: wireSet(1) });
  await fixture.settle();
  setCookie(`__uid_2=;expires=${new Date(0).toUTCString()}`);
  await init(COOKIE);
  expect(warnings()).toEqual([
    said('the cookie was deleted, and the user stays signed in: to log out, call disconnect()'),
  ]);
});

test('a cookie of a server with another path, which a logout cannot erase', async () => {
  history.replaceState(null, '', '/account/');
  setCookie(`__uid_2=${encodeURIComponent(JSON.stringify(wireSet(1)))}`, '/account');
  await init(COOKIE);
  sdk.disconnect();
  setCookie(`__uid_2=;expires=${new Date(0).toUTCString()}`, '/account');
  expect(warnings()).toEqual([
    said(
      'disconnect could not erase the cookie, so the next page signs the user in again: ' +
        'pass the cookieDomain and cookiePath with which your server sets it',
    ),
  ]);
});

test('generation in the browser', async () => {
  await init(OPTIONS);
  await expect(sdk.setIdentityFromPhone()).rejects.toThrow('generate on your server, then call setIdentity');
  expect(warnings()).toEqual([
    said('setIdentityFromPhone is not supported: generate on your server (tokenHandler), then call setIdentity'),
  ]);
});

test.each([
  ['/operator', 'absolute https URL'],
  ['http://operator.example', 'absolute https URL'],
])('a baseUrl that no page may use, %s, throws', (baseUrl, text) => {
  expect(() => load().init({ baseUrl })).toThrow(text);
  expect(warnings()).toEqual([]);
});

test('a page without such a mistake: nothing', async () => {
  putCookie(wireSet(1));
  await init(COOKIE);
  await init({ ...COOKIE, identity: wireSet(2) });
  await fixture.advance(5_000);
  expect(warnings()).toEqual([]);
});

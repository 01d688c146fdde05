/** The drop-in with several hosts, changing cookies, other operators, and a database that fails. */

import { IDBFactory } from 'fake-indexeddb';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Callback, type InitOptions, installUid2, type Uid2 } from '../../../src/page/uid2/index.ts';
import {
  answersPlain,
  answersSealed,
  createFixture,
  hangs,
  restoreGlobals,
  rotate,
  wireSet,
} from '../../session/fixtures.ts';
import { DAY, HOUR, MINUTE, until, useFakeClock } from '../../support/fixtures.ts';
import { clearPlaces, cookie, KEY, local, newSet, putCookie, putLocal } from './fixtures.ts';

const BASE_URL = 'https://operator.example';
const SHARED: InitOptions = { baseUrl: BASE_URL, useCookie: true, cookieDomain: location.hostname };
let fixture: ReturnType<typeof createFixture>;
let sdk: Uid2;
let events: string[];
const note: Callback = (event, { identity }) => {
  const token = identity?.['advertising_token'];
  events.push(token ? `${event} ${token}` : event);
};
/** What belongs to each host: its database and its local storage. */
let hosts: Map<string, { database: IDBFactory; local: [string, string][] }>;
let host: string;

/** Leave the page, and open a page of a host in the same browser. */
const visit = (next = host) => {
  sdk?.abort();
  hosts.get(host)!.local = Object.entries({ ...localStorage });
  localStorage.clear();
  host = next;
  if (!hosts.has(host)) hosts.set(host, { database: new IDBFactory(), local: [] });
  for (const [key, value] of hosts.get(host)!.local) localStorage.setItem(key, value);
  vi.stubGlobal('indexedDB', hosts.get(host)!.database);
  events = [];
  window.__uid2 = { callbacks: [note] };
  sdk = installUid2();
  return sdk;
};
const complete = async () => {
  await until(() => sdk.isInitComplete(), 'InitCompleted');
  await fixture.settle();
};
const tick = () => vi.setSystemTime(Date.now() + 1_000);

beforeEach(() => {
  useFakeClock();
  fixture = createFixture(rotate);
  vi.stubGlobal('fetch', fixture.fetch);
  vi.stubGlobal('reportError', (failure: unknown) => {
    throw failure;
  });
  host = 'one';
  hosts = new Map([[host, { database: new IDBFactory(), local: [] }]]);
  visit();
});
afterEach(() => {
  sdk.abort();
  clearPlaces();
  delete window.__uid2;
  restoreGlobals();
});

describe('a cookie that another host can set', () => {
  test('supplies no options: neither at the start nor to init', async () => {
    putCookie({ baseUrl: 'https://other.example', useCookie: true }, '__uid_2_config');
    putCookie(wireSet(1));
    visit();
    await fixture.settle();
    expect([sdk.isInitComplete(), sdk.getIdentity()]).toEqual([false, null]);
    sdk.init({ identity: wireSet(2, Date.now() - 15 * MINUTE) });
    await complete();
    expect(fixture.sent.map(({ url }) => new URL(url).host)).toEqual(['prod.uidapi.com']);
  });

  test('supplies an identity only in cookie mode', async () => {
    putCookie(wireSet(1));
    sdk.init({ baseUrl: BASE_URL });
    await complete();
    expect([sdk.getIdentity(), sdk.isLoginRequired()]).toEqual([null, true]);
    sdk.init({ useCookie: true });
    await complete();
    expect(sdk.getAdvertisingToken()).toBe('advertising-1');
  });

  test('names a cookie to erase only if this page could have set it', async () => {
    const set = vi.spyOn(Document.prototype, 'cookie', 'set');
    putCookie({ cookieDomain: 'other.example', cookiePath: '/;secure' }, '__uid_2_config');
    putLocal(wireSet(1));
    sdk.init({ baseUrl: BASE_URL, useCookie: true });
    await complete();
    sdk.disconnect();
    await fixture.settle();
    expect(set.mock.calls.filter(([row]) => row.includes('other.example;') || row.includes('/;secure'))).toEqual([]);
  });
});

test('the first init of a page replaces the options of an earlier page', async () => {
  putLocal({ baseUrl: 'https://earlier.example' }, `${KEY}_config`);
  visit();
  await complete();
  sdk.init({ identity: wireSet(1, Date.now() - 15 * MINUTE) });
  await complete();
  expect(fixture.sent.map(({ url }) => new URL(url).host)).toEqual(['prod.uidapi.com']);
});

describe('one cookie of several hosts', () => {
  test('a logout on one host holds on another', async () => {
    sdk.init({ ...SHARED, identity: wireSet(1) });
    await complete();
    visit('two').init(SHARED);
    await complete();
    expect(sdk.getAdvertisingToken()).toBe('advertising-1');
    tick();
    sdk.disconnect();
    await fixture.settle();
    expect(cookie()).toMatchObject({ status: 'logout' });
    visit('one').init(SHARED);
    expect(sdk.getAdvertisingToken()).toBeUndefined();
    await complete();
    expect([sdk.getAdvertisingToken(), sdk.isLoginRequired()]).toEqual([undefined, true]);
  });

  test('another user who signs in on one host is the user on another', async () => {
    sdk.init({ ...SHARED, identity: wireSet(1) });
    await complete();
    tick();
    visit('two').init({ ...SHARED, identity: newSet(5) });
    await complete();
    tick();
    visit('one').init(SHARED);
    await complete();
    expect([sdk.getAdvertisingToken(), cookie().advertising_token]).toEqual(['advertising-5', 'advertising-5']);
  });

  test('an opt-out on one host holds on another', async () => {
    sdk.init({ ...SHARED, identity: wireSet(1) });
    await complete();
    tick();
    visit('two').init(SHARED);
    await complete();
    sdk.setIdentity({ status: 'optout' });
    await fixture.settle();
    visit('one').init(SHARED);
    await complete();
    expect([sdk.hasOptedOut(), sdk.getAdvertisingToken()]).toEqual([true, undefined]);
  });

  test('a logout elsewhere reaches a page that is open, and is not overwritten by its refresh', async () => {
    sdk.init({ ...SHARED, identity: wireSet(1) });
    await complete();
    putCookie({ status: 'logout', tessera: Date.now() + 1 });
    tick();
    expect(sdk.getAdvertisingToken()).toBeUndefined();
    await fixture.advance(15 * MINUTE);
    expect([sdk.isLoginRequired(), cookie()]).toEqual([true, expect.objectContaining({ status: 'logout' })]);
    expect(events.at(-1)).toBe('IdentityUpdated');
  });
});

describe('a cookie that a server sets while the page is open', () => {
  test.each(['getAdvertisingToken', 'init', 'focus', 'refresh'])('is adopted at the next %s', async (when) => {
    sdk.init({ ...SHARED, identity: wireSet(1) });
    await complete();
    putCookie(newSet(7, Date.now() + MINUTE));
    if (when === 'getAdvertisingToken') sdk.getAdvertisingToken();
    if (when === 'init') sdk.init({});
    if (when === 'focus') window.dispatchEvent(new Event('focus'));
    if (when === 'refresh') await fixture.advance(15 * MINUTE);
    await fixture.settle();
    expect(events.at(-1)).toBe('IdentityUpdated advertising-7');
    expect(cookie().advertising_token).toBe('advertising-7');
  });

  test('an unchanged cookie is written once', async () => {
    const set = vi.spyOn(Document.prototype, 'cookie', 'set');
    sdk.init({ baseUrl: BASE_URL, useCookie: true, identity: wireSet(1) });
    await complete();
    visit().init({ baseUrl: BASE_URL, useCookie: true });
    await complete();
    sdk.init({});
    await fixture.settle();
    expect(set.mock.calls.filter(([row]) => row.startsWith('__uid_2=%7B'))).toHaveLength(1);
  });
});

describe('another operator', () => {
  test.each(['a later page', 'the same page'])('named by %s keeps the user signed in', async (who) => {
    sdk.init({ baseUrl: BASE_URL, identity: wireSet(1) });
    await complete();
    if (who === 'a later page') {
      localStorage.removeItem(KEY);
      visit();
    }
    sdk.init({ baseUrl: 'https://other.example' });
    await complete();
    expect(sdk.getAdvertisingToken()).toBe('advertising-1');
    await fixture.advance(15 * MINUTE);
    expect(fixture.sent.map(({ url }) => new URL(url).host)).toEqual(['other.example']);
  });

  test('a second init never makes a signed-in page look signed out', async () => {
    sdk.init({ baseUrl: BASE_URL, identity: wireSet(1) });
    await complete();
    sdk.init({ baseUrl: 'https://other.example' });
    const seen = new Set<unknown>();
    const look = () =>
      seen.add(JSON.stringify([sdk.getAdvertisingToken(), sdk.isLoginRequired(), sdk.isInitComplete()]));
    look();
    for (let turn = 0; turn < 200; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
      look();
    }
    expect([...seen]).toEqual(['["advertising-1",false,true]']);
    expect(events).toEqual(['SdkLoaded', 'InitCompleted advertising-1']);
  });
});

describe('the end of the refresh token', () => {
  test.each(['expired_token', 'invalid_token'])(
    '%s emits IdentityUpdated, clears the places, asks for a login',
    async (status) => {
      sdk.init({ ...SHARED, identity: wireSet(1) });
      await complete();
      const heard: number[] = [];
      sdk.init({ callback: ({ status: code }) => heard.push(code) });
      fixture.serve(answersPlain(400, { status }));
      await fixture.advance(16 * MINUTE);
      expect(events.at(-1)).toBe('IdentityUpdated advertising-1');
      expect([sdk.isLoginRequired(), cookie(), local()]).toEqual([true, undefined, null]);
      expect(heard).toEqual([-3]);
    },
  );

  test('past refresh_expires a login is required at once, and the legacy status is -3', async () => {
    const heard: number[] = [];
    fixture.serve(hangs);
    sdk.init({
      baseUrl: BASE_URL,
      identity: wireSet(1, Date.now() - 2 * DAY),
      callback: ({ status }) => heard.push(status),
    });
    expect(sdk.isLoginRequired()).toBe(true);
    await complete();
    expect([sdk.isLoginRequired(), heard]).toEqual([true, [-3]]);
  });
});

test('every legacy callback of several calls of init is called', async () => {
  const heard: string[] = [];
  sdk.init({ baseUrl: BASE_URL, identity: wireSet(1), callback: () => heard.push('first') });
  sdk.init({ callback: () => heard.push('second') });
  await complete();
  expect(heard).toEqual(['first', 'second']);
});

describe('in the same task as init', () => {
  test('a later page answers from the copy', async () => {
    sdk.init({ baseUrl: BASE_URL, identity: wireSet(1) });
    await complete();
    visit().init({ baseUrl: BASE_URL });
    expect([sdk.getAdvertisingToken(), sdk.isLoginRequired(), sdk.getIdentity()]).toEqual([
      'advertising-1',
      false,
      expect.objectContaining(wireSet(1)),
    ]);
  });

  test('a page without an identity asks for a login', () => {
    sdk.init({ baseUrl: BASE_URL });
    expect([sdk.isLoginRequired(), sdk.isIdentityAvailable(), sdk.hasOptedOut()]).toEqual([true, false, false]);
  });

  test('a later page knows that the copy has expired, and that a refresh may bring a token', async () => {
    sdk.init({ baseUrl: BASE_URL, identity: wireSet(1) });
    await complete();
    sdk.abort();
    vi.setSystemTime(Date.now() + 2 * HOUR);
    visit().init({ baseUrl: BASE_URL });
    expect([sdk.getAdvertisingToken(), sdk.isLoginRequired()]).toEqual([undefined, false]);
  });

  test('a later page knows of an opt-out', async () => {
    fixture.serve(answersSealed({ status: 'optout' }));
    sdk.init({ baseUrl: BASE_URL, identity: wireSet(1) });
    await complete();
    await fixture.advance(15 * MINUTE);
    visit().init({ baseUrl: BASE_URL });
    expect([sdk.hasOptedOut(), sdk.isLoginRequired()]).toEqual([true, false]);
  });
});

describe('a database', () => {
  const neverAnswers = () => {
    const open = vi.fn(() => ({}) as IDBOpenDBRequest);
    vi.stubGlobal('indexedDB', { open });
  };

  test('that is missing keeps the user signed in through the copy', async () => {
    vi.stubGlobal('indexedDB', undefined);
    Reflect.deleteProperty(globalThis, 'indexedDB');
    sdk.init({ baseUrl: BASE_URL, identity: wireSet(1) });
    await complete();
    await fixture.advance(15 * MINUTE);
    visit().init({ baseUrl: BASE_URL });
    await complete();
    expect(sdk.getAdvertisingToken()).toBe('advertising-2');
  });

  test('that hangs does not hold up InitCompleted if there is a copy', async () => {
    sdk.init({ baseUrl: BASE_URL, identity: wireSet(1) });
    await complete();
    visit();
    neverAnswers();
    sdk.init({ baseUrl: BASE_URL });
    const before = Date.now();
    await vi.advanceTimersByTimeAsync(250);
    expect(events).toEqual(['SdkLoaded', 'InitCompleted advertising-1']);
    expect(Date.now() - before).toBe(250);
  });

  test('that hangs after the first read: the cookie follows another user, and the refreshes', async () => {
    sdk.init({ ...SHARED, identity: wireSet(1) });
    await complete();
    const { IDBDatabase } = globalThis;
    const transaction = vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementation(() => {
      throw new DOMException('gone', 'InvalidStateError');
    });
    tick();
    sdk.setIdentity(newSet(5));
    await fixture.settle();
    expect([sdk.getAdvertisingToken(), cookie().advertising_token]).toEqual(['advertising-5', 'advertising-5']);
    await fixture.advance(15 * MINUTE);
    expect([sdk.getAdvertisingToken(), cookie().advertising_token]).toEqual(['advertising-6', 'advertising-6']);
    transaction.mockRestore();
    tick();
    visit().init(SHARED);
    await complete();
    expect(sdk.getAdvertisingToken()).toBe('advertising-6');
  });

  test('that fails at a logout does not sign the user in again on a later page', async () => {
    sdk.init({ baseUrl: BASE_URL, identity: wireSet(1) });
    await complete();
    const transaction = vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementation(() => {
      throw new DOMException('gone', 'InvalidStateError');
    });
    tick();
    sdk.disconnect();
    await fixture.settle();
    transaction.mockRestore();
    visit().init({ baseUrl: BASE_URL });
    await complete();
    expect([sdk.getAdvertisingToken(), sdk.isLoginRequired()]).toEqual([undefined, true]);
  });
});

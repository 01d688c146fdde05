/** The drop-in with several hosts, changing or hostile cookies, other operators, wrong clocks, and a database that fails. */

import { IDBFactory } from 'fake-indexeddb';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Callback, type InitOptions, installUid2, type Uid2 } from '../../../src/page/uid2/index.ts';
import {
  answersPlain,
  answersSealed,
  createFixture,
  dispatch,
  hangs,
  offline,
  restoreGlobals,
  rotate,
  sealedFor,
  setVisible,
  success,
  wireSet,
} from '../../session/fixtures.ts';
import { DAY, HOUR, MINUTE, START, until, useFakeClock } from '../../support/clock.ts';
import { throwing } from '../../support/throwing.ts';
import {
  clearPlaces,
  cookie,
  KEY,
  local,
  logoutMark,
  newSet,
  putCookie,
  putLocal,
  replaceSetItem,
  setCookie,
} from './fixtures.ts';

const BASE_URL = 'https://operator.example';
const COOKIE: InitOptions = { baseUrl: BASE_URL, useCookie: true };
const SHARED: InitOptions = { ...COOKIE, cookieDomain: location.hostname };
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
const start = async (options: InitOptions) => {
  sdk.init(options);
  await complete();
};
const startNext = async (options: InitOptions, next?: string) => {
  visit(next);
  await start(options);
};
const signIn = async (identity: object) => {
  sdk.setIdentity(identity);
  await fixture.settle();
};
const logOut = async () => {
  sdk.disconnect();
  await fixture.settle();
};
const tick = () => vi.setSystemTime(Date.now() + 1_000);
const removeDatabase = () => {
  vi.stubGlobal('indexedDB', undefined);
  Reflect.deleteProperty(globalThis, 'indexedDB');
};
const hangDatabase = () => vi.stubGlobal('indexedDB', { open: () => ({}) as IDBOpenDBRequest });

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
afterEach(async () => {
  sdk.abort();
  clearPlaces();
  delete window.__uid2;
  await restoreGlobals();
});

describe('a cookie that another host can set', () => {
  test('supplies no options: neither at the start nor to init', async () => {
    putCookie({ baseUrl: 'https://other.example', useCookie: true }, '__uid_2_config');
    putCookie(wireSet(1));
    visit();
    await fixture.settle();
    expect([sdk.isInitComplete(), sdk.getIdentity()]).toEqual([false, null]);
    await start({ identity: wireSet(2, Date.now() - 15 * MINUTE) });
    expect(fixture.sent.map(({ url }) => new URL(url).host)).toEqual(['prod.uidapi.com']);
  });

  test('supplies an identity only in cookie mode, which a later call of init may start', async () => {
    putCookie(wireSet(1));
    await start({ baseUrl: BASE_URL });
    expect([sdk.getIdentity(), sdk.isLoginRequired()]).toEqual([null, true]);
    await start({ useCookie: true });
    expect(sdk.getAdvertisingToken()).toBe('advertising-1');
  });

  test('names a cookie to erase only if this page could have set it', async () => {
    const set = vi.spyOn(document, 'cookie', 'set');
    putCookie({ cookieDomain: 'other.example', cookiePath: '/;secure' }, '__uid_2_config');
    putLocal(wireSet(1));
    await start(COOKIE);
    await logOut();
    expect(set.mock.calls.filter(([row]) => row.includes('other.example;') || row.includes('/;secure'))).toEqual([]);
  });
});

test.each(['', undefined, false])(
  'a script of the page that has replaced document.cookie, to block cookies before consent, is not bypassed: it answers %o',
  async (answer) => {
    const native = vi.spyOn(Document.prototype, 'cookie', 'set');
    const rows: string[] = [];
    const set = (row: string) => void rows.push(row);
    Object.defineProperty(document, 'cookie', { configurable: true, get: () => answer, set });
    await start({ ...COOKIE, identity: wireSet(1) });
    Reflect.deleteProperty(document, 'cookie');
    expect(native).not.toHaveBeenCalled();
    expect(rows.some((row) => row.startsWith('__uid_2=%7B'))).toBe(true);
    // The browser has no cookie: the copy is in local storage.
    expect([sdk.getAdvertisingToken(), local().advertising_token]).toEqual(['advertising-1', 'advertising-1']);
  },
);

describe('one cookie of several hosts', () => {
  test('an opt-out on one host applies on another', async () => {
    await start({ ...SHARED, identity: wireSet(1) });
    tick();
    await startNext(SHARED, 'two');
    await signIn({ status: 'optout' });
    await startNext(SHARED, 'one');
    expect([sdk.hasOptedOut(), sdk.getAdvertisingToken()]).toEqual([true, undefined]);
  });

  test('a logout elsewhere reaches an open page, and is not overwritten by its refresh', async () => {
    await start({ ...SHARED, identity: wireSet(1) });
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
    await start({ ...SHARED, identity: wireSet(1) });
    putCookie(newSet(7, Date.now() + MINUTE));
    if (when === 'getAdvertisingToken') sdk.getAdvertisingToken();
    if (when === 'init') sdk.init({});
    if (when === 'focus') window.dispatchEvent(new Event('focus'));
    if (when === 'refresh') await fixture.advance(15 * MINUTE);
    await fixture.settle();
    expect(events.at(-1)).toBe('IdentityUpdated advertising-7');
    expect(cookie().advertising_token).toBe('advertising-7');
  });

  test('an unchanged cookie is not written again', async () => {
    await start({ ...COOKIE, identity: wireSet(1) });
    const set = vi.spyOn(document, 'cookie', 'set');
    await startNext(COOKIE);
    sdk.init({});
    await fixture.settle();
    expect(set).not.toHaveBeenCalled();
  });

  test('an unchanged mark is not written again, however late', async () => {
    await start({ ...SHARED, identity: wireSet(1) });
    await logOut();
    const set = vi.spyOn(document, 'cookie', 'set');
    const written: string[] = [];
    replaceSetItem((key, _, write) => {
      written.push(key);
      write();
    });
    for (const pass of [tick, () => vi.setSystemTime(Date.now() + DAY)]) {
      pass();
      sdk.init({});
      await fixture.settle();
    }
    expect([set.mock.calls, written.filter((key) => key === KEY)]).toEqual([[], []]);
  });

  test('set during a refresh, it is not overwritten by the answer', async () => {
    await start({ ...COOKIE, identity: wireSet(1) });
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    fixture.serve(async (request) => released.then(() => rotate(request)));
    await fixture.advance(16 * MINUTE);
    putCookie(newSet(7, Date.now() + MINUTE));
    release();
    await fixture.settle();
    expect([sdk.getAdvertisingToken(), cookie().advertising_token]).toEqual(['advertising-7', 'advertising-7']);
  });

  describe('set between two pages, it counts although it ends before every earlier set', () => {
    const arrive = async () => {
      await startNext(COOKIE);
      return [sdk.getAdvertisingToken(), sdk.isLoginRequired(), cookie()?.advertising_token];
    };
    const signedIn = (n: number) => [`advertising-${n}`, false, `advertising-${n}`];
    beforeEach(async () => {
      await start({ ...COOKIE, identity: wireSet(1) });
      tick();
    });

    test('of another user', async () => {
      putCookie(newSet(7, START - 10 * MINUTE));
      expect(await arrive()).toEqual(signedIn(7));
    });

    test.each([
      ['of another user', 7, newSet(7, START - 10 * MINUTE)],
      ['the same set again', 1, wireSet(1, START)],
    ] as const)('%s, after a logout', async (_, n, set) => {
      await logOut();
      tick();
      putCookie(set);
      expect(await arrive()).toEqual(signedIn(n));
    });
  });

  test('of a user whom it has set before, it signs that user in again', async () => {
    await start(COOKIE);
    for (const n of [1, 5, 1]) {
      putCookie({ ...newSet(n), identity_expires: Date.now() + HOUR + n });
      sdk.getIdentity();
      await fixture.settle();
      expect([sdk.getAdvertisingToken(), cookie()]).toMatchObject([
        `advertising-${n}`,
        { advertising_token: `advertising-${n}`, tessera: expect.any(Number) },
      ]);
      tick();
    }
  });

  test('rewritten, it is there all the time', async () => {
    await start({ ...COOKIE, identity: wireSet(1) });
    const rows: string[] = [];
    vi.spyOn(document, 'cookie', 'set').mockImplementation((row) => void rows.push(row));
    await signIn(newSet(7));
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.filter((row) => row.startsWith('__uid_2=;'))).toEqual([]);
  });
});

describe('a hostile cookie in cookie mode', () => {
  const set = wireSet(3, START);
  test.each<object>([
    { status: { toString: 1 }, tessera: {} },
    { status: 'logout', tessera: { valueOf: 1 } },
    { status: 'logout', tessera: { toString: 1, valueOf: 1 } },
    { status: 'logout', tessera: '__proto__' },
    { status: 'optout', body: null, tessera: -1 },
    { status: 'success', body: null },
    { status: 'x'.repeat(3_000) },
    [[[]]],
    { ...set, tessera: { at: 1 } },
    { ...set, tessera: '-Infinity' },
    { ...set, refresh_expires: { valueOf: 1 } },
  ])('changes nothing: %j', async (value) => {
    await start({ ...COOKIE, identity: wireSet(1) });
    putCookie(value);
    sdk.getAdvertisingToken();
    await fixture.settle();
    await startNext(COOKIE);
    expect([sdk.getAdvertisingToken(), cookie().advertising_token]).toEqual(['advertising-1', 'advertising-1']);
  });

  test('with members of a prototype changes no prototype', async () => {
    setCookie(
      `__uid_2=${encodeURIComponent('{"__proto__":{"advertising_token":"x"},"constructor":{"prototype":{"y":1}}}')}`,
    );
    await start(COOKIE);
    const empty: Record<string, unknown> = {};
    expect([sdk.getIdentity(), empty['advertising_token'], empty['y']]).toEqual([null, undefined, undefined]);
  });

  test.each([Number.MAX_SAFE_INTEGER, 1e300])(
    'of the time %d prevents neither a login nor a logout',
    async (tessera) => {
      await start({ ...SHARED, identity: wireSet(1) });
      putCookie({ status: 'logout', tessera });
      expect(sdk.getAdvertisingToken()).toBe('advertising-1');
      await fixture.settle();
      tick();
      await signIn(newSet(9));
      await startNext(SHARED, 'two');
      expect(sdk.getAdvertisingToken()).toBe('advertising-9');
      tick();
      await logOut();
      await startNext(SHARED, 'one');
      expect([sdk.getAdvertisingToken(), sdk.isLoginRequired()]).toEqual([undefined, true]);
    },
  );
});

describe('what the page does', () => {
  test.each([
    ['the cookie', COOKIE, cookie],
    ['local storage', { baseUrl: BASE_URL }, local],
  ] as const)('setIdentity is in %s in the same task: the next request may carry it', async (_, options, read) => {
    await start({ ...options, identity: wireSet(1) });
    sdk.setIdentity(newSet(5));
    expect(read().advertising_token).toBe('advertising-5');
    expect(sdk.getIdentity()).toEqual(newSet(5));
    sdk.setIdentity({ status: 'optout' });
    expect(read().status).toBe('optout');
    fixture.serve(hangs);
    sdk.setIdentity(newSet(6));
    expect(read().status).toBe('optout');
  });

  test('outlasts a page that is left before the database has answered', async () => {
    sdk.init({ ...SHARED, identity: wireSet(1) });
    visit().init(SHARED);
    expect(sdk.getAdvertisingToken()).toBe('advertising-1');
    await complete();
    tick();
    sdk.disconnect();
    sdk.setIdentity(newSet(5));
    visit().init(SHARED);
    expect(sdk.getAdvertisingToken()).toBe('advertising-5');
    await complete();
    expect([sdk.getAdvertisingToken(), cookie().advertising_token]).toEqual(['advertising-5', 'advertising-5']);
  });

  test('by init on a cached page does not sign in again with a set that has ended', async () => {
    fixture.serve(answersPlain(400, { status: 'expired_token' }));
    const cached = wireSet(1);
    await start({ baseUrl: BASE_URL, identity: cached });
    await fixture.advance(16 * MINUTE);
    await startNext({ baseUrl: BASE_URL, identity: cached });
    expect([sdk.isLoginRequired(), local(), fixture.sent.length]).toEqual([true, null, 1]);
  });

  test('may come from callbacks: each change is emitted once', async () => {
    sdk.callbacks.push((event) => {
      if (event === 'InitCompleted' && events.length === 3) sdk.setIdentity(newSet(5));
      if (event === 'IdentityUpdated' && sdk.getIdentity()) sdk.disconnect();
      if (event === 'IdentityUpdated' && events.length > 2) sdk.init({});
    });
    await start(COOKIE);
    expect(events).toEqual([
      'SdkLoaded',
      'IdentityUpdated',
      'InitCompleted',
      'IdentityUpdated advertising-5',
      'InitCompleted',
      'IdentityUpdated',
      'InitCompleted',
    ]);
  });

  test('leaves only the options of the contract for a later page', async () => {
    await start({ ...COOKIE, email: 'reader@page.example' } as InitOptions);
    expect(JSON.parse(localStorage.getItem(`${KEY}_config`)!)).toEqual(COOKIE);
  });

  test('with damaged options of an earlier page: they read as none', async () => {
    putLocal({ baseUrl: 'nonsense', refreshRetryPeriod: 'often' }, `${KEY}_config`);
    visit();
    await fixture.settle();
    expect(sdk.isInitComplete()).toBe(false);
    await start({ baseUrl: BASE_URL, identity: wireSet(1) });
    expect(sdk.getAdvertisingToken()).toBe('advertising-1');
  });
});

describe('a clock', () => {
  test('two days ahead: the set that the service answers is in force, and kept', async () => {
    const date = new Date();
    const headers = { date: date.toUTCString() };
    fixture.serve(({ n }) => new Response(sealedFor(n, JSON.stringify(success(n + 1, Number(date)))), { headers }));
    vi.setSystemTime(Date.now() + 2 * DAY);
    await start({ baseUrl: BASE_URL, identity: wireSet(1, Number(date)) });
    expect([sdk.getAdvertisingToken(), sdk.isLoginRequired(), sdk.isIdentityAvailable()]).toEqual([
      'advertising-2',
      false,
      true,
    ]);
    expect(local()).toMatchObject({ advertising_token: 'advertising-2' });
    await startNext({ baseUrl: BASE_URL });
    expect([sdk.getAdvertisingToken(), sdk.isLoginRequired()]).toEqual(['advertising-2', false]);
    sdk.setIdentity(wireSet(6, Number(date)));
    // Not written yet.
    expect([sdk.getAdvertisingToken(), sdk.isLoginRequired(), sdk.isIdentityAvailable()]).toEqual([
      'advertising-6',
      false,
      true,
    ]);
  });

  test('set to 1970 between two pages: no token is given out, not even briefly', async () => {
    await start({ baseUrl: BASE_URL, identity: wireSet(1) });
    sdk.abort();
    vi.setSystemTime(1_000);
    const seen = new Set<unknown>();
    visit().init({ baseUrl: BASE_URL });
    await until(() => seen.add(sdk.getAdvertisingToken()) && sdk.isInitComplete());
    expect([[...seen], sdk.isLoginRequired()]).toEqual([[undefined], false]);
  });

  test('set to 1970 under an open page causes no write to database or cookie', async () => {
    await start({ ...SHARED, identity: wireSet(1) });
    const set = vi.spyOn(document, 'cookie', 'set');
    const put = vi.spyOn(IDBObjectStore.prototype, 'put');
    vi.setSystemTime(1_000);
    for (let turn = 0; turn < 20; turn++) {
      sdk.getAdvertisingToken();
      setVisible(true);
      await fixture.settle();
    }
    expect([put.mock.calls.length, set.mock.calls.length, sdk.getAdvertisingToken()]).toEqual([0, 0, 'advertising-1']);
  });

  test('set to 1970: a logout, then a login, hold on another host', async () => {
    await start({ ...SHARED, identity: wireSet(1) });
    vi.setSystemTime(1_000);
    await logOut();
    await startNext(SHARED, 'two');
    expect(sdk.getAdvertisingToken()).toBeUndefined();
    await startNext(SHARED, 'one');
    await signIn(newSet(8, START));
    await startNext(SHARED, 'two');
    expect(cookie()).toMatchObject({ advertising_token: 'advertising-8' });
  });
});

describe('another operator', () => {
  test.each(['a later page', 'the same page'])('named by %s keeps the user signed in', async (who) => {
    await start({ baseUrl: BASE_URL, identity: wireSet(1) });
    if (who === 'a later page') {
      localStorage.removeItem(KEY);
      visit();
    }
    await start({ baseUrl: 'https://other.example' });
    expect(sdk.getAdvertisingToken()).toBe('advertising-1');
    await fixture.advance(15 * MINUTE);
    expect(fixture.sent.map(({ url }) => new URL(url).host)).toEqual(['other.example']);
  });

  test('is asked although the former one has refused the set', async () => {
    fixture.serve((request) =>
      request.url.startsWith(BASE_URL) ? new Response('', { status: 404 }) : rotate(request),
    );
    await start({ baseUrl: BASE_URL, identity: wireSet(1) });
    await fixture.advance(45 * MINUTE);
    await start({ baseUrl: 'https://other.example' });
    await fixture.advance(MINUTE);
    expect(sdk.getAdvertisingToken()).toBe('advertising-2');
  });

  test('a second init never makes a signed-in page look signed out', async () => {
    await start({ baseUrl: BASE_URL, identity: wireSet(1) });
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
    expect(events).toEqual(['SdkLoaded', 'InitCompleted advertising-1', 'InitCompleted advertising-1']);
  });
});

describe('the end of the refresh token', () => {
  test.each(['expired_token', 'invalid_token'])(
    '%s emits IdentityUpdated, clears the places, asks for a login',
    async (status) => {
      await start({ ...SHARED, identity: wireSet(1) });
      const heard: number[] = [];
      sdk.init({ callback: ({ status: code }) => heard.push(code) });
      fixture.serve(answersPlain(400, { status }));
      await fixture.advance(16 * MINUTE);
      expect(events.at(-1)).toBe('IdentityUpdated advertising-1');
      expect([sdk.isLoginRequired(), cookie(), local()]).toEqual([true, undefined, null]);
      expect(heard).toEqual([-3]);
    },
  );

  test('while the service is unreachable the page is notified, and the places are cleared', async () => {
    const heard: number[] = [];
    await start({ baseUrl: BASE_URL, identity: wireSet(1), callback: ({ status }) => heard.push(status) });
    fixture.serve(offline);
    // The session tries again after some 2 minutes at most.
    await fixture.advance(DAY + 10 * MINUTE);
    expect([sdk.isLoginRequired(), heard, local()]).toEqual([true, [0, 100, -3], null]);
  });
});

test('every legacy callback of several calls of init is called', async () => {
  const heard: string[] = [];
  sdk.init({ baseUrl: BASE_URL, identity: wireSet(1), callback: () => heard.push('first') });
  await start({ callback: () => heard.push('second') });
  expect(heard).toEqual(['first', 'second']);
});

describe('in the same task as init', () => {
  test('a page without an identity asks for a login', () => {
    sdk.init({ baseUrl: BASE_URL });
    expect([sdk.isLoginRequired(), sdk.isIdentityAvailable(), sdk.hasOptedOut()]).toEqual([true, false, false]);
  });

  test('a later page knows that the copy has expired, and that a refresh may bring a token', async () => {
    await start({ baseUrl: BASE_URL, identity: wireSet(1) });
    sdk.abort();
    vi.setSystemTime(Date.now() + 2 * HOUR);
    visit().init({ baseUrl: BASE_URL });
    expect([sdk.getAdvertisingToken(), sdk.isLoginRequired()]).toEqual([undefined, false]);
  });

  test.each(['a cookie', 'init'])(
    'after a logout, a login by the server through %s is not asked for again',
    async (by) => {
      await start({ ...COOKIE, identity: wireSet(1) });
      tick();
      await logOut();
      if (by === 'a cookie') putCookie(newSet(7));
      visit().init({ ...COOKIE, ...(by === 'init' && { identity: newSet(7) }) });
      // Whether it is an old set, only the record tells.
      expect([sdk.isLoginRequired(), sdk.getAdvertisingToken(), sdk.getIdentity()]).toEqual([false, undefined, null]);
      await complete();
      expect([sdk.isLoginRequired(), events]).toEqual([false, ['SdkLoaded', 'InitCompleted advertising-7']]);
    },
  );

  test.each(['logs out', 'is logged out'])('setIdentity is in force at once on a page that %s', async (page) => {
    await start({ ...SHARED, identity: wireSet(1) });
    tick();
    if (page === 'is logged out') await logOut();
    visit().init(SHARED);
    if (page === 'logs out') sdk.disconnect();
    sdk.setIdentity(newSet(5));
    expect([sdk.getAdvertisingToken(), sdk.isLoginRequired()]).toEqual(['advertising-5', false]);
    await complete();
    await fixture.settle();
    expect([sdk.getAdvertisingToken(), cookie().advertising_token]).toEqual(['advertising-5', 'advertising-5']);
    expect(events.at(-1)).toBe('IdentityUpdated advertising-5');
  });

  test('a later page knows of an opt-out', async () => {
    fixture.serve(answersSealed({ status: 'optout' }));
    await start({ baseUrl: BASE_URL, identity: wireSet(1) });
    await fixture.advance(15 * MINUTE);
    visit().init({ baseUrl: BASE_URL });
    expect([sdk.hasOptedOut(), sdk.isLoginRequired()]).toEqual([true, false]);
  });
});

describe('a database', () => {
  test('that is missing keeps the user signed in through the copy', async () => {
    removeDatabase();
    await start({ baseUrl: BASE_URL, identity: wireSet(1) });
    await fixture.advance(15 * MINUTE);
    visit();
    removeDatabase();
    await start({ baseUrl: BASE_URL });
    expect(sdk.getAdvertisingToken()).toBe('advertising-2');
  });

  test('that is missing on every host: a logout on one holds on the others', async () => {
    removeDatabase();
    await start({ ...SHARED, identity: wireSet(1) });
    for (const next of ['two', 'one']) {
      visit(next);
      removeDatabase();
      await start(SHARED);
      expect(sdk.getAdvertisingToken()).toBe(next === 'two' ? 'advertising-1' : undefined);
      tick();
      await logOut();
    }
  });

  test('that is missing, and a cookie that the browser refuses: the former value is not lost', async () => {
    const refused: InitOptions = { ...COOKIE, cookieDomain: 'other.example' };
    putLocal(wireSet(1));
    removeDatabase();
    await start(refused);
    visit();
    removeDatabase();
    sdk.init(refused);
    expect([sdk.getAdvertisingToken(), cookie()]).toEqual(['advertising-1', undefined]);
    await complete();
    sdk.disconnect();
    expect([local(), logoutMark()]).toMatchObject([null, { status: 'logout' }]);
  });

  test('that is missing, like local storage: the cookie keeps the user signed in', async () => {
    removeDatabase();
    vi.stubGlobal('localStorage', undefined);
    await start({ ...COOKIE, identity: wireSet(1) });
    sdk.abort();
    delete window.__uid2;
    sdk = installUid2();
    await start(COOKIE);
    expect(sdk.getAdvertisingToken()).toBe('advertising-1');
    await logOut();
    expect([sdk.getAdvertisingToken(), cookie()]).toEqual([undefined, undefined]);
    vi.unstubAllGlobals();
  });

  test.each<readonly [what: string, fail: () => void]>([
    ['a full local storage', throwing(new DOMException('full', 'QuotaExceededError'))],
    ['a script that lets nothing be written', () => {}],
  ])('that is missing, and %s: the previous user does not return on a later page', async (_, fail) => {
    removeDatabase();
    await start({ baseUrl: BASE_URL, identity: wireSet(1) });
    const makeRoom = replaceSetItem(fail);
    tick();
    await signIn(newSet(5));
    expect(sdk.getAdvertisingToken()).toBe('advertising-5');
    makeRoom();
    visit();
    removeDatabase();
    await start({ baseUrl: BASE_URL });
    expect([sdk.getAdvertisingToken(), sdk.isLoginRequired()]).toEqual([undefined, true]);
  });

  test('that hangs does not delay InitCompleted if there is a copy', async () => {
    await start({ baseUrl: BASE_URL, identity: wireSet(1) });
    visit();
    hangDatabase();
    sdk.init({ baseUrl: BASE_URL });
    const before = Date.now();
    await expect(sdk.getAdvertisingTokenAsync()).resolves.toBe('advertising-1');
    expect(Date.now() - before).toBe(0);
    await vi.advanceTimersByTimeAsync(250);
    expect(events).toEqual(['SdkLoaded advertising-1', 'InitCompleted advertising-1']);
    expect(Date.now() - before).toBe(250);
  });

  test('that hangs from the start does not delay a first sign-in', async () => {
    hangDatabase();
    sdk.init({ ...COOKIE, identity: wireSet(1) });
    expect(cookie()).toMatchObject({ advertising_token: 'advertising-1' });
    await vi.advanceTimersByTimeAsync(250);
    expect(events).toEqual(['SdkLoaded', 'InitCompleted advertising-1']);
  });

  test('that hangs from the start: the identity of a cached page does not replace a newer copy', async () => {
    await start({ ...COOKIE, identity: wireSet(1) });
    tick();
    sdk.setIdentity(newSet(5));
    await complete();
    tick();
    visit();
    hangDatabase();
    sdk.init({ ...COOKIE, identity: wireSet(1, START) });
    await vi.advanceTimersByTimeAsync(5_000);
    expect([sdk.getAdvertisingToken(), cookie().advertising_token]).toEqual(['advertising-5', 'advertising-5']);
  });

  test('that hangs at a switch of user: the cookie has the new one at once', async () => {
    await start({ ...COOKIE, identity: wireSet(1) });
    const table = { get: () => ({}), put: () => ({}) };
    vi.spyOn(IDBDatabase.prototype, 'transaction').mockReturnValue({ objectStore: () => table } as never);
    sdk.setIdentity(newSet(5));
    await vi.advanceTimersByTimeAsync(100);
    expect([sdk.getAdvertisingToken(), cookie().advertising_token]).toEqual(['advertising-5', 'advertising-5']);
  });

  test('that hangs after the first read: the cookie follows another user, and the refreshes', async () => {
    await start({ ...SHARED, identity: wireSet(1) });
    const { IDBDatabase } = globalThis;
    const transaction = vi
      .spyOn(IDBDatabase.prototype, 'transaction')
      .mockImplementation(throwing(new DOMException('gone', 'InvalidStateError')));
    tick();
    await signIn(newSet(5));
    expect([sdk.getAdvertisingToken(), cookie().advertising_token]).toEqual(['advertising-5', 'advertising-5']);
    await fixture.advance(15 * MINUTE);
    expect([sdk.getAdvertisingToken(), cookie().advertising_token]).toEqual(['advertising-6', 'advertising-6']);
    transaction.mockRestore();
    tick();
    await startNext(SHARED);
    expect(sdk.getAdvertisingToken()).toBe('advertising-6');
  });

  test('that fails at a logout does not sign the user in again on a later page', async () => {
    await start({ baseUrl: BASE_URL, identity: wireSet(1) });
    const transaction = vi
      .spyOn(IDBDatabase.prototype, 'transaction')
      .mockImplementation(throwing(new DOMException('gone', 'InvalidStateError')));
    tick();
    await logOut();
    transaction.mockRestore();
    await startNext({ baseUrl: BASE_URL });
    expect([sdk.getAdvertisingToken(), sdk.isLoginRequired()]).toEqual([undefined, true]);
  });
});

describe('a page that was hidden, and whose record has not been read again', () => {
  const hide = async (how: string) => {
    if (how === 'hidden') {
      setVisible(false);
      await vi.advanceTimersByTimeAsync(3_000);
      await fixture.settle();
    } else {
      dispatch('pagehide');
      await fixture.settle();
    }
  };
  const show = (how: string) => (how === 'hidden' ? setVisible(true) : dispatch('pageshow'));
  const answers = () => [
    sdk.getAdvertisingToken(),
    sdk.getIdentity()?.['advertising_token'],
    sdk.isLoginRequired(),
    sdk.isIdentityAvailable(),
    sdk.hasOptedOut(),
  ];

  test.each([
    ['hidden', { baseUrl: BASE_URL }],
    ['hidden', COOKIE],
    ['cached', { baseUrl: BASE_URL }],
  ])('%s: answers with the identity, options %j', async (how, options) => {
    await start({ ...options, identity: wireSet(1) });
    await hide(how);
    show(how);
    expect(answers()).toEqual(['advertising-1', 'advertising-1', false, true, false]);
    await fixture.settle();
    expect(answers()).toEqual(['advertising-1', 'advertising-1', false, true, false]);
    // Whether there is a token never changed.
    expect(events).toEqual(['SdkLoaded', 'InitCompleted advertising-1']);
  });

  test.each([
    ['logout', [undefined, undefined, true, false, false]],
    ['optout', [undefined, undefined, false, true, true]],
  ])("another tab's tombstone of a %s counts", async (status, expected) => {
    await start({ baseUrl: BASE_URL, identity: wireSet(1) });
    await hide('hidden');
    putLocal({ status, tessera: Date.now() });
    show('hidden');
    expect(answers()).toEqual(expected);
  });

  test('keeps an opt-out', async () => {
    await start({ baseUrl: BASE_URL, identity: wireSet(1) });
    fixture.serve(answersSealed({ status: 'optout' }));
    await fixture.advance(16 * MINUTE);
    await hide('hidden');
    localStorage.removeItem(KEY);
    show('hidden');
    expect(answers()).toEqual([undefined, undefined, false, true, true]);
  });

  test('a database that hangs then causes no event', async () => {
    await start({ baseUrl: BASE_URL });
    visit();
    const { indexedDB } = globalThis;
    sdk.init({ baseUrl: BASE_URL, identity: wireSet(1) });
    await fixture.settle();
    expect(events.at(-1)).toBe('InitCompleted advertising-1');
    dispatch('pagehide');
    await fixture.settle();
    hangDatabase();
    dispatch('pageshow');
    await vi.advanceTimersByTimeAsync(250);
    expect(events).toEqual(['SdkLoaded', 'InitCompleted advertising-1']);
    vi.stubGlobal('indexedDB', indexedDB);
  });
});

test('in random sequences on two hosts, the last login or logout applies on both', async () => {
  let seed = 1;
  /** A whole number below `limit`: the same ones in every run. */
  const random = (limit: number) => {
    seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff;
    return (seed >> 8) % limit;
  };
  for (let sequence = 0; sequence < 40; sequence++) {
    sdk.abort();
    clearPlaces();
    hosts = new Map([['one', { database: new IDBFactory(), local: [] }]]);
    host = 'one';
    vi.setSystemTime(START + sequence * DAY);
    await startNext(SHARED);
    let expected: string | undefined;
    const acts: string[] = [];
    for (let n = 10; n < 20; n++) {
      tick();
      const act = ['setIdentity', 'disconnect', 'server', 'visit', 'visit', 'leave', 'settle', 'focus'][random(8)]!;
      acts.push(act);
      if (act === 'setIdentity') sdk.setIdentity(newSet(n));
      if (act === 'server') putCookie(newSet(n));
      if (act === 'setIdentity' || act === 'server') expected = `advertising-${n}`;
      if (act === 'disconnect') {
        sdk.disconnect();
        expected = undefined;
      }
      // A page that is left without a look at the cookie leaves it for the next one.
      if (act !== 'leave' && act !== 'setIdentity' && act !== 'disconnect') {
        window.dispatchEvent(new Event('focus'));
        await fixture.settle();
      }
      if (act === 'visit' || act === 'leave') {
        visit(['one', 'two'][random(2)]).init(SHARED);
        expect([acts, sdk.getAdvertisingToken()]).toEqual([acts, expected]);
        await complete();
      }
    }
    await fixture.settle();
    for (const each of ['one', 'two']) {
      await startNext(SHARED, each);
      const found = [sdk.getAdvertisingToken(), sdk.isLoginRequired(), cookie()?.advertising_token];
      expect([acts, each, ...found]).toEqual([acts, each, expected, !expected, expected]);
    }
  }
});

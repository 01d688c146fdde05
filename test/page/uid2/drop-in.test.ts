/** The drop-in on a page that is written for the ecosystem's own browser SDK: its public behaviour, over a scripted service. */

import { IDBFactory } from 'fake-indexeddb';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  type Callback,
  type InitOptions,
  installUid2,
  type LegacyPayload,
  type Uid2,
} from '../../../src/page/uid2/index.ts';
import { createFixture, hangs, restoreGlobals, rotate, success, wireSet } from '../../session/fixtures.ts';
import { DAY, HOUR, MINUTE, START, until, useFakeClock } from '../../support/clock.ts';
import { clearPlaces, cookie, KEY, local, logoutMark, newSet, putCookie, putLocal, setCookie } from './fixtures.ts';

const BASE_URL = 'https://operator.example';
let fixture: ReturnType<typeof createFixture>;
let sdk: Uid2;
let failures: unknown[];
let emitted: [event: string, token: unknown][];
/** The page's callback: notes each event and the token that came with it. */
const note: Callback = (event, { identity }) => void emitted.push([event, identity?.['advertising_token'] ?? null]);
const events = () => emitted.map(([event, token]) => (token ? `${event} ${token}` : event));

/** Load the file, as a page does, and start. */
const load = (before?: { callbacks: Callback[] }) => {
  window.__uid2 = before;
  sdk = installUid2();
  return sdk;
};
const nextPage = () => {
  sdk.abort();
  emitted = [];
  return load();
};
const complete = () => until(() => sdk.isInitComplete(), 'InitCompleted');
const start = async (options: InitOptions = {}) => {
  sdk.init({ baseUrl: BASE_URL, ...options });
  await complete();
};
const open = (options?: InitOptions, callbacks: Callback[] = []) => {
  load({ callbacks });
  return start(options);
};
const openNext = (options?: InitOptions) => {
  nextPage();
  return start(options);
};

beforeEach(() => {
  useFakeClock();
  vi.stubGlobal('indexedDB', new IDBFactory());
  failures = [];
  vi.stubGlobal('reportError', (failure: unknown) => void failures.push(failure));
  fixture = createFixture(rotate);
  vi.stubGlobal('fetch', fixture.fetch);
  emitted = [];
});
afterEach(async () => {
  sdk?.abort();
  clearPlaces();
  delete window.__uid2;
  delete window.__euid;
  await restoreGlobals();
});

describe('the global', () => {
  test('replaces the stub, keeps its array of callbacks, and emits SdkLoaded to them', async () => {
    const callbacks = [note];
    load({ callbacks });
    expect(window.__uid2).toBe(sdk);
    expect(sdk.callbacks).toBe(callbacks);
    await fixture.settle();
    expect(events()).toEqual(['SdkLoaded']);
  });

  test('another array that the page assigns to callbacks receives the later events', async () => {
    await open({ identity: wireSet(1) }, [note]);
    const heard: string[] = [];
    sdk.callbacks = [(event) => void heard.push(event)];
    sdk.callbacks = null as never;
    sdk.disconnect();
    await fixture.settle();
    expect([emitted.length, heard]).toEqual([2, ['IdentityUpdated']]);
  });

  test('stays with an SDK that is already installed', () => {
    const other = { init: () => {}, callbacks: [] };
    window.__uid2 = other as never;
    expect(installUid2()).toBe(other);
    expect(window.__uid2).toBe(other);
    sdk = { abort: () => {} } as never;
  });

  test('a callback that is pushed late receives the events that it has missed', async () => {
    await open({ identity: wireSet(1) });
    sdk.callbacks.push(note);
    await fixture.settle();
    expect(events()).toEqual(['SdkLoaded', 'InitCompleted advertising-1']);
  });

  test('a callback that is pushed late receives them although Array.prototype is frozen', async () => {
    const { push } = Array.prototype;
    const callbacks: Callback[] = Object.setPrototypeOf(
      [],
      Object.freeze(Object.assign(Object.create(Array.prototype), { push })),
    );
    load({ callbacks });
    sdk.callbacks.push(note);
    await fixture.settle();
    expect(events()).toEqual(['SdkLoaded']);
  });

  test('a callback that another callback pushes receives each event once', async () => {
    load({ callbacks: [(event) => event === 'SdkLoaded' && window.__uid2?.callbacks?.push(note)] });
    await fixture.settle();
    expect(events()).toEqual(['SdkLoaded']);
    emitted = [];
    sdk.callbacks.pop();
    sdk.callbacks.push((event) => void (event === 'InitCompleted' && sdk.callbacks.push(note)));
    await start({ identity: wireSet(1) });
    await fixture.settle();
    expect(events()).toEqual(['SdkLoaded', 'InitCompleted advertising-1']);
  });

  test('a callback that throws or rejects does not stop the others', async () => {
    load({
      callbacks: [
        () => {
          throw new Error('thrown');
        },
        () => Promise.reject(new Error('rejected')),
        note,
      ],
    });
    await fixture.settle();
    expect(events()).toEqual(['SdkLoaded']);
    expect(failures).toHaveLength(2);
  });
});

test.each(['before', 'after'])(
  'the Secure Signals script of the UID2 SDK, loaded %s the drop-in, registers once and collects the token',
  async (when) => {
    const collectors: (() => Promise<string>)[] = [];
    const loadScript = () => {
      window.__uid2 ??= { callbacks: [] };
      window.__uid2.callbacks!.push((event) => {
        if (event === 'SdkLoaded') collectors.push(() => (window.__uid2 as Uid2).getAdvertisingTokenAsync());
      });
    };
    delete window.__uid2;
    if (when === 'before') loadScript();
    sdk = installUid2();
    if (when === 'after') loadScript();
    await fixture.settle();
    expect(collectors).toHaveLength(1);
    const collected = collectors[0]!();
    sdk.init({ baseUrl: BASE_URL, identity: wireSet(1) });
    expect(await collected).toBe('advertising-1');
  },
);

describe('init', () => {
  test.each([
    ['no options', undefined, TypeError, 'init: expected object'],
    ['a callback that is not a function', { callback: 1 }, TypeError, 'callback: expected function'],
    [
      'a retry period that is not a number',
      { refreshRetryPeriod: '5000' },
      TypeError,
      'refreshRetryPeriod: expected number',
    ],
    ['a retry period below a second', { refreshRetryPeriod: 999 }, RangeError, 'refreshRetryPeriod: expected 1000'],
    ['an address that is not a URL', { baseUrl: 'operator' }, TypeError, 'baseUrl: expected'],
  ])('%s is rejected, and no later page starts with it', async (_, options, type, message) => {
    load();
    const init = () => sdk.init(options as never);
    expect(init).toThrow(type);
    expect(init).toThrow(message);
    await fixture.settle();
    expect(localStorage.getItem(`${KEY}_config`)).toBeNull();
    expect(sdk.isInitComplete()).toBe(false);
  });

  test('a refresh token never goes to an operator that a link has put on Object.prototype', async () => {
    Object.assign(Object.prototype, { baseUrl: 'https://other.example' });
    onTestFinished(() => void Reflect.deleteProperty(Object.prototype, 'baseUrl'));
    load().init({ identity: wireSet(1) });
    await complete();
    await fixture.advance(HOUR);
    expect(new Set(fixture.sent.map(({ url }) => new URL(url).origin))).toEqual(new Set(['https://prod.uidapi.com']));
  });

  test.each<[what: string, members: object]>([
    ['an opt-out', { status: 'optout' }],
    ['a logout', { status: 'logout', tessera: START + DAY }],
    ['the label of a user', { user: 'other' }],
    ['cookie mode', { useCookie: '1', cookieDomain: 'example' }],
    ['an option that is invalid', { callback: '1' }],
    ['an identity', { identity: wireSet(2, START) }],
  ])('%s that a link has put on Object.prototype changes nothing, also on a later page', async (_, members) => {
    await open({ identity: wireSet(1) });
    await fixture.settle();
    putCookie(newSet(3));
    Object.assign(Object.prototype, members);
    const endInheritance = () => {
      for (const name of Object.keys(members)) Reflect.deleteProperty(Object.prototype, name);
    };
    onTestFinished(endInheritance);
    await openNext();
    await fixture.settle();
    const attacked = sdk.getAdvertisingToken();
    endInheritance();
    nextPage();
    await complete();
    await fixture.settle();
    expect([attacked, sdk.getAdvertisingToken()]).toEqual(['advertising-1', 'advertising-1']);
    expect(sdk.hasOptedOut()).toBe(false);
  });

  test.each([
    ['local storage', () => putLocal(wireSet(1, Date.now() - 20 * MINUTE))],
    ['a cookie', () => putCookie(wireSet(1, Date.now() - 20 * MINUTE))],
  ])('stored options do not decide where the refresh token in %s is sent, although it is due', async (_, put) => {
    put();
    putLocal({ baseUrl: 'https://other.example', useCookie: true }, `${KEY}_config`);
    load();
    await complete();
    await fixture.advance(HOUR);
    expect(fixture.sent).toEqual([]);
    await start({ useCookie: true });
    await fixture.settle();
    expect(fixture.sent.map(({ url }) => url)).toEqual([`${BASE_URL}/v2/token/refresh`]);
  });

  test('stored options do not decide it either after an init that throws', async () => {
    putLocal(wireSet(1, Date.now() - 20 * MINUTE));
    putLocal({ baseUrl: 'https://other.example' }, `${KEY}_config`);
    load();
    expect(() => sdk.init({ baseUrl: 'operator' })).toThrow(TypeError);
    await complete();
    await fixture.advance(HOUR);
    expect(fixture.sent).toEqual([]);
  });

  test('setIdentity on a page that has not called init ends no opt-out, and sends nothing', async () => {
    await open({ identity: wireSet(1) });
    sdk.setIdentity({ status: 'optout' });
    await fixture.settle();
    nextPage();
    await complete();
    sdk.setIdentity(newSet(5));
    await fixture.settle();
    expect([sdk.getAdvertisingToken(), sdk.hasOptedOut(), fixture.sent]).toEqual([undefined, true, []]);
  });

  test('abort before completion emits nothing and leaves stored values for another SDK', async () => {
    putLocal({ status: 'optout', identity_expires: Date.now() + HOUR, refresh_expires: Date.now() + HOUR });
    load({ callbacks: [note] }).init({ baseUrl: BASE_URL });
    sdk.abort();
    await fixture.settle();
    expect(events()).toEqual(['SdkLoaded']);
    expect(localStorage.getItem(KEY)).toContain('optout');
    await expect(sdk.getAdvertisingTokenAsync()).rejects.toThrow();
  });

  test('abort in a callback ends the events', async () => {
    load({ callbacks: [note, (event) => event === 'IdentityUpdated' && sdk.abort()] });
    sdk.init({ baseUrl: BASE_URL });
    await fixture.settle();
    expect(events()).toEqual(['SdkLoaded', 'IdentityUpdated']);
  });

  test('options of init in a callback of init are added to it, and stay', async () => {
    await open();
    let calls = 0;
    sdk.callbacks.push((event) => {
      if (event === 'InitCompleted' && ++calls === 2) sdk.init({ cookiePath: '/inner' });
    });
    sdk.init({ refreshRetryPeriod: 2_000 });
    sdk.init({ cookieDomain: 'site.example' });
    const expected = {
      baseUrl: BASE_URL,
      refreshRetryPeriod: 2_000,
      cookieDomain: 'site.example',
      cookiePath: '/inner',
    };
    expect(JSON.parse(localStorage.getItem(`${KEY}_config`)!)).toEqual(expected);
  });

  test('an identity from a cached page does not undo a logout, not even briefly', async () => {
    const cached = wireSet(1);
    await open({ identity: cached });
    sdk.disconnect();
    await fixture.settle();
    const seen = new Set<unknown>();
    nextPage().init({ baseUrl: BASE_URL, identity: cached });
    await until(() => seen.add(sdk.getAdvertisingToken()) && sdk.isInitComplete());
    expect([...seen]).toEqual([undefined]);
    expect(sdk.isLoginRequired()).toBe(true);
    // The set of a new login expires later.
    await fixture.advance(1_000);
    await openNext({ identity: newSet(4) });
    expect(sdk.getAdvertisingToken()).toBe('advertising-4');
    expect(local()).toMatchObject({ advertising_token: 'advertising-4' });
  });
});

describe('the life of an identity', () => {
  test('after an opt-out, an identity that the service accepts is in force', async () => {
    await open({ identity: wireSet(1) }, [note]);
    sdk.setIdentity({ status: 'optout' });
    await fixture.settle();
    expect(sdk.hasOptedOut()).toBe(true);
    sdk.setIdentity(wireSet(5));
    await fixture.settle();
    expect(sdk.getAdvertisingToken()).toBe('advertising-6');
    expect(local()).toMatchObject({ advertising_token: 'advertising-6' });
  });

  test('disconnect before init removes the values of the former SDK', async () => {
    putLocal(wireSet(1));
    putCookie(wireSet(1));
    load().disconnect();
    await fixture.settle();
    expect([cookie(), sdk.getAdvertisingToken()]).toEqual([undefined, undefined]);
    expect(localStorage.getItem(KEY) ?? '').not.toContain('refresh-1');
  });

  test('disconnect before init: a cookie that cannot be removed does not sign the user in again', async () => {
    const text = `__uid_2=${encodeURIComponent(JSON.stringify(wireSet(1)))}`;
    vi.spyOn(document, 'cookie', 'get').mockReturnValue(text);
    const seen = new Set<unknown>();
    load().disconnect();
    await until(() => seen.add(sdk.getAdvertisingToken()) && sdk.isInitComplete());
    nextPage().init({});
    await until(() => seen.add(sdk.getAdvertisingToken()) && sdk.isInitComplete());
    expect([...seen]).toEqual([undefined]);
  });

  test('disconnect after abort removes the cookie of the last options', async () => {
    const options = { useCookie: true, cookiePath: '/', cookieDomain: location.hostname };
    await open({ identity: wireSet(1), ...options });
    sdk.abort();
    sdk.disconnect();
    await complete();
    // Other hosts find the tombstone in the shared cookie.
    expect([cookie(), logoutMark()]).toMatchObject([{ status: 'logout' }, { status: 'logout' }]);
  });

  test('disconnect with damaged options of an earlier page logs out without them', async () => {
    putLocal({ baseUrl: 'operator' }, `${KEY}_config`);
    putLocal(wireSet(1));
    load().disconnect();
    await fixture.settle();
    expect([sdk.isLoginRequired(), local()?.advertising_token]).toEqual([true, undefined]);
  });

  test.each(['before init', 'before init is complete'])('disconnect %s keeps an opt-out', async (when) => {
    putLocal({ status: 'optout', identity_expires: Date.now() + HOUR, refresh_expires: Date.now() + HOUR });
    fixture.serve(hangs);
    load();
    if (when !== 'before init') sdk.init({ identity: wireSet(1) });
    sdk.disconnect();
    await complete();
    await fixture.settle();
    expect([sdk.hasOptedOut(), sdk.getAdvertisingToken()]).toEqual([true, undefined]);
    nextPage().init({});
    await complete();
    expect(sdk.hasOptedOut()).toBe(true);
  });

  test('a logout in one tab reaches the other, no matter which of them writes the cookie', async () => {
    await open({ identity: wireSet(1), useCookie: true }, [note]);
    const first = sdk;
    await open({ useCookie: true });
    expect(sdk.getAdvertisingToken()).toBe('advertising-1');
    sdk.disconnect();
    await until(() => !first.getAdvertisingToken());
    await fixture.settle();
    expect([events().at(-1), first.isLoginRequired(), cookie()]).toEqual(['IdentityUpdated', true, undefined]);
    first.abort();
  });

  test('getAdvertisingTokenAsync that waits for a refresh rejects with an Error at abort', async () => {
    fixture.serve(hangs);
    await open({ identity: wireSet(1, Date.now() - 2 * HOUR) });
    const waiting = sdk.getAdvertisingTokenAsync();
    await fixture.settle();
    sdk.abort();
    await expect(waiting).rejects.toThrow('aborted');
  });
});

describe('values of the former SDK', () => {
  test('an identity in local storage is adopted, and replaced by a copy', async () => {
    putLocal(wireSet(1));
    load({ callbacks: [note] });
    expect(sdk.getAdvertisingToken()).toBe('advertising-1');
    await start();
    await fixture.settle();
    expect(events()).toEqual(['SdkLoaded advertising-1', 'InitCompleted advertising-1']);
    expect(local()).toMatchObject({ advertising_token: 'advertising-1', tessera: expect.any(Number) });
    await fixture.advance(15 * MINUTE);
    nextPage();
    await complete();
    expect(sdk.getAdvertisingToken()).toBe('advertising-2');
  });

  test.each(['{bad', '[]', 'null', '"text"', '{"advertising_token":"a"}', '{"status":"success"}'])(
    'a damaged value reads as empty: %s',
    async (text) => {
      localStorage.setItem(KEY, text);
      localStorage.setItem(`${KEY}_config`, text);
      setCookie(`__uid_2=${text.replaceAll(/[;"]/g, '%')}`);
      await open({}, [note]);
      expect(sdk.isLoginRequired()).toBe(true);
      expect(failures).toEqual([]);
    },
  );
});

describe('the cookie', () => {
  test('is written at every refresh, for the servers that read it', async () => {
    await open({ identity: wireSet(1), useCookie: true });
    await fixture.advance(15 * MINUTE);
    expect(cookie()).toMatchObject({
      ...wireSet(2, cookie().refresh_from - 15 * MINUTE),
      advertising_token: 'advertising-2',
    });
    expect(localStorage.getItem(KEY)).toBeNull();
  });

  test.each([
    ['isLoginRequired', false],
    ['isIdentityAvailable', true],
    ['getAdvertisingTokenAsync', 'advertising-9'],
    ['getAdvertisingToken', 'advertising-9'],
  ] as const)(
    'set by a server while the page is open counts, whichever method looks first: %s',
    async (method, expected) => {
      await open({ useCookie: true });
      putCookie(newSet(9, Date.now() + MINUTE));
      expect(await sdk[method]()).toBe(expected);
    },
  );

  test('set to an opt-out by a server while the page is open counts', async () => {
    await open({ identity: wireSet(1), useCookie: true });
    putCookie({ status: 'optout', identity_expires: Date.now() + DAY, refresh_expires: Date.now() + DAY });
    expect(sdk.hasOptedOut()).toBe(true);
  });

  test('is removed from its earlier domain by a later init and by a later page', async () => {
    const set = vi.spyOn(document, 'cookie', 'set');
    const removed = () =>
      set.mock.calls.flatMap(([text]) =>
        text.startsWith('__uid_2=;') ? (/domain=([^;]*)/.exec(text)?.[1] ?? []) : [],
      );
    await open({ identity: wireSet(1), useCookie: true, cookieDomain: 'one.example' });
    set.mockClear();
    sdk.init({ cookieDomain: 'two.example' });
    expect(removed()).toContain('one.example');
    set.mockClear();
    await openNext({ useCookie: true, cookieDomain: 'three.example' });
    expect(removed()).toContain('two.example');
  });

  test('is written to the domain and path that the page names', async () => {
    const set = vi.spyOn(document, 'cookie', 'set');
    load().init({
      baseUrl: BASE_URL,
      identity: wireSet(1),
      useCookie: true,
      cookieDomain: 'page.example',
      cookiePath: '/shop',
    });
    await complete();
    const written = set.mock.calls.map(([text]) => text).filter((text) => text.startsWith('__uid_2=%7B'));
    expect(written.at(-1)).toContain(
      `;path=/shop;domain=page.example;expires=${new Date(wireSet(1).refresh_expires).toUTCString()};samesite=lax`,
    );
  });
});

describe('the legacy callback', () => {
  const received: [status: number, token: unknown][] = [];
  const callback = ({ status, advertisingToken, advertising_token, statusText }: LegacyPayload) => {
    expect(advertising_token).toBe(advertisingToken);
    expect(statusText).not.toBe('');
    received.push([status, advertisingToken]);
  };
  beforeEach(() => void received.splice(0));

  test.each([
    ['none', undefined, -1],
    ['malformed', { advertising_token: 'alone' }, -2],
  ])('an identity: %s', async (_, identity, status) => {
    await open({ identity, callback });
    await fixture.settle();
    expect(received).toEqual([[status, undefined]]);
  });

  test('may call init with another one, which receives the later statuses only', async () => {
    const later = vi.fn();
    load().init({ baseUrl: BASE_URL, callback: () => sdk.init({ callback: ({ status }) => later(status) }) });
    await complete();
    await fixture.settle();
    expect(later).not.toHaveBeenCalled();
    sdk.setIdentity(newSet(5));
    await fixture.settle();
    expect(later).toHaveBeenCalledExactlyOnceWith(1);
  });
});

test('each product has its own global, places and record', async () => {
  await open({ identity: wireSet(1) });
  const euid = installUid2('euid');
  expect(window.__euid).toBe(euid);
  putCookie(success(4).body, '__euid');
  euid.init({ baseUrl: BASE_URL, useCookie: true });
  await until(() => euid.isInitComplete());
  expect([sdk.getAdvertisingToken(), euid.getAdvertisingToken()]).toEqual(['advertising-1', 'advertising-4']);
  euid.abort();
});

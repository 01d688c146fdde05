/** Google Secure Signals, over a real session and a real operator; Google's tag is simulated. */

import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { connectSecureSignals } from '../../src/page/secure-signals.ts';
import { memoryStore, type SessionOptions } from '../../src/session/index.ts';
import { restoreGlobals } from '../session/fixtures.ts';
import { DAY, loaded, MINUTE, useFakeClock } from '../support/clock.ts';
import { createOperatorFixture } from '../support/fixtures.ts';
import { createGpt, leavePage } from '../support/gpt.ts';
import { throwing } from '../support/throwing.ts';

const UID2 = 'uidapi.com';

let fixture: ReturnType<typeof createOperatorFixture>;
beforeEach(() => {
  useFakeClock();
  localStorage.clear();
  fixture = createOperatorFixture();
});
afterEach(async () => {
  fixture.close();
  await restoreGlobals();
  leavePage();
});

/** Open a session whose store outlives the page, unless the options contain another one. */
const open = (options: Partial<SessionOptions> = {}) =>
  fixture.open({ store: { ...memoryStore(), kind: 'device' }, ...options });
const loadedGpt = (...given: Parameters<typeof createGpt>) => {
  const gpt = createGpt(...given);
  gpt.load();
  return gpt;
};
/** Connect a session, and wait until it is loaded and nothing is in progress. */
const connected = async (...given: Parameters<typeof connectSecureSignals>) => {
  const disconnect = connectSecureSignals(...given);
  await given[0].ready;
  await fixture.settle();
  return disconnect;
};
const userOf = (name: string) => fixture.answerFor(`${name}@example.com`);

describe('the provider', () => {
  test.each([
    ['GPT, adapter, session loaded', ['gpt', 'connect', 'ready']],
    ['GPT, session loaded, adapter', ['gpt', 'ready', 'connect']],
    ['adapter, GPT, session loaded', ['connect', 'gpt', 'ready']],
    ['adapter, session loaded, GPT', ['connect', 'ready', 'gpt']],
    ['session loaded, GPT, adapter', ['ready', 'gpt', 'connect']],
    ['session loaded, adapter, GPT', ['ready', 'connect', 'gpt']],
  ])('%s: is pushed once, with the token', async (_, order) => {
    const gpt = createGpt();
    const { session } = open({ tokens: await userOf('user') });
    const steps: Record<string, () => unknown> = {
      gpt: gpt.load,
      connect: () => connectSecureSignals(session),
      ready: () => session.ready,
    };
    for (const step of order) await steps[step]!();
    await fixture.settle();
    expect(gpt.pushes).toEqual([UID2]);
    expect(gpt.cache.get(UID2)).toBe(session.advertisingToken);
  });

  test("Google's snippet, in either of its forms, works after the adapter", async () => {
    const { session } = open({ tokens: await userOf('user') });
    for (const snippet of [
      'window.googletag = window.googletag || {cmd: []}; googletag.cmd.push(() => {})',
      'window.googletag ||= {}; googletag.cmd ||= []; googletag.cmd.push(() => {})',
    ]) {
      leavePage();
      const disconnect = await connected(session);
      expect(() => new Function(snippet)()).not.toThrow();
      disconnect();
    }
  });

  test('is not pushed again by refreshes, reconnections or a second copy of the file', async () => {
    const gpt = loadedGpt();
    const { session } = open({ tokens: await userOf('user') });
    const disconnect = connectSecureSignals(session);
    await fixture.advance(60 * MINUTE);
    expect(fixture.requests.length).toBeGreaterThan(2);
    disconnect();
    connectSecureSignals(session);
    vi.resetModules();
    const copy = await import('../../src/page/secure-signals.ts');
    expect(copy.connectSecureSignals).not.toBe(connectSecureSignals);
    copy.connectSecureSignals(session);
    expect(gpt.pushes).toEqual([UID2]);
  });

  test('is not pushed after a disconnection that comes before the session is loaded', async () => {
    const gpt = loadedGpt();
    const { session } = open({ tokens: await userOf('user') });
    connectSecureSignals(session)();
    await session.ready;
    await fixture.settle();
    expect(gpt.pushes).toEqual([]);
  });

  test('is not pushed if another script has pushed one with the same id', async () => {
    const gpt = createGpt();
    Object.assign(window, {
      googletag: { secureSignalProviders: [{ id: UID2, collectorFunction: async () => 'theirs' }] },
    });
    connectSecureSignals(open().session);
    gpt.load();
    expect(gpt.pushes).toEqual([UID2]);
  });

  test.each<readonly [what: string, googletag: unknown]>([
    ['a frozen object', Object.freeze({})],
    ['an object whose queue is frozen', { cmd: Object.freeze([]) }],
    ['a constant of a blocker', false],
    [
      'the window of a frame of another origin',
      new Proxy(
        {},
        {
          get: throwing(new Error('Blocked a frame')),
        },
      ),
    ],
  ])(
    'in place of GPT there is %s: the page and the hosted script go on, and IMA’s cache is cleared',
    async (_, googletag) => {
      const clearAllCache = vi.fn();
      Object.assign(window, { googletag, google: { ima: { secureSignals: { clearAllCache } } } });
      onTestFinished(() => void Reflect.deleteProperty(window, 'google'));
      const { session } = open({ tokens: await userOf('user') });
      const disconnect = connectSecureSignals(session);
      await session.ready;
      clearAllCache.mockClear();
      await session.setTokens(await userOf('other'));
      await fixture.settle();
      expect(clearAllCache).toHaveBeenCalledOnce();
      const get = Reflect.get(window, 'getUid2AdvertisingToken') as () => Promise<string>;
      expect(await get()).toBe(session.advertisingToken);
      expect(disconnect).not.toThrow();
    },
  );

  test('a queue of GPT that the page replaces after the adapter still gets the provider', async () => {
    const gpt = createGpt();
    const { session } = open({ tokens: await userOf('user') });
    connectSecureSignals(session);
    Object.assign(window, { googletag: { cmd: [] } });
    await session.ready;
    await fixture.settle();
    gpt.load();
    await fixture.settle();
    expect(gpt.cache.get(UID2)).toBe(session.advertisingToken);
  });

  test('an element of the page cannot replace the state that copies of the file share', async () => {
    const element = Object.assign(document.createElement('form'), { id: 'tesseraSignals' });
    const field = Object.assign(document.createElement('input'), { name: UID2 });
    element.append(field);
    Object.assign(element, { [UID2]: field });
    // What `window.tesseraSignals` is in a browser.
    Object.defineProperty(window, 'tesseraSignals', { value: element, configurable: true });
    onTestFinished(() => void Reflect.deleteProperty(window, 'tesseraSignals'));
    const { session } = open({ tokens: await userOf('user') });
    await connected(session, { register: false });
    const get = Reflect.get(window, 'getUid2AdvertisingToken') as () => Promise<string>;
    expect(await get()).toBe(session.advertisingToken);
  });

  test('is separate for UID2, EUID and each network code', async () => {
    const gpt = loadedGpt();
    const { session } = open();
    connectSecureSignals(session);
    connectSecureSignals(session, { name: 'euid' });
    connectSecureSignals(session, { networkCode: '12345' });
    await fixture.settle();
    expect(gpt.pushes).toEqual([UID2, 'euid.eu', '12345']);
  });

  test('is not pushed with register: false; the global function resolves with the token', async () => {
    const gpt = loadedGpt();
    const { session } = open({ tokens: await userOf('user') });
    connectSecureSignals(session, { register: false });
    const get = Reflect.get(window, 'getUid2AdvertisingToken') as () => Promise<string>;
    expect(gpt.pushes).toEqual([]);
    expect(await get()).toBe(session.advertisingToken);
  });
});

describe('the collector', () => {
  test('is pending until there is a token, then resolves with it', async () => {
    const gpt = loadedGpt();
    const { session } = open();
    connectSecureSignals(session);
    await session.ready;
    await fixture.advance(DAY);
    expect([...gpt.cache, ...gpt.broken]).toEqual([]);
    await session.setTokens(await userOf('late'));
    await fixture.settle();
    expect(gpt.cache.get(UID2)).toBe(session.advertisingToken);
    expect(gpt.broken).toEqual([]);
  });

  test('neither rejects nor resolves without a token: outage, opt-out, close', async () => {
    const gpt = loadedGpt();
    const { session } = open({ provide: () => Promise.reject(new Error('down')) });
    connectSecureSignals(session);
    await fixture.advance(60 * MINUTE);
    await session.setTokens({ status: 'optout' });
    session.close();
    await fixture.settle();
    expect([...gpt.cache, ...gpt.broken]).toEqual([]);
  });

  test('is pending after a disconnection, and resolves with the next connection', async () => {
    const { session } = await loaded(open({ tokens: await userOf('user') }));
    await fixture.settle();
    connectSecureSignals(session)();
    const get = Reflect.get(window, 'getUid2AdvertisingToken') as () => Promise<string>;
    const asked = get();
    await fixture.settle();
    expect(await Promise.race([asked, 'pending'])).toBe('pending');
    connectSecureSignals(session);
    expect(await asked).toBe(session.advertisingToken);
  });

  test('resolves with the token of a session that is connected later', async () => {
    const gpt = loadedGpt();
    connectSecureSignals(open().session)();
    const { session } = open();
    connectSecureSignals(session);
    await session.setTokens(await userOf('user'));
    await fixture.settle();
    expect(gpt.cache.get(UID2)).toBe(session.advertisingToken);
  });
});

test('a collector that is called just after the page is restored resolves once the token is known again', async () => {
  createGpt();
  const { session } = await loaded(open({ tokens: await userOf('user') }));
  await fixture.settle();
  connectSecureSignals(session);
  const get = Reflect.get(window, 'getUid2AdvertisingToken') as () => Promise<string>;
  window.dispatchEvent(new Event('pagehide'));
  await fixture.settle();
  window.dispatchEvent(new Event('pageshow'));
  const asked = get();
  await fixture.settle();
  expect(await Promise.race([asked, 'pending'])).toBe(session.advertisingToken);
});

describe('Google’s cache, after a page without the adapter', () => {
  /** The user's signal is cached on one page; the next page, without the adapter, does `act`; a third page has it again. */
  const visitThreePages = async (act: (session: ReturnType<typeof open>['session']) => unknown) => {
    const first = createGpt();
    first.load();
    const { session, store } = open({ tokens: await userOf('user') });
    await connected(session);
    const signal = session.advertisingToken;
    expect(first.cache.get(UID2)).toBe(signal);
    session.close();
    leavePage();

    const second = await loaded(open({ store }));
    await act(second.session);
    await fixture.settle();
    second.session.close();

    const gpt = loadedGpt(first.cache);
    const third = open({ store });
    connectSecureSignals(third.session);
    await third.session.ready;
    await fixture.settle();
    return { gpt, signal, session: third.session };
  };

  test.each<readonly [sentence: string, act: (session: ReturnType<typeof open>['session']) => unknown]>([
    ['a switch of user', async (session) => session.setTokens(await userOf('other'))],
    ['a logout', (session) => session.clear()],
    ['a logout that forgets the sets', (session) => session.clear({ forget: true })],
    ['an opt-out', (session) => session.setTokens({ status: 'optout' })],
  ])('is cleared once because of %s there', async (_, act) => {
    const { gpt, signal, session } = await visitThreePages(act);
    expect(gpt.cleared()).toBe(1);
    expect(gpt.cache.get(UID2)).toBe(session.advertisingToken);
    expect(gpt.cache.get(UID2)).not.toBe(signal);
  });

  test('is kept if nothing, or only a refresh, happened there', async () => {
    const { gpt, signal } = await visitThreePages(() => fixture.advance(20 * MINUTE));
    expect(gpt.cleared()).toBe(0);
    expect(gpt.cache.get(UID2)).toBe(signal);
  });

  test('is cleared before the provider is pushed', async () => {
    const { gpt } = await visitThreePages((session) => session.clear());
    expect(gpt.calls).toEqual(['clear', 'push']);
  });

  test.each(['', '1 ', '-1', 'NaN', '{"generation":1}', '9'.repeat(40)])(
    'is cleared at most once if another script has stored %j in place of the adapter’s memory',
    async (text) => {
      const { gpt, session } = await visitThreePages(() => {
        for (const key of Object.keys(localStorage)) localStorage.setItem(key, text);
      });
      expect(gpt.cleared()).toBe(text ? 1 : 0);
      expect(gpt.cache.get(UID2)).toBe(session.advertisingToken);
    },
  );
});

describe.each(['gpt', 'ima'] as const)('Google’s cache, with %s', (kind) => {
  type Page = ReturnType<typeof open> & { onChange(granted: boolean): void; disconnect(): void };
  const openPage = (given: Partial<SessionOptions>): Page => {
    let onChange = (_: boolean) => {};
    const consent = (tell: typeof onChange) => {
      onChange = tell;
      return true;
    };
    const page = open({ name: 'signals', consent, ...given });
    const disconnect = connectSecureSignals(page.session);
    return { ...page, disconnect, onChange: (granted) => onChange(granted) };
  };
  const leave = (page: Page) => {
    window.dispatchEvent(new Event('pagehide'));
    page.session.close();
    page.disconnect();
    leavePage();
  };

  describe.each<readonly [moment: string, act: (page: Page) => unknown]>([
    ['a sign-in of another user', async ({ session }) => session.setTokens(await userOf('other'))],
    ['a logout', ({ session }) => session.clear()],
    ['a logout that navigates at once', ({ session }) => void session.clear()],
    [
      'an opt-out that the service reports',
      async ({ session }) => {
        await fixture.client.optOut({ email: 'user@example.com' });
        await session.refresh().catch(() => {});
      },
    ],
    ['withdrawn consent', ({ onChange }) => onChange(false)],
    ['a logout without consent', ({ session }) => session.clear()],
    ['an opt-out without consent', ({ session }) => session.setTokens({ status: 'optout' })],
  ])('holds nothing of the former user after %s', (moment, act) => {
    test.each<readonly [when: string, here: 'before' | 'after' | 'never', next: 'before' | 'after']>([
      ['has loaded before it', 'before', 'before'],
      ['loads after it', 'after', 'before'],
      ['is not on that page, and has loaded on the next one before the adapter', 'never', 'before'],
      ['is not on that page, and loads on the next one after the adapter', 'never', 'after'],
    ])('if the tag %s', async (_, here, next) => {
      const first = createGpt(undefined, kind);
      first.load();
      const page = openPage({ tokens: await userOf('user') });
      await page.session.ready;
      await fixture.settle();
      const { store } = page;
      const { advertisingToken } = page.session;
      expect(first.cache.get(UID2)).toBe(advertisingToken);
      leave(page);

      const second = createGpt(first.cache, kind);
      if (here === 'before') second.load();
      const refuses = { consent: () => false };
      const account = openPage({ store, ...(moment.includes('without consent') && refuses) });
      await account.session.ready;
      await fixture.settle();
      await act(account);
      if (!moment.includes('at once')) await fixture.settle();
      if (here === 'after') second.load();
      if (here !== 'never') {
        await fixture.settle();
        expect(first.cache.get(UID2)).toBe(account.session.advertisingToken);
        expect(first.cache.get(UID2)).not.toBe(advertisingToken);
      }
      await fixture.settle();
      leave(account);

      const third = createGpt(first.cache, kind);
      if (next === 'before') third.load();
      // A user who has refused or withdrawn consent refuses it on the next page too.
      const last = openPage({ store, ...(moment.includes('consent') && refuses) });
      await last.session.ready;
      await fixture.settle();
      if (next === 'after') third.load();
      await fixture.settle();
      expect(first.cache.get(UID2)).toBe(last.session.advertisingToken);
      expect(first.cache.get(UID2)).not.toBe(advertisingToken);
      expect(second.cleared() + third.cleared()).toBe(1);
    });
  });

  test('is cleared once for changes of several pages without the tag, and kept afterwards', async () => {
    const first = createGpt(undefined, kind);
    first.load();
    const page = openPage({ tokens: await userOf('user') });
    await page.session.ready;
    await fixture.settle();
    leave(page);
    for (const name of ['second', 'third']) {
      const account = openPage({ store: page.store });
      await account.session.ready;
      await account.session.clear();
      await account.session.setTokens(await userOf(name));
      await fixture.settle();
      leave(account);
    }
    for (const cleared of [1, 0]) {
      const tag = createGpt(first.cache, kind);
      const next = openPage({ store: page.store });
      await next.session.ready;
      tag.load();
      await fixture.settle();
      expect([tag.cleared(), first.cache.get(UID2)]).toEqual([cleared, next.session.advertisingToken]);
      leave(next);
    }
  });
});

describe('Google’s cache, with a session in memory', () => {
  const visit = async (cache: ReturnType<typeof createGpt>['cache'], name: string, connectsLate: boolean) => {
    leavePage();
    const gpt = loadedGpt(cache);
    const { session } = open({ store: memoryStore(), tokens: await userOf(name) });
    if (connectsLate) await session.ready;
    await connected(session);
    return { gpt, session };
  };

  test.each([
    ['before', false],
    ['after', true],
  ])('is cleared for the set of every page, if the adapter comes %s the session is loaded', async (_, connectsLate) => {
    const { gpt: first } = await visit(new Map(), 'user', connectsLate);
    const { gpt, session } = await visit(first.cache, 'other', connectsLate);
    expect(gpt.cleared()).toBe(1);
    expect(gpt.cache.get(UID2)).toBe(session.advertisingToken);
  });

  test('is kept if the adapter is connected again on the same page', async () => {
    const { gpt, session } = await visit(new Map(), 'user', true);
    connectSecureSignals(session)();
    connectSecureSignals(session);
    await fixture.settle();
    expect(gpt.cleared()).toBe(0);
  });
});

describe('Google’s cache', () => {
  const openPage = async (given: Parameters<typeof open>[0] = {}) => {
    const gpt = loadedGpt();
    const { session, store } = await loaded(open({ tokens: await userOf('user'), ...given }));
    await fixture.settle();
    connectSecureSignals(session);
    await fixture.settle();
    expect(gpt.cache.get(UID2)).toBe(session.advertisingToken);
    expect(gpt.cleared()).toBe(0);
    return { gpt, session, store };
  };

  test('is kept at refreshes', async () => {
    const { gpt, session } = await openPage();
    const first = session.advertisingToken;
    await fixture.advance(60 * MINUTE);
    expect(session.advertisingToken).not.toBe(first);
    expect(gpt.cleared()).toBe(0);
    expect(gpt.cache.get(UID2)).toBe(first);
  });

  test('is kept over a reload, even if that refreshes an expired token', async () => {
    const { gpt, session, store } = await openPage();
    const first = session.advertisingToken;
    session.close();
    for (const ms of [MINUTE, 120 * MINUTE]) {
      leavePage();
      vi.setSystemTime(Date.now() + ms);
      const next = createGpt(gpt.cache);
      const again = open({ store });
      connectSecureSignals(again.session);
      next.load();
      await again.session.getToken();
      await fixture.settle();
      expect(next.cleared()).toBe(0);
      expect(gpt.cache.get(UID2)).toBe(first);
      again.session.close();
    }
    expect(fixture.requests).toHaveLength(1);
  });

  test('is cleared once by a logout, and again by the next login', async () => {
    const { gpt, session } = await openPage();
    await session.clear();
    await fixture.settle();
    expect(gpt.cleared()).toBe(1);
    expect([...gpt.cache]).toEqual([]);
    await session.setTokens(await userOf('next'));
    await fixture.settle();
    expect(gpt.cleared()).toBe(2);
    expect(gpt.cache.get(UID2)).toBe(session.advertisingToken);
  });

  test('is cleared before the token of another user is returned', async () => {
    const { gpt, session } = await openPage();
    const get = Reflect.get(window, 'getUid2AdvertisingToken') as () => Promise<string>;
    const other = await userOf('other');
    void session.setTokens(other);
    expect(await get().then((token) => [token === session.advertisingToken, gpt.cleared()])).toEqual([true, 1]);
  });

  test('is cleared when another user signs in in another tab, without a logout', async () => {
    const name = 'signals-of-another-user';
    const { gpt, session, store } = await openPage({ name });
    const other = await loaded(open({ store, name }));
    await other.session.setTokens(await userOf('elsewhere'));
    await fixture.settle();
    expect(session.advertisingToken).toBe(other.session.advertisingToken);
    expect(gpt.cleared()).toBe(1);
    expect(gpt.cache.get(UID2)).toBe(session.advertisingToken);
  });

  test('is kept while the page is left, frozen and restored', async () => {
    const { gpt, session } = await openPage();
    const token = session.advertisingToken;
    for (const event of ['pagehide', 'pageshow', 'freeze', 'resume']) {
      window.dispatchEvent(new Event(event));
      await fixture.settle();
    }
    expect([gpt.cleared(), gpt.cache.get(UID2)]).toEqual([0, token]);
    expect(session.advertisingToken).toBe(token);
  });

  test('is cleared once in each of two tabs with the adapter when the user changes in one', async () => {
    const name = 'signals-with-two-adapters';
    const { gpt, session, store } = await openPage({ name });
    const other = await loaded(open({ store, name }));
    connectSecureSignals(other.session, { register: false });
    await other.session.setTokens(await userOf('elsewhere'));
    await fixture.settle();
    expect(gpt.cleared()).toBe(2);
    expect(gpt.cache.get(UID2)).toBe(session.advertisingToken);
    expect(session.advertisingToken).toBe(other.session.advertisingToken);
  });

  test('is cleared when consent is withdrawn', async () => {
    let onChange = (_: boolean) => {};
    const consent = (tell: typeof onChange) => {
      onChange = tell;
      return true;
    };
    const { gpt } = await openPage({ consent });
    onChange(false);
    await fixture.settle();
    expect(gpt.cleared()).toBe(1);
    expect([...gpt.cache]).toEqual([]);
  });
});

describe('local storage', () => {
  const stored = () => Object.entries({ ...localStorage });
  const connect = async (options: Partial<SessionOptions> = {}) => {
    const gpt = loadedGpt();
    const { session } = open({ tokens: await userOf('user'), ...options });
    await connected(session);
    return { gpt, session };
  };

  test('holds one number for each provider, and nothing of the token, while there is a token', async () => {
    const { session } = await connect();
    connectSecureSignals(session, { networkCode: '12345' });
    expect(stored()).toEqual([
      ['tessera-signals uidapi.com', '1'],
      ['tessera-signals 12345', '1'],
    ]);
    await fixture.advance(60 * MINUTE);
    expect(stored().map(([, text]) => text)).toEqual(['1', '1']);
  });

  test.each<readonly [what: string, end: (session: Awaited<ReturnType<typeof connect>>['session']) => unknown]>([
    ['a logout', (session) => session.clear()],
    ['an opt-out', (session) => session.setTokens({ status: 'optout' })],
  ])('holds nothing after %s', async (_, end) => {
    const { session } = await connect();
    await end(session);
    await fixture.settle();
    expect(stored()).toEqual([]);
  });

  test('is not written before consent, only read for a clearing that is due, and holds nothing after a withdrawal', async () => {
    let onChange = (_: boolean) => {};
    const consent = (tell: typeof onChange) => {
      onChange = tell;
      return new Promise<boolean>(() => {});
    };
    const used: unknown[] = [];
    const real = localStorage;
    const get = (_: Storage, name: 'getItem') => {
      used.push(name);
      return real[name].bind(real);
    };
    vi.stubGlobal('localStorage', new Proxy(real, { get }));
    const { gpt, session } = await connect({ consent });
    await session.clear();
    onChange(false);
    await fixture.settle();
    expect([new Set(used), gpt.pushes]).toEqual([new Set(['getItem']), []]);
    onChange(true);
    await session.setTokens(await userOf('user'));
    await fixture.settle();
    expect([used.includes('setItem'), gpt.pushes]).toEqual([true, [UID2]]);
    onChange(false);
    await fixture.settle();
    vi.stubGlobal('localStorage', real);
    expect(stored()).toEqual([]);
  });

  test('that is full: the cache is still cleared by a tag that loads later on this page', async () => {
    const gpt = createGpt(new Map([[UID2, 'former']]), 'ima');
    const { session } = open({ tokens: await userOf('user') });
    await connected(session);
    const real = localStorage;
    const refuse = throwing(new DOMException('full', 'QuotaExceededError'));
    const get = (_: Storage, name: 'getItem') => (`${name}` === 'setItem' ? refuse : real[name].bind(real));
    vi.stubGlobal('localStorage', new Proxy(real, { get }));
    await session.setTokens(await userOf('other'));
    await fixture.settle();
    gpt.load();
    await fixture.settle();
    expect([gpt.cleared(), gpt.cache.get(UID2)]).toEqual([1, session.advertisingToken]);
  });

  test.each<readonly [what: string, get: () => unknown]>([
    ['is denied, as in a sandboxed frame', throwing(new DOMException('denied', 'SecurityError'))],
    ['is missing', () => undefined],
    ['is null, as in some webviews', () => null],
  ])('that %s: the cache is still cleared when the user changes on this page', async (_, get) => {
    const real = Object.getOwnPropertyDescriptor(globalThis, 'localStorage')!;
    Object.defineProperty(globalThis, 'localStorage', { configurable: true, get });
    onTestFinished(() => void Object.defineProperty(globalThis, 'localStorage', real));
    const { gpt, session } = await connect();
    expect(gpt.cleared()).toBe(0);
    await session.setTokens(await userOf('other'));
    await fixture.settle();
    expect([gpt.cleared(), gpt.cache.get(UID2)]).toEqual([1, session.advertisingToken]);
    await session.clear();
    await fixture.settle();
    expect(gpt.cleared()).toBe(2);
  });
});

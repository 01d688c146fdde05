/** An attempt begins only when the one before it has ended: it would find its own page's lock taken, and wait for itself. */

import { beforeEach, describe, expect, test, vi } from 'vitest';
import { memoryStore, type Session, type SessionOptions, type Store } from '../../src/session/index.ts';
import type { SessionRecord } from '../../src/session/rules/record.ts';
import { DAY, loaded, MINUTE, names, START, until } from '../support/clock.ts';
import { controlledConsent } from './consent-fixture.ts';
import {
  dispatch,
  fakeLocks,
  fixtureForEachTest,
  hangs,
  offline,
  openTwoTabs,
  recordOf,
  rotate,
  success,
} from './fixtures.ts';

type ProvideOption = NonNullable<SessionOptions['provide']>;

const fixture = fixtureForEachTest();
beforeEach(() => void fakeLocks());

test('a set that is due when `provide` returns it is refreshed at once', async () => {
  const { session } = fixture.open({ provide: async () => success(5, Date.now() - 20 * MINUTE) });
  await until(() => session.advertisingToken === 'advertising-6');
  expect(Date.now() - START).toBeLessThan(1000);
});

test('a page whose call of `provide` is void, because another user has signed in elsewhere, asks again at once', async () => {
  let calls = 0;
  const provide: ProvideOption = ({ signal }) =>
    new Promise((resolve, reject) => {
      if (++calls > 1) resolve(success(2));
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  const name = 'another-user-elsewhere';
  const store = memoryStore();
  const { session } = fixture.open({ store, name, provide });
  await until(() => calls === 1);
  // This page has nobody to ask.
  const elsewhere = await loaded(fixture.open({ store, name }));
  await elsewhere.session.signIn({ user: 'account-2' }).catch(() => {});
  await until(() => session.advertisingToken === 'advertising-2');
  expect(Date.now() - START).toBeLessThan(1000);
});

test.each([
  ['with Web Locks', () => void fakeLocks()],
  ['without Web Locks', () => void Reflect.deleteProperty(navigator, 'locks')],
])('a `provide` whose sets are always past their end is called with back-off, %s', async (_, prepare) => {
  prepare();
  let calls = 0;
  const provide: ProvideOption = async () => {
    calls++;
    return success(calls, Date.now() - 2 * DAY);
  };
  await loaded(fixture.open({ provide, refresh: 'off' }));
  await fixture.advance(10 * MINUTE);
  expect(calls).toBeGreaterThan(3);
  expect(calls).toBeLessThan(30);
});

test('a failure of `provide` that comes after a logout in another tab is ignored, and nobody is asked again', async () => {
  vi.stubGlobal('BroadcastChannel', undefined);
  const store = memoryStore();
  let fail = () => {};
  const provide = vi.fn(() => new Promise<never>((_, reject) => (fail = () => reject(new Error('late')))));
  const { session, events } = fixture.open({ store, provide });
  await until(() => provide.mock.calls.length === 1);
  const other = fixture.open({ store });
  await other.session.clear();
  fail();
  await fixture.settle();
  expect(provide).toHaveBeenCalledTimes(1);
  expect(session.state.lastError).toBeUndefined();
  expect(names(events)).toEqual([]);
});

test('a set that the page supplies while the previous set’s failure is written has not failed', async () => {
  const inner = memoryStore(recordOf(1));
  let write = () => {};
  let isSlow = false;
  const update: Store['update'] = async (change) => {
    if (isSlow) await new Promise<void>((resolve) => (write = resolve));
    return inner.update(change);
  };
  const { session, events } = await loaded(fixture.open({ store: { ...inner, update } }));
  fixture.serve(async () => {
    isSlow = true;
    return new Response('', { status: 503 });
  });
  const refreshed = session.refresh();
  await until(() => isSlow);
  await fixture.settle();
  isSlow = false;
  const supplied = session.setTokens(success(7));
  write();
  await supplied;
  await refreshed;
  await fixture.settle();
  expect(session.state.lastError).toBeUndefined();
  expect(names(events)).toEqual(['token load', 'token set']);
});

test('the failure of a refresh is written before another tab can obtain the lock', async () => {
  const locks = fakeLocks();
  const inner = memoryStore(recordOf(1));
  const failures: { isLockHeld: boolean }[] = [];
  const update: Store['update'] = async (change) => {
    const isLockHeld = locks.held.size > 0;
    const stored = await inner.update(change);
    if ((stored as SessionRecord).retry?.waitUntil) failures.push({ isLockHeld });
    return stored;
  };
  fixture.serve(offline);
  const { session } = await loaded(fixture.open({ store: { ...inner, update } }));
  await expect(session.refresh()).rejects.toMatchObject({ code: 'network' });
  expect(failures).toEqual([{ isLockHeld: true }]);
});

test.each([
  ['with a label', { user: 'account-1' }],
  ['without one', undefined],
])(
  'a `provide` that calls `signIn` itself, %s, is called at most 15 times in 10 minutes, and the console names it',
  async (_, user) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    let calls = 0;
    const provide: ProvideOption = async () => {
      if (++calls < 100) void session.signIn(user).catch(() => {});
      return null;
    };
    const { session } = fixture.open({ provide });
    await fixture.advance(10 * MINUTE);
    expect(calls).toBeGreaterThan(3);
    expect(calls).toBeLessThanOrEqual(15);
    expect(warn.mock.calls.flat().join('\n')).toContain('provide must not call it');
  },
);

describe('an abandoned attempt or call', () => {
  test('an attempt is announced: the tab that waits for it continues at once', async () => {
    const { fixture: tabs, a, b } = await openTwoTabs({ provide: async () => success(7) });
    tabs.serve(hangs);
    const refreshing = a.session.refresh().catch(() => {});
    await until(() => tabs.sent.length === 1);
    tabs.serve(rotate);
    await b.session.signIn();
    expect(b.session.advertisingToken).toBe('advertising-7');
    expect(Date.now() - START).toBeLessThan(1000);
    await refreshing;
  });

  test.each<[how: string, code: string, (session: Session, withdraw: () => void) => void]>([
    ['`close()`', 'closed', (session) => session.close()],
    ['the page that is left', 'no_token', () => dispatch('pagehide')],
    ['a withdrawal of consent', 'no_consent', (_, withdraw) => withdraw()],
  ])('by %s: a call of refresh() that waits for another tab rejects at once', async (name, code, abandon) => {
    fakeLocks().held.add(`${name}1`);
    const store = memoryStore({ ...recordOf(1), lease: { id: 1, at: START, isLocked: true } });
    const { consent, withdraw } = controlledConsent(true);
    const { session } = await loaded(fixture.open({ name, store, consent }));
    const refreshed = session.refresh().catch((error: unknown) => error);
    await fixture.settle();
    abandon(session, withdraw);
    await fixture.settle();
    expect(await Promise.race([refreshed, 'still waiting'])).toMatchObject({ code });
    expect(fixture.sent).toEqual([]);
  });
});

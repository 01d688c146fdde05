/** React hooks with the real React: in a page, on a server, and during hydration. */

import {
  Activity,
  type ActivityProps,
  act,
  createElement as h,
  StrictMode,
  Suspense,
  use,
  useEffect,
  useLayoutEffect,
} from 'react';
import { createRoot, hydrateRoot, type Root } from 'react-dom/client';
import { renderToString } from 'react-dom/server';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { TesseraProvider, useAdvertisingToken, useSession } from '../../src/page/react.ts';
import { connectSecureSignals } from '../../src/page/secure-signals.ts';
import { connectPrebid } from '../../src/page/user-id-module.ts';
import { memoryStore, type Session, type SessionOptions } from '../../src/session/index.ts';
import { restoreGlobals } from '../session/fixtures.ts';
import { MINUTE, until, useFakeClock } from '../support/clock.ts';
import { createOperatorFixture } from '../support/fixtures.ts';

let fixture: ReturnType<typeof createOperatorFixture>;
let roots: Root[] = [];
let errors: unknown[] = [];

beforeEach(() => {
  useFakeClock();
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
  // React reports mistakes of a component there.
  errors = [];
  vi.spyOn(console, 'error').mockImplementation((...said) => void errors.push(said));
  fixture = createOperatorFixture();
  roots = [];
});
afterEach(async () => {
  await act(async () => {
    for (const root of roots) root.unmount();
  });
  fixture.close();
  await restoreGlobals();
  document.body.innerHTML = '';
});

const place = (html = '') => {
  const element = document.createElement('main');
  element.innerHTML = html;
  document.body.append(element);
  return element;
};
const mount = async (node: React.ReactNode, element = place()) => {
  const root = createRoot(element);
  roots.push(root);
  await act(async () => root.render(node));
  return { element, root };
};
/** Wait until nothing is pending, and React has rendered. */
const settle = (ms = 0) => act(() => fixture.advance(ms));

const createProbe = () => {
  const renders: [phase: string | undefined, token: string | undefined][] = [];
  const sessions: Session[] = [];
  const Probe = ({ given }: { given: Session | SessionOptions }) => {
    const { session, state } = useSession(given);
    const token = useAdvertisingToken(session);
    renders.push([state?.phase, token]);
    if (session && !sessions.includes(session)) sessions.push(session);
    return h('p', null, `${state?.phase ?? 'no session'}: ${token ?? 'no token'}`);
  };
  return { Probe, renders, sessions };
};

const optionsWith = async (more: Partial<SessionOptions> = {}): Promise<SessionOptions> => ({
  baseUrl: fixture.baseUrl,
  fetch: fixture.fetch,
  store: memoryStore(),
  tokens: await fixture.answerFor('user@example.com'),
  ...more,
});

describe('in a page', () => {
  test('shows phase and token of a session that is passed in, and each change', async () => {
    const { session } = fixture.open({ tokens: await fixture.answerFor('user@example.com') });
    const { Probe } = createProbe();
    const { element } = await mount(h(Probe, { given: session }));
    await settle();
    const first = session.advertisingToken;
    expect(element.textContent).toBe(`fresh: ${first}`);

    await settle(15 * MINUTE);
    expect(session.advertisingToken).not.toBe(first);
    expect(element.textContent).toBe(`fresh: ${session.advertisingToken}`);

    await act(async () => void session.clear());
    expect(element.textContent).toBe('empty: no token');
  });

  test('a component that uses only the token renders only when it changes', async () => {
    const { session } = fixture.open({ tokens: await fixture.answerFor('user@example.com') });
    await fixture.settle();
    const seen: unknown[] = [];
    const Bare = () => {
      seen.push(useAdvertisingToken(session));
      return null;
    };
    await mount(h(Bare));
    fixture.network(async () => new Response(null, { status: 503 }));
    await settle(16 * MINUTE);
    expect(session.state.lastError?.code).toBe('http_status');
    expect(seen).toEqual([session.advertisingToken]);
  });

  test('creates a session from options, and closes it at unmount', async () => {
    const { Probe, sessions } = createProbe();
    const { element, root } = await mount(h(Probe, { given: await optionsWith() }));
    await settle();
    expect(sessions).toHaveLength(1);
    expect(element.textContent).toBe(`fresh: ${sessions[0]!.advertisingToken}`);
    await act(async () => root.render(null));
    await expect(sessions[0]!.getToken()).rejects.toMatchObject({ code: 'closed' });
    expect(vi.getTimerCount()).toBe(0);
  });

  test('takes options for options, although a link has set a member that only a session has', async () => {
    const { Probe, sessions } = createProbe();
    const given = await optionsWith();
    Object.assign(Object.prototype, { subscribe: 'planted' });
    onTestFinished(() => void Reflect.deleteProperty(Object.prototype, 'subscribe'));
    const { element } = await mount(h(Probe, { given }));
    await settle();
    expect(element.textContent).toBe(`fresh: ${sessions[0]?.advertisingToken}`);
  });

  test('keeps its session for new options objects, and calls the latest provide', async () => {
    const { Probe, sessions } = createProbe();
    const [first, second] = [vi.fn(async () => null), vi.fn(async () => null)];
    const options = await optionsWith({ tokens: undefined });
    const { root } = await mount(h(Probe, { given: { ...options, provide: first } }));
    await settle();
    await act(async () => root.render(h(Probe, { given: { ...options, provide: second } })));
    await act(async () => void sessions[0]!.refresh());
    await settle();
    expect(sessions).toHaveLength(1);
    expect([first.mock.calls.length, second.mock.calls.length]).toEqual([1, 1]);
  });

  test('calls the provide of the render that is on the page, also from a layout effect of a child', async () => {
    const asked: string[] = [];
    let session: Session | undefined;
    const Child = ({ user }: { user: string }) => {
      // biome-ignore lint/correctness/useExhaustiveDependencies: as a page does when another user signs in.
      useLayoutEffect(() => void session?.refresh().catch(() => {}), [user]);
      return null;
    };
    const options = await optionsWith({ tokens: undefined });
    const Parent = ({ user }: { user: string }) => {
      session = useSession({ ...options, provide: async () => void asked.push(user) as never }).session;
      return h(Child, { user });
    };
    const { root } = await mount(h(Parent, { user: 'first' }));
    await settle();
    // Not inside `act`, which would run the passive effects before anything else.
    vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', false);
    root.render(h(Parent, { user: 'second' }));
    await until(() => asked.length > 1);
    vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
    expect(asked).toEqual(['first', 'second']);
  });

  test('a provide that a later render adds is called, and one that a later render removes is not', async () => {
    const { Probe } = createProbe();
    const provide = vi.fn(async () => fixture.answerFor('user@example.com'));
    const options = await optionsWith({ tokens: undefined });
    const { root, element } = await mount(h(Probe, { given: options }));
    await settle();
    expect(element.textContent).toBe('empty: no token');
    await act(async () => root.render(h(Probe, { given: { ...options, provide } })));
    await settle();
    expect(element.textContent).toMatch(/^fresh: /);
    expect(provide).toHaveBeenCalledOnce();
    await act(async () => root.render(h(Probe, { given: options })));
    await settle();
    expect(element.textContent).toMatch(/^fresh: /);
    expect(provide).toHaveBeenCalledOnce();
  });

  test('creates another session for another name', async () => {
    const { Probe, sessions } = createProbe();
    const { root } = await mount(h(Probe, { given: await optionsWith({ name: 'one' }) }));
    await settle();
    await act(async () =>
      root.render(h(Probe, { given: { ...({} as object), baseUrl: fixture.baseUrl, name: 'two' } })),
    );
    await settle();
    expect(sessions).toHaveLength(2);
    await expect(sessions[0]!.getToken()).rejects.toMatchObject({ code: 'closed' });
  });

  test('`user: null` after no label creates another session, and a set with a label is ended', async () => {
    const { Probe, sessions } = createProbe();
    const labelled = await optionsWith({ name: 'nobody', user: 'account-a' });
    const { root, element } = await mount(h(Probe, { key: 'labelled', given: labelled }));
    await settle();
    const options = { ...labelled, tokens: undefined, user: undefined };
    await act(async () => root.render(h(Probe, { key: 'next', given: options })));
    await settle();
    expect(element.textContent).toMatch(/^fresh: /);
    await act(async () => root.render(h(Probe, { key: 'next', given: { ...options, user: null } })));
    await settle();
    expect(sessions).toHaveLength(3);
    expect(element.textContent).toBe('empty: no token');
  });

  test.each([
    ['account-a', 'account-b'],
    ['account-a', null],
  ])(
    'after a change of `user` from %s to %s no render and no effect of a child sees the former session',
    async (first, second) => {
      type User = string | null | undefined;
      const seen: [user: User, token: string | undefined][] = [];
      const Child = ({ user, token }: { user: User; token: string | undefined }) => {
        useLayoutEffect(() => void seen.push([user, token]));
        return null;
      };
      const Parent = ({ given, user }: { given: SessionOptions; user: User }) =>
        h(Child, { user, token: useAdvertisingToken(useSession({ ...given, user }).session) });
      const given = await optionsWith();
      const { root } = await mount(h(Parent, { given, user: first }));
      await settle();
      const former = seen.at(-1)![1]!;
      expect(former).toBeDefined();
      await act(async () => root.render(h(Parent, { given: { ...given, tokens: undefined }, user: second })));
      await settle();
      const later = seen.filter(([user]) => user === second);
      expect(later.length).toBeGreaterThan(0);
      expect(later.filter(([, token]) => token === former)).toEqual([]);
    },
  );

  test('StrictMode: one session is open although effects run twice', async () => {
    const { Probe, sessions } = createProbe();
    const { element, root } = await mount(h(StrictMode, null, h(Probe, { given: await optionsWith() })));
    await settle();
    const [alive, ...others] = [...sessions].reverse();
    expect(element.textContent).toBe(`fresh: ${alive!.advertisingToken}`);
    for (const other of others) await expect(other.getToken()).rejects.toMatchObject({ code: 'closed' });
    for (let round = 0; round < 20; round++) {
      await act(async () => root.render(h(StrictMode, null, null)));
      expect(vi.getTimerCount()).toBe(0);
      await act(async () => root.render(h(StrictMode, null, h(Probe, { given: await optionsWith() }))));
      await settle();
      expect(vi.getTimerCount()).toBe(1);
    }
    expect(errors).toEqual([]);
  });

  test('Suspense keeps the session of a component that it hides, and a new component has one only when it is shown', async () => {
    const { Probe, sessions } = createProbe();
    const given = await optionsWith();
    let arrive = () => {};
    const comes = new Promise<string>((resolve) => (arrive = () => resolve('arrived')));
    const Slow = () => use(comes);
    const page = (...more: React.ReactNode[]) => h(Suspense, { fallback: 'waiting' }, h(Probe, { given }), ...more);
    const { element, root } = await mount(page());
    await settle();
    const shown = element.textContent;
    await act(async () => root.render(page(h(Slow, { key: 'slow' }), h(Probe, { key: 'second', given }))));
    await settle(16 * MINUTE);
    expect(element.textContent).toContain('waiting');
    expect(sessions).toHaveLength(1);
    expect(sessions[0]!.advertisingToken).not.toBe(shown!.replace('fresh: ', ''));
    await act(async () => arrive());
    await settle();
    expect(element.textContent).toContain(`fresh: ${sessions[0]!.advertisingToken}arrived`);
    expect(sessions).toHaveLength(2);
    expect(errors).toEqual([]);
  });

  test('a hidden Activity has no open session; shown again, it has the stored set', async () => {
    const { Probe, sessions } = createProbe();
    const given = await optionsWith();
    const page = (mode: 'visible' | 'hidden') => h(Activity, { mode } as ActivityProps, h(Probe, { given }));
    const { element, root } = await mount(page('visible'));
    await settle();
    const [first] = sessions;
    const token = first!.advertisingToken;
    await act(async () => root.render(page('hidden')));
    expect(vi.getTimerCount()).toBe(0);
    await act(async () => root.render(page('visible')));
    await settle();
    await expect(first!.getToken()).rejects.toMatchObject({ code: 'closed' });
    expect(sessions.at(-1)).not.toBe(first);
    expect(element.textContent).toBe(`fresh: ${token}`);
    expect(errors).toEqual([]);
  });
});

describe('a provider', () => {
  const Below = () => h('p', null, `${useSession().state?.phase}: ${useAdvertisingToken()}`);

  test('creates one session from options for all components below, and closes it at unmount', async () => {
    const { Probe, sessions } = createProbe();
    const Spy = () =>
      h(Probe, { given: useSession().session ?? { baseUrl: 'https://unused.example', consent: () => false } });
    const options = await optionsWith();
    const { element, root } = await mount(h(StrictMode, null, h(TesseraProvider, { options }, h(Below), h(Below))));
    await settle();
    const [one, other] = [...element.querySelectorAll('p')].map(({ textContent }) => textContent);
    expect(one).toMatch(/^fresh: A/);
    expect(other).toBe(one);
    await act(async () => root.render(h(TesseraProvider, { options }, h(Spy))));
    await settle();
    await act(async () => root.render(null));
    await expect(sessions.at(-1)!.getToken()).rejects.toMatchObject({ code: 'closed' });
    expect(vi.getTimerCount()).toBe(0);
    expect(errors).toEqual([]);
  });

  test('connects the adapters of docs/pages/react.md in effects: rendered on a server, in StrictMode, for another user', async () => {
    let userSync: { userIds?: { value: unknown }[] } = {};
    const pbjs = {
      que: { push: (call: () => void) => call() },
      getConfig: () => userSync,
      setConfig: (config: { userSync: typeof userSync }) => void (userSync = config.userSync),
      onEvent: () => {},
      offEvent: () => {},
    };
    const pushed: { collectorFunction(): Promise<string> }[] = [];
    vi.stubGlobal('pbjs', pbjs);
    vi.stubGlobal('googletag', { cmd: [], secureSignalProviders: pushed });
    const Adapters = () => {
      const { session } = useSession();
      useEffect(() => session && connectPrebid(session), [session]);
      useEffect(() => session && connectSecureSignals(session), [session]);
      return h(Below);
    };
    const first = { ...(await optionsWith()), user: 'account-a' };
    const appOf = (options: SessionOptions) => h(StrictMode, null, h(TesseraProvider, { options }, h(Adapters)));
    expect(() => renderToString(appOf(first))).not.toThrow();
    const { element, root } = await mount(appOf(first));
    const check = async () => {
      const token = /fresh: (.*)/.exec(element.textContent)![1];
      expect(userSync.userIds).toEqual([expect.objectContaining({ value: { uid2: { id: token } } })]);
      expect(pushed).toHaveLength(1);
      expect(await pushed[0]!.collectorFunction()).toBe(token);
      return token;
    };
    await settle();
    const former = await check();
    // A set that expires later than the former user's.
    vi.setSystemTime(Date.now() + 1_000);
    const other = { ...first, user: 'account-b', tokens: await fixture.answerFor('other@example.com') };
    await act(async () => root.render(appOf(other)));
    await settle();
    expect(await check()).not.toBe(former);
    await act(async () => root.render(null));
    expect(userSync.userIds).toEqual([expect.objectContaining({ value: { uid2: {} } })]);
    expect(errors).toEqual([]);
  });

  test('causes an error that names it if it is missing', async () => {
    await expect(mount(h(Below))).rejects.toThrow('useSession: expected a <TesseraProvider> above this component');
    const Token = () => useAdvertisingToken() ?? null;
    await expect(mount(h(Token))).rejects.toThrow('useAdvertisingToken: expected a <TesseraProvider>');
  });

  test('refuses options beside a session', async () => {
    const { session } = fixture.open();
    const both = { options: await optionsWith(), session };
    await expect(mount(h(TesseraProvider, both))).rejects.toThrow('expected one of options and session, got both');
  });

  test('refuses an option of the session beside its options: it would have no effect', async () => {
    const props = { options: await optionsWith(), consent: () => false };
    await expect(mount(h(TesseraProvider, props))).rejects.toThrow('TesseraProvider: consent: unknown property');
    expect(fixture.requests).toEqual([]);
  });

  test.each([
    ['a script tag, where it is undefined until then', { session: undefined }],
    ['a server component, from which React passes no property that is undefined', {}],
  ])('accepts a session that comes later, as from %s', async (_, none) => {
    const { session } = fixture.open({ tokens: await fixture.answerFor('user@example.com') });
    const nodeOf = (given: Session | undefined) => h(TesseraProvider, given ? { session: given } : none, h(Below));
    const element = place(renderToString(nodeOf(undefined)));
    expect(element.textContent).toBe('undefined: undefined');
    const { root } = await mount(nodeOf(undefined), element);
    await act(async () => root.render(nodeOf(session)));
    await settle();
    expect(element.textContent).toBe(`fresh: ${session.advertisingToken}`);
    expect(errors).toEqual([]);
  });
});

describe('on a server', () => {
  test('there is no session and no token, and no browser API is used', async () => {
    const options = await optionsWith();
    const fetch = vi.fn(fixture.fetch);
    for (const name of ['indexedDB', 'localStorage', 'BroadcastChannel', 'navigator', 'window', 'document']) {
      vi.stubGlobal(name, undefined);
    }
    const { Probe, sessions } = createProbe();
    const html = renderToString(h(Probe, { given: { ...options, fetch, store: undefined } }));
    vi.unstubAllGlobals();
    expect(html).toBe('<p>no session: no token</p>');
    expect(sessions).toEqual([]);
    expect(fetch).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  test('hydration matches the server’s markup, then shows the session', async () => {
    const { session } = fixture.open({ tokens: await fixture.answerFor('user@example.com') });
    await until(() => session.advertisingToken);
    const { Probe, renders } = createProbe();
    const node = h(StrictMode, null, h(Probe, { given: session }));
    const element = place(renderToString(node));
    renders.length = 0;
    const recovered: unknown[] = [];
    await act(async () => {
      roots.push(hydrateRoot(element, node, { onRecoverableError: (error) => recovered.push(error) }));
    });
    expect(renders[0]).toEqual([undefined, undefined]);
    expect(element.textContent).toBe(`fresh: ${session.advertisingToken}`);
    expect([recovered, errors]).toEqual([[], []]);
  });

  test('hydration with options creates the session only in the page', async () => {
    const { Probe, sessions } = createProbe();
    const node = h(Probe, { given: await optionsWith() });
    const element = place(renderToString(node));
    expect(sessions).toEqual([]);
    await act(async () => void roots.push(hydrateRoot(element, node)));
    await settle();
    expect(sessions).toHaveLength(1);
    expect(element.textContent).toBe(`fresh: ${sessions[0]!.advertisingToken}`);
    expect(errors).toEqual([]);
  });
});

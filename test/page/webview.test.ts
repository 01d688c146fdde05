/** A page inside a native app: a real session and a real operator; the native side is simulated. */

import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { inspect } from '../../src/page/inspector.ts';
import { connectWebview, type Message, type WebviewLink, type WebviewOptions } from '../../src/page/webview.ts';
import type { Session, SessionOptions } from '../../src/session/index.ts';
import { restoreGlobals, watchRejections } from '../session/fixtures.ts';
import { DAY, HOUR, loaded, MINUTE, until, useFakeClock } from '../support/clock.ts';
import { createOperatorFixture } from '../support/fixtures.ts';
import { CHANNEL, createHost, KINDS, leaveHost, postHere } from '../support/native.ts';

let fixture: ReturnType<typeof createOperatorFixture>;
let links: WebviewLink[] = [];

beforeEach(() => {
  useFakeClock();
  fixture = createOperatorFixture();
  links = [];
});
afterEach(async () => {
  for (const link of links) link.disconnect();
  fixture.close();
  expect(vi.getTimerCount()).toBe(0);
  await restoreGlobals();
  leaveHost();
});

/** Answers the greeting of the page, and nothing else. */
const greets = ({ type }: Message) => (type === 'hello' ? {} : undefined);
const arrivedHost = (...given: Parameters<typeof createHost>) => {
  const host = createHost(...given);
  host.arrive();
  return host;
};
const connect = (session: Session, options?: WebviewOptions) => {
  const link = connectWebview(session, options);
  links.push(link);
  return link;
};
const wireTokenOf = (answer: unknown) => (answer as { body: { advertising_token: string } }).body.advertising_token;
const userOf = (name: string) => fixture.answerFor(`${name}@example.com`);

/** A host that owns an identity and follows the protocol: it answers with its set, and accepts later messages of the page. */
const createOwner = (kind: (typeof KINDS)[number] = 'WKWebView') => {
  let set: unknown;
  let gen = 0;
  const host = createHost(kind, ({ type }) =>
    type === 'hello' ? { gen } : type === 'get' ? { gen, body: set } : undefined,
  );
  return {
    ...host,
    /** What it would answer; undefined: nobody is signed in. */
    hold: (next: unknown, raise = 1) => {
      gen += raise;
      set = next;
    },
    tell: () => host.say({ type: set ? 'set' : 'clear', gen, body: set }),
    gen: () => gen,
  };
};

const changesOf = (received: readonly Message[]) =>
  received
    .filter(({ kind }) => kind === 'evt')
    .map(({ type, gen, body }) => {
      const { phase, advertisingToken } = body as { phase: string; advertisingToken?: string };
      return [type, gen, phase, advertisingToken];
    });

describe.each(KINDS)('%s', (kind) => {
  test('the page owns: the host receives each token, logout and opt-out', async () => {
    const host = arrivedHost(kind, greets);
    const { session } = fixture.open();
    const link = connect(session);
    expect(await link.ready).toBe(true);
    await session.setTokens(await userOf('refresh-optout'));
    const first = session.advertisingToken;
    await session.clear();
    await session.setTokens(await userOf('user'));
    const second = session.advertisingToken;
    await session.refresh();
    const third = session.advertisingToken;
    await session.setTokens({ status: 'optout' });
    await fixture.settle();
    expect(new Set([first, second, third]).size).toBe(3);
    expect(changesOf(host.received)).toEqual([
      ['changed', 0, 'empty', undefined],
      ['changed', 1, 'fresh', first],
      ['changed', 2, 'empty', undefined],
      ['changed', 3, 'fresh', second],
      ['changed', 3, 'fresh', third],
      ['changed', 4, 'optedOut', undefined],
    ]);
    for (const text of host.received.map((message) => JSON.stringify(message))) {
      expect(text).not.toMatch(/refreshToken|responseKey|refresh_token/);
    }
  });

  test('the host owns: the page adopts its set at start and each later one, and never refreshes', async () => {
    const host = createOwner(kind);
    const first = await userOf('user');
    host.hold(first);
    host.arrive();
    const { session } = fixture.open({ refresh: 'off' });
    connect(session, { owner: 'host' });
    await until(() => session.advertisingToken);
    expect(session.advertisingToken).toBe(wireTokenOf(first));

    const next = await userOf('user');
    host.hold(next, 0);
    if (kind === 'WKWebView with reply')
      postHere(JSON.stringify({ v: 1, ns: 'tessera', kind: 'evt', type: 'set', gen: 1, body: next }));
    else host.tell();
    await until(() => session.advertisingToken === wireTokenOf(next));
    await fixture.advance(20 * MINUTE);
    expect(fixture.requests).toEqual([]);
  });
});

describe('a bridge', () => {
  test.each([0, 400, 2700])('that is installed after %i ms is found', async (ms) => {
    const host = createHost('React Native', greets);
    const { session } = fixture.open();
    const link = connect(session);
    await vi.advanceTimersByTimeAsync(ms);
    host.arrive();
    await vi.advanceTimersByTimeAsync(250);
    expect(await link.ready).toBe(true);
    expect(new Set(host.received.filter(({ type }) => type === 'hello').map(({ id }) => id)).size).toBe(1);
  });

  test('that is never installed: ready is false after three seconds, and the session works', async () => {
    const { session } = fixture.open({ tokens: await userOf('user') });
    const link = connect(session);
    let answered: boolean | undefined;
    void link.ready.then((there) => (answered = there));
    await vi.advanceTimersByTimeAsync(2900);
    expect(answered).toBeUndefined();
    await vi.advanceTimersByTimeAsync(400);
    expect(answered).toBe(false);
    expect(session.advertisingToken).toBeDefined();
  });

  test('that never answers: ready is false, and every greeting has the same id', async () => {
    const host = arrivedHost('Android');
    const { session } = fixture.open();
    const link = connect(session);
    await vi.advanceTimersByTimeAsync(5000);
    expect(await link.ready).toBe(false);
    expect(host.received.length).toBeGreaterThan(5);
    expect(host.received.length).toBeLessThan(14);
    expect(new Set(host.received.map(({ id }) => id)).size).toBe(1);
  });

  test('that answers the greeting only after three seconds: ready is false, and it is linked once', async () => {
    const set = await userOf('user');
    const host = arrivedHost('Android', ({ type }) => (type === 'get' ? { gen: 2, body: set } : undefined));
    const { session } = fixture.open({ refresh: 'off' });
    const link = connect(session, { owner: 'host' });
    await vi.advanceTimersByTimeAsync(5000);
    expect(await link.ready).toBe(false);
    const { id } = host.received[0]!;
    for (const _ of [1, 2]) host.say({ kind: 'res', type: 'hello', id, gen: 2 });
    await until(() => session.advertisingToken);
    await fixture.settle();
    expect(changesOf(host.received)).toEqual([
      ['changed', 2, 'empty', undefined],
      ['changed', 2, 'fresh', wireTokenOf(set)],
    ]);
  });

  test('that greets later by itself is answered with its id, and linked', async () => {
    const { session } = fixture.open({ tokens: await userOf('user') });
    const link = connect(session);
    await vi.advanceTimersByTimeAsync(5000);
    expect(await link.ready).toBe(false);
    const host = arrivedHost('WKWebView');
    host.say({ kind: 'req', type: 'hello', id: 'host-1', gen: 5 });
    await fixture.settle();
    const answer = host.received.find(({ kind }) => kind === 'res');
    expect(answer).toMatchObject({ id: 'host-1', type: 'hello', body: { advertisingToken: session.advertisingToken } });
    expect(changesOf(host.received)).toHaveLength(1);
  });

  test('neither receives nor sends anything after disconnect', async () => {
    const host = createOwner();
    host.arrive();
    const { session } = fixture.open();
    const link = connect(session);
    await link.ready;
    link.disconnect();
    const before = host.received.length;
    host.hold(await userOf('user'));
    host.tell();
    await session.setTokens(await userOf('other'));
    const own = session.advertisingToken;
    await fixture.settle();
    expect(host.received).toHaveLength(before);
    expect(session.advertisingToken).toBe(own);
  });
});

describe('after disconnect', () => {
  test.each(['WKWebView with reply', 'Android'] as const)(
    'before the stored state is known, %s receives no token',
    async (kind) => {
      const host = arrivedHost(kind, greets);
      const { session } = fixture.open({ tokens: await userOf('user') });
      const link = connect(session);
      host.say({ kind: 'req', type: 'hello', id: 'host-1' });
      await Promise.resolve();
      link.disconnect();
      const before = host.received.length;
      await fixture.settle();
      expect(await link.ready).toBe(false);
      expect(host.received.slice(before)).toEqual([]);
    },
  );

  test('the Android object keeps only the listener of other code', async () => {
    const port = { postMessage: () => {}, onmessage: null as unknown };
    Object.assign(window, { [CHANNEL]: port });
    const { session } = fixture.open();
    connect(session).disconnect();
    expect(port.onmessage).toBeNull();
    const link = connect(session);
    const other = () => {};
    port.onmessage = other;
    link.disconnect();
    expect(port.onmessage).toBe(other);
    await fixture.settle();
  });

  test.each(['the handle', 'a promise of the handle'])('the listener of Capacitor is removed: %s', async (what) => {
    const remove = vi.fn();
    const addListener = () => (what === 'the handle' ? { remove } : Promise.resolve({ remove }));
    Object.assign(window, { Capacitor: { Plugins: { [CHANNEL]: { postMessage: async () => {}, addListener } } } });
    connect(fixture.open().session).disconnect();
    await fixture.settle();
    expect(remove).toHaveBeenCalledOnce();
  });
});

describe('a value that is not a host', () => {
  // As browsers do: named elements and frames are properties of an object in the prototype chain of `window`.
  const properties = Object.getPrototypeOf(window) as object;
  afterEach(() => void Reflect.deleteProperty(properties, CHANNEL));

  test('an element or a frame of that name', async () => {
    const received: unknown[] = [];
    const element = { postMessage: (text: unknown) => received.push(text), onmessage: undefined };
    Object.defineProperty(properties, CHANNEL, { value: element, configurable: true });
    const { session } = fixture.open({ tokens: await userOf('user') });
    const link = connect(session);
    arrivedHost('React Native', greets);
    await vi.advanceTimersByTimeAsync(250);
    expect(await link.ready).toBe(true);
    expect([received, element.onmessage]).toEqual([[], undefined]);
  });

  test('a property that throws', async () => {
    const refuse = () => {
      throw new DOMException('refused', 'SecurityError');
    };
    Object.defineProperty(window, 'Capacitor', { get: refuse, configurable: true });
    Object.defineProperty(window, CHANNEL, { get: refuse, configurable: true });
    createHost('WKWebView', greets).arrive();
    expect(await connect(fixture.open().session).ready).toBe(true);
  });
});

test.each(['Android', 'WKWebView'] as const)(
  'in a Capacitor app, whose other plugins have no such name, the host that is attached to its webview is found: %s',
  async (kind) => {
    Object.assign(window, { Capacitor: { Plugins: { App: { addListener: async () => {} } } } });
    const host = arrivedHost(kind, greets);
    const { session } = fixture.open({ tokens: await userOf('user') });
    expect(await connect(session).ready).toBe(true);
    expect(changesOf(host.received)).toEqual([['changed', 1, 'fresh', session.advertisingToken]]);
  },
);

test('a Capacitor plugin that has no implementation, as in a browser, causes no unhandled rejection', async () => {
  const rejections = watchRejections();
  onTestFinished(rejections.stop);
  // What `registerPlugin` returns: every method rejects.
  const refuse = async () => {
    throw Object.assign(new Error('not implemented on web'), { code: 'UNIMPLEMENTED' });
  };
  const plugin = { postMessage: refuse, addListener: refuse };
  Object.assign(window, { Capacitor: { Plugins: { [CHANNEL]: plugin } } });
  const link = connect(fixture.open().session);
  await vi.advanceTimersByTimeAsync(4000);
  expect(await link.ready).toBe(false);
  // Node reports a rejection after the microtasks of the task.
  await new Promise(setImmediate);
  expect(rejections.seen).toEqual([]);
});

test('a set that is nested too deeply to be written as JSON again is not a message, and causes no unhandled rejection', async () => {
  const rejections = watchRejections();
  onTestFinished(rejections.stop);
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const text = (message: object) => JSON.stringify({ v: 1, ns: 'tessera', gen: 1, ...message }).replace('"deep"', deep);
  const host = createHost('Android', (message) => {
    if (message.type === 'get')
      window.dispatchEvent(
        new MessageEvent('message', { data: text({ kind: 'res', id: message.id, type: 'get', body: 'deep' }) }),
      );
    return message.type === 'hello' ? { gen: 1 } : undefined;
  });
  host.arrive();
  const { session } = fixture.open({ refresh: 'off' });
  await connect(session, { owner: 'host' }).ready;
  postHere(text({ kind: 'req', id: '1', type: 'set', body: 'deep' }));
  await vi.advanceTimersByTimeAsync(4000);
  await new Promise(setImmediate);
  expect(rejections.seen).toEqual([]);
  expect(host.received.filter(({ kind }) => kind === 'res')).toEqual([]);
  expect(session.state.phase).toBe('empty');
});

describe('messages', () => {
  const open = async (options: WebviewOptions = {}, given: Partial<SessionOptions> = {}) => {
    const host = createOwner();
    host.arrive();
    const { session } = await loaded(fixture.open(given));
    await connect(session, options).ready;
    await fixture.settle();
    host.received.length = 0;
    return { host, session };
  };

  test('of an unknown version are rejected, unknown members ignored', async () => {
    const { host, session } = await open();
    const set = await userOf('user');
    host.say({ v: 2, kind: 'req', type: 'set', id: 'a', gen: 1, body: set });
    host.say({ v: 2, kind: 'evt', type: 'set', gen: 1, body: set });
    await fixture.settle();
    expect(session.advertisingToken).toBeUndefined();
    expect(host.received).toMatchObject([{ kind: 'res', id: 'a', error: 'version' }]);
    host.say({ kind: 'req', type: 'set', id: 'b', gen: 1, body: set, more: { of: 'this' } });
    await until(() => session.advertisingToken);
    await fixture.settle();
    expect(host.received.find(({ kind, id }) => kind === 'res' && id === 'b')).toMatchObject({
      body: { phase: 'fresh' },
    });
  });

  test('that are malformed change nothing', async () => {
    const { host, session } = await open();
    for (const data of [
      undefined,
      null,
      'x',
      '{',
      '1',
      '[]',
      '{}',
      'null',
      '{"ns":"tessera"}',
      42,
      { ns: 'tessera' },
    ]) {
      postHere(data);
    }
    postHere('{"ns":"other","v":1,"kind":"req","type":"clear","id":"1"}');
    await fixture.settle();
    expect(host.received).toEqual([]);
    expect(session.state.phase).toBe('empty');
  });

  test.each([
    ['a frame', { source: {} as Window, origin: 'https://page.example' }],
    ['a frame that is gone', { source: null, origin: 'https://evil.example' }],
    ['a sandboxed frame that is gone', { source: null, origin: 'null' }],
  ])('of %s are ignored', async (_, from) => {
    const { host, session } = await open();
    const message = { v: 1, ns: 'tessera', kind: 'req', type: 'set', id: 'x', gen: 9, body: await userOf('liar') };
    const event = new MessageEvent('message', { data: JSON.stringify(message) });
    for (const [name, value] of Object.entries(from)) Object.defineProperty(event, name, { value });
    window.dispatchEvent(event);
    await fixture.settle();
    expect([session.advertisingToken, host.received]).toEqual([undefined, []]);
  });

  test('of the webview, which have neither source nor origin, are accepted', async () => {
    const { session } = await open();
    const message = { v: 1, ns: 'tessera', kind: 'evt', type: 'set', gen: 9, body: await userOf('user') };
    window.dispatchEvent(new MessageEvent('message', { data: JSON.stringify(message) }));
    await until(() => session.advertisingToken);
  });

  test('with a malformed set are answered with the error code, and change nothing', async () => {
    const { host, session } = await open();
    host.say({ kind: 'req', type: 'set', id: 'x', gen: 1, body: { advertising_token: 'alone' } });
    await fixture.settle();
    expect(host.received).toMatchObject([{ kind: 'res', id: 'x', error: 'invalid_token_set' }]);
    expect(session.state.phase).toBe('empty');
  });

  test('announce each change once, even if refreshes fail repeatedly', async () => {
    const { host } = await open({}, { provide: () => Promise.reject(new Error('down')), timeoutMs: 1000 });
    await fixture.advance(60 * MINUTE);
    expect(changesOf(host.received)).toEqual([]);
  });

  test('get is answered with the state and the token', async () => {
    const { host, session } = await open({}, { tokens: await userOf('user') });
    host.say({ kind: 'req', type: 'get', id: 'x', gen: 9 });
    await fixture.settle();
    const { phase, expiresAt } = session.state;
    expect(host.received.at(-1)).toMatchObject({
      kind: 'res',
      id: 'x',
      body: { phase, expiresAt, advertisingToken: session.advertisingToken },
    });
  });
});

describe('the generation', () => {
  const openAdopting = async () => {
    const host = createOwner();
    host.hold(await userOf('user'));
    host.arrive();
    const { session } = fixture.open({ refresh: 'off' });
    const link = connect(session, { owner: 'host' });
    await until(() => session.advertisingToken);
    await fixture.settle();
    return { host, session, link };
  };

  test('a set that the host sent before it knew of a logout is rejected', async () => {
    const { host, session } = await openAdopting();
    host.received.length = 0;
    await session.clear();
    host.hold(await userOf('user'), 0);
    host.tell();
    await fixture.settle();
    expect(session.state.phase).toBe('empty');
    expect(changesOf(host.received)).toContainEqual(['changed', host.gen() + 1, 'empty', undefined]);
  });

  test('a late answer to get does not undo a logout', async () => {
    let answer = (_: object) => {};
    const host = arrivedHost('WKWebView with reply', ({ type }) => (type === 'hello' ? { gen: 3 } : undefined));
    const set = await userOf('user');
    const { session } = fixture.open({ refresh: 'off' });
    const link = connect(session, { owner: 'host' });
    await link.ready;
    await until(() => host.received.some(({ type }) => type === 'get'));
    const { id } = host.received.find(({ type }) => type === 'get')!;
    answer = (more) => postHere(JSON.stringify({ v: 1, ns: 'tessera', kind: 'res', type: 'get', id, ...more }));
    // The page signs somebody in, and out again, while the host looks.
    await session.setTokens(await userOf('other'));
    await session.clear();
    answer({ gen: 3, body: set });
    await fixture.settle();
    expect(session.state.phase).toBe('empty');
  });

  describe('an answer to get', () => {
    const open = async () => {
      const host = arrivedHost('React Native', greets);
      const { session } = fixture.open({ refresh: 'off' });
      await connect(session, { owner: 'host' }).ready;
      const ids = () => [...new Set(host.received.flatMap(({ type, id }) => (type === 'get' ? [id] : [])))];
      await until(() => ids().length);
      const answer = async (nth: number, body: unknown) => {
        host.say({ kind: 'res', type: 'get', id: ids()[nth], body });
        await fixture.settle();
      };
      return { session, host, ids, answer };
    };

    test('counts, however late it is', async () => {
      const { session, answer } = await open();
      await fixture.advance(HOUR);
      const set = await userOf('user');
      await answer(0, set);
      expect(session.advertisingToken).toBe(wireTokenOf(set));
    });

    test('does not count once a later request has been answered', async () => {
      const { session, host, ids, answer } = await open();
      const before = await userOf('user');
      // The page asks for the set of the same login again.
      host.say({ kind: 'req', type: 'hello', id: 'again' });
      await fixture.advance(MINUTE);
      expect(ids()).toHaveLength(2);
      const set = await userOf('user');
      await answer(1, set);
      await answer(0, before);
      expect(session.advertisingToken).toBe(wireTokenOf(set));
    });
  });

  test('a page without logins adopts the generation of the host', async () => {
    const host = createOwner();
    host.hold(await userOf('user'), 5);
    host.arrive();
    const { session } = await loaded(fixture.open({ refresh: 'off' }));
    await fixture.settle();
    connect(session, { owner: 'host' });
    await until(() => session.advertisingToken);
    await fixture.settle();
    expect(host.received.at(-1)).toMatchObject({ type: 'changed', gen: 5 });
  });

  test('messages before the greeting are rejected', async () => {
    const host = arrivedHost('Android');
    const { session } = fixture.open();
    connect(session);
    host.say({ kind: 'req', type: 'set', id: 'early', gen: 5, body: await userOf('user') });
    await fixture.settle();
    expect(host.received.at(-1)).toMatchObject({ kind: 'res', id: 'early', error: 'late' });
    expect(session.advertisingToken).toBeUndefined();
  });

  test('a logout before the greeting counts on top of the host’s generation', async () => {
    const host = createOwner();
    host.hold(await userOf('user'), 5);
    const { session } = fixture.open({ refresh: 'off', tokens: await userOf('user') });
    const link = connect(session, { owner: 'host' });
    await until(() => session.advertisingToken);
    await session.clear();
    host.arrive();
    await vi.advanceTimersByTimeAsync(500);
    expect(await link.ready).toBe(true);
    await fixture.settle();
    expect(session.state.phase).toBe('empty');
    expect(changesOf(host.received).at(-1)![1]).toBeGreaterThan(5);
  });

  test('a logout and a login of the host do not raise the generation', async () => {
    const { host, session } = await openAdopting();
    for (let round = 0; round < 3; round++) {
      host.hold(undefined);
      host.tell();
      await until(() => session.state.phase === 'empty');
      await fixture.settle();
      expect(host.received.at(-1)!.gen).toBe(host.gen());
      const next = await userOf(`user${round}`);
      host.hold(next);
      host.tell();
      await until(() => session.advertisingToken === wireTokenOf(next));
      await fixture.settle();
      expect(host.received.at(-1)!.gen).toBe(host.gen());
    }
  });

  test('a signed-in page that finds a host without a user is signed out', async () => {
    const host = createOwner();
    host.arrive();
    const { session } = fixture.open({ refresh: 'off' });
    await session.setTokens(await userOf('user'));
    await connect(session, { owner: 'host' }).ready;
    await until(() => session.state.phase === 'empty');
  });

  test('the host is asked again when its last set has expired', async () => {
    const { host, session } = await openAdopting();
    const next = await userOf('user');
    vi.setSystemTime(session.state.expiresAt!);
    host.hold(await userOf('user'), 0);
    expect(wireTokenOf(next)).not.toBe(session.advertisingToken);
    host.received.length = 0;
    await fixture.advance(MINUTE);
    expect(host.received.map(({ type }) => type)).toContain('get');
    expect(session.state.phase).toBe('fresh');
  });
});

describe('a host whose set has to wait for consent', () => {
  const open = async (first: () => boolean | Promise<boolean>) => {
    const host = createOwner();
    const set = await userOf('user');
    host.hold(set, 5);
    host.arrive();
    let change = (_: boolean) => {};
    const consent: SessionOptions['consent'] = (onChange) => {
      change = onChange;
      return first();
    };
    const { session } = fixture.open({ refresh: 'off', consent });
    await connect(session, { owner: 'host' }).ready;
    await fixture.settle();
    expect(session.state.waitingFor).toBe('consent');
    return { host, session, set, change: (granted: boolean) => change(granted) };
  };

  test('a later decision does not raise the generation: the set is still the host’s', async () => {
    const { host, session, set, change } = await open(() => new Promise(() => {}));
    change(true);
    await fixture.settle();
    expect(session.advertisingToken).toBe(wireTokenOf(set));
    expect(host.received.at(-1)).toMatchObject({ type: 'changed', gen: host.gen() });
    // A login in the page does.
    await session.setTokens(await userOf('other'));
    await fixture.settle();
    expect(host.received.at(-1)).toMatchObject({ type: 'changed', gen: host.gen() + 1 });
  });

  test('after a refusal, consent makes the page ask the host again at once', async () => {
    const { session, set, change } = await open(() => false);
    await fixture.advance(5_000);
    change(true);
    await fixture.settle();
    expect(session.advertisingToken).toBe(wireTokenOf(set));
  });
});

describe('a host whose set has ended', () => {
  const endedSet = async (n: number) => {
    const { body } = (await userOf('user')) as { body: object };
    const past = Date.now() - n * MINUTE;
    return { ...body, identity_expires: past, refresh_from: past, refresh_expires: past };
  };
  const open = async (answer: () => unknown) => {
    const host = createHost('WKWebView', ({ type }) => {
      if (type === 'hello') return { gen: 1 };
      return type === 'get' ? { gen: 1, body: answer() } : undefined;
    });
    host.arrive();
    const { session } = fixture.open({ refresh: 'off' });
    await connect(session, { owner: 'host' }).ready;
    return {
      session,
      count: () => new Set(host.received.filter(({ type }) => type === 'get').map(({ id }) => id)).size,
    };
  };

  test('is asked again after 30 seconds, and not once more for the same answer', async () => {
    const set = await endedSet(1);
    const { count } = await open(() => set);
    await fixture.advance(29_000);
    expect(count()).toBe(1);
    await fixture.advance(30 * MINUTE);
    expect(count()).toBe(2);
  });

  test('is asked again after 30 seconds although the clock was set back meanwhile', async () => {
    const set = await endedSet(1);
    const { count } = await open(() => set);
    vi.setSystemTime(Date.now() - DAY);
    await fixture.advance(31_000);
    expect(count()).toBe(2);
  });

  test('is asked at most every 30 seconds if its answers differ, and no more once it has a good one', async () => {
    const sets = [await endedSet(4), await endedSet(3), await endedSet(2)];
    const good = await userOf('user');
    const { session, count } = await open(() => sets.shift() ?? good);
    await fixture.advance(59_000);
    expect([count(), session.advertisingToken]).toEqual([2, undefined]);
    await fixture.advance(MINUTE);
    expect(session.advertisingToken).toBe(wireTokenOf(good));
    const asked = count();
    await fixture.advance(10 * MINUTE);
    expect(count()).toBe(asked);
  });
});

test.each(['page', 'host'] as const)('a page that is being left announces no logout: owner %s', async (owner) => {
  const host = createOwner();
  host.hold(await userOf('user'));
  host.arrive();
  const { session } = fixture.open({ refresh: owner === 'host' ? 'off' : 'auto' });
  if (owner === 'page') await session.setTokens(await userOf('user'));
  await connect(session, { owner }).ready;
  await until(() => session.advertisingToken);
  await fixture.settle();
  host.received.length = 0;
  for (const event of ['pagehide', 'pageshow', 'freeze', 'resume']) {
    window.dispatchEvent(new Event(event));
    await fixture.settle();
  }
  expect(session.state.phase).toBe('fresh');
  expect(
    changesOf(host.received).filter(([, gen, phase]) => phase === 'empty' || (gen as number) > host.gen()),
  ).toEqual([]);
  // A real logout is still told.
  await session.clear();
  await fixture.settle();
  expect(changesOf(host.received).at(-1)).toEqual(['changed', host.gen() + 1, 'empty', undefined]);
});

test('the option channel names the host’s object', async () => {
  arrivedHost('Android', greets);
  Object.assign(window, { myApp: Reflect.get(window, CHANNEL) });
  Reflect.deleteProperty(window, CHANNEL);
  const { session } = fixture.open();
  const link = connect(session, { channel: 'myApp' });
  expect(await link.ready).toBe(true);
  Reflect.deleteProperty(window, 'myApp');
});

describe('the development build explains, once for each mistake of the app,', () => {
  let warn: ReturnType<typeof vi.fn>;
  beforeEach(() => void (warn = vi.spyOn(console, 'warn').mockImplementation(() => {}) as never));
  afterEach(() => vi.restoreAllMocks());
  const said = () => warn.mock.calls.map(([text]) => text);
  const post = async (data: unknown) => {
    for (const _ of [1, 2]) {
      postHere(data);
      await fixture.settle();
    }
  };
  const message = (more: object) => JSON.stringify({ v: 1, ns: 'tessera', kind: 'evt', type: 'set', gen: 0, ...more });

  test.each<[string, unknown, string]>([
    [
      'an object instead of text',
      { v: 1, ns: 'tessera', kind: 'evt', type: 'clear', gen: 1 },
      'message: expected string, got object: send JSON text, such as JSON.stringify returns',
    ],
    [
      'text that is no JSON',
      "{'ns': 'tessera'}",
      'message: expected JSON, got text that does not parse: send JSON text, such as JSON.stringify returns',
    ],
    [
      'JSON that is encoded twice',
      JSON.stringify(message({})),
      'message: expected the JSON of an object, got it encoded twice',
    ],
    ['another version', message({ v: 2 }), 'v: expected the number 1, got 2'],
    ['a version as a string', message({ v: '1' }), 'v: expected the number 1, got "1"'],
    [
      'an unknown kind',
      message({ kind: 'event', gen: 4, type: 'get' }),
      'kind: expected one of req, res, evt, got "event"',
    ],
    [
      'an unknown type',
      message({ type: 'token', gen: 4 }),
      'type: expected one of hello, get, set, clear, got "token"',
    ],
    [
      'a response with the id of no request',
      message({ kind: 'res', id: '7' }),
      'id of a response: expected that of a request, got "7": repeat the id of the request',
    ],
    [
      'a late gen',
      message({ type: 'clear', gen: 3 }),
      'clear: gen: expected 4 or more, got 3: increment it on every sign-in and logout of the app, and adopt a higher one from the page',
    ],
  ])('%s', async (_, data, text) => {
    arrivedHost('WKWebView', ({ type }) => (type === 'hello' ? { gen: 4 } : undefined));
    await connect(fixture.open().session).ready;
    await post(data);
    expect(said()).toEqual([`[tessera] connectWebview: ${text}`]);
  });

  test('a message before hello', async () => {
    connect(fixture.open().session);
    await post(message({ type: 'clear', gen: 1 }));
    expect(said()).toEqual([
      '[tessera] connectWebview: clear: expected after hello: respond to the hello of the page first, or send one',
    ]);
  });

  test('that there is no app, or that it does not respond', async () => {
    const { session } = fixture.open();
    const first = connect(session, { timeoutMs: 500, channel: 'myApp' });
    await vi.advanceTimersByTimeAsync(1000);
    first.disconnect();
    createHost('Android').arrive();
    connect(session, { timeoutMs: 500 });
    await vi.advanceTimersByTimeAsync(1000);
    expect(said()).toEqual([
      '[tessera] connectWebview: no app around this page: expected ReactNativeWebView, webkit.messageHandlers.myApp, window.myApp or Capacitor.Plugins.myApp, got none within 500 ms. The page works on its own',
      '[tessera] connectWebview: the app has not responded to hello within 500 ms: send a res with the same id',
    ]);
  });

  test('nothing else: not the messages of other scripts, a repeated answer or a refusal of consent', async () => {
    const host = arrivedHost('WKWebView', ({ type }) => (type === 'hello' ? { gen: 4 } : undefined));
    const { session } = fixture.open({ consent: () => false });
    await connect(session).ready;
    for (const data of ['text', '{', '{}', 7, null, { ns: 'other' }, 'tessera', '"tessera"'.slice(1)]) await post(data);
    await post(message({ kind: 'res', type: 'hello', id: host.received[0]!.id }));
    await post(message({ gen: 4, body: (await userOf('user')) as object }));
    expect(said()).toEqual([]);
  });
});

test('the Inspector lists the messages without their bodies, and repeated ones once', async () => {
  const host = createHost('WKWebView', ({ type }) => (type === 'hello' ? { gen: 4 } : undefined));
  const { session } = fixture.open();
  const { report, stop } = inspect(session);
  const link = connect(session);
  await vi.advanceTimersByTimeAsync(600);
  host.arrive();
  await vi.advanceTimersByTimeAsync(250);
  await link.ready;
  const answer = await userOf('user');
  host.say({ type: 'set', gen: 3, body: answer });
  host.say({ type: 'set', gen: 5, body: answer });
  await fixture.settle();
  // Other scripts can dispatch the event too.
  window.dispatchEvent(
    new CustomEvent('tessera:message', { detail: { from: 'app', type: 'a secret', error: 'A secret' } }),
  );
  window.dispatchEvent(new CustomEvent('tessera:message'));
  expect(report().match(/(?<=Message: ).*/g)).toEqual([
    'page: req hello gen 0',
    'app: res hello gen 4',
    'page: evt changed gen 4',
    'app: evt set gen 3',
    'app: evt set gen 5',
    'page: evt changed gen 5',
    'app: undefined other gen NaN',
    'undefined: undefined other gen NaN',
  ]);
  expect(report()).not.toContain(wireTokenOf(answer));
  stop();
});

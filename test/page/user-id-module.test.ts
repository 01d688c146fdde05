/** What the real Prebid in a real browser (test/browser/prebid.test.ts) cannot show: a Prebid that loads late, or never. */

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { connectPrebid, type Prebid } from '../../src/page/user-id-module.ts';
import type { SessionOptions } from '../../src/session/index.ts';
import { restoreGlobals } from '../session/fixtures.ts';
import { MINUTE, useFakeClock } from '../support/clock.ts';
import { createOperatorFixture } from '../support/fixtures.ts';

const READER = 'user@example.com';

let fixture: ReturnType<typeof createOperatorFixture>;

beforeEach(() => {
  useFakeClock();
  fixture = createOperatorFixture();
});
afterEach(async () => {
  fixture.close();
  await restoreGlobals();
  Reflect.deleteProperty(window, 'pbjs');
});

/** Prebid's configuration. Until `load`, only the queue exists that a page's snippet creates. */
const createPrebid = (userIds: unknown = []) => {
  const waiting: (() => void)[] = [];
  const pbjs = { que: waiting } as Prebid & { que: unknown };
  let userSync: Record<string, unknown> = { syncDelay: 3000, userIds };
  return {
    pbjs,
    load: () => {
      pbjs.getConfig = () => userSync as never;
      pbjs.setConfig = (config) => (userSync = (config as { userSync: typeof userSync }).userSync);
      pbjs.onEvent = pbjs.offEvent = () => {};
      pbjs.que = { push: (call: () => void) => call() };
      for (const call of waiting) call();
    },
    config: () => userSync,
    own: () => (userSync['userIds'] as { name: string; value?: object }[]).find(({ name }) => name === 'uid2')?.value,
  };
};

const openSignedIn = async (options: Partial<SessionOptions> = {}) =>
  fixture.open({ tokens: await fixture.answerFor(READER), ...options }).session;
const openConnected = async (options?: Partial<SessionOptions>) => {
  const session = await openSignedIn(options);
  const prebid = createPrebid();
  prebid.load();
  connectPrebid(session, { pbjs: prebid.pbjs });
  await session.ready;
  await fixture.settle();
  return { session, ...prebid };
};

test('a call that is queued before Prebid loads sets the token that is current when it loads', async () => {
  const session = await openSignedIn();
  const { pbjs, load, config, own } = createPrebid([{ name: 'sharedId' }]);
  connectPrebid(session, { pbjs });
  await session.ready;
  await session.refresh();
  load();
  expect(own()).toEqual({ uid2: { id: session.advertisingToken } });
  expect(config()).toMatchObject({ syncDelay: 3000, userIds: [{ name: 'sharedId' }, {}], autoRefresh: true });
});

test('Prebid is configured once for each token, and not for other changes of the session', async () => {
  const { session, config, own } = await openConnected();
  expect(own()).toEqual({ uid2: { id: session.advertisingToken } });
  await session.refresh();
  await fixture.settle();
  expect(own()).toEqual({ uid2: { id: session.advertisingToken } });
  const first = config();
  fixture.network(async () => new Response(null, { status: 503 }));
  await fixture.advance(50 * MINUTE);
  expect(session.state).toMatchObject({ phase: 'due', lastError: { status: 503 } });
  expect(config()).toBe(first);
  await fixture.advance(10 * MINUTE);
  expect(config()).toMatchObject({ userIds: [{ name: 'uid2', value: { uid2: {} } }] });
});

test.each(['UID2', 'Uid2', 'uid2'])(
  'the name %s is that of one entry, which a logout leaves without a token',
  async (name) => {
    const session = await openSignedIn();
    const { pbjs, load, config } = createPrebid();
    load();
    vi.stubGlobal('__TESSERA_PRODUCTION__', true);
    connectPrebid(session, { pbjs, name: name as 'uid2' });
    await session.ready;
    for (const user of ['second', 'third']) {
      await session.setTokens(await fixture.answerFor(`${user}@example.com`));
      await fixture.settle();
    }
    const value = { uid2: { id: session.advertisingToken } };
    expect(config()['userIds']).toEqual([{ name: 'uid2', bidders: undefined, value }]);
    await session.clear();
    await fixture.settle();
    expect(config()['userIds']).toEqual([{ name: 'uid2', bidders: undefined, value: { uid2: {} } }]);
  },
);

test('without a token, a Prebid without an entry of the module is not configured', async () => {
  const { session } = fixture.open();
  const { pbjs, load, config } = createPrebid();
  connectPrebid(session, { pbjs });
  load();
  await session.ready;
  await fixture.settle();
  expect(config()).toEqual({ syncDelay: 3000, userIds: [] });
});

test('a page’s entry that refreshes itself is replaced before there is a token', () => {
  const { session } = fixture.open();
  const { pbjs, load, own } = createPrebid([{ name: 'uid2', params: { uid2Cookie: 'x' } }]);
  connectPrebid(session, { pbjs });
  load();
  expect(own()).toEqual({ uid2: {} });
});

test.each([
  ['null and undefined', [null, undefined, { name: 'sharedId' }], [null, undefined, { name: 'sharedId' }]],
  ['no array', 'sharedId', ['sharedId']],
])('a list of user IDs that Prebid ignores in part does not keep the token from it: %s', async (_, userIds, kept) => {
  const session = await openSignedIn();
  const { pbjs, load, config } = createPrebid(userIds);
  load();
  connectPrebid(session, { pbjs });
  await session.ready;
  const value = { uid2: { id: session.advertisingToken } };
  expect(config()['userIds']).toEqual([...kept, { name: 'uid2', bidders: undefined, value }]);
});

test('disconnecting before Prebid loads leaves its configuration unchanged', async () => {
  const session = await openSignedIn();
  const { pbjs, load, config } = createPrebid([{ name: 'uid2', params: {} }]);
  const disconnect = connectPrebid(session, { pbjs });
  await session.ready;
  disconnect();
  load();
  expect(config()).toEqual({ syncDelay: 3000, userIds: [{ name: 'uid2', params: {} }] });
});

test('a logout removes the token even if a later configuration of the page has omitted the entry', async () => {
  const { session, pbjs, own } = await openConnected();
  pbjs.setConfig!({ userSync: { userIds: [{ name: 'sharedId' }] } });
  // Prebid keeps the value of an entry that is left out.
  expect(own()).toBeUndefined();
  await session.clear();
  await fixture.settle();
  expect(own()).toEqual({ uid2: {} });
});

test.each(['close', 'withdraw consent', 'log out'])('the token is removed after: %s', async (how) => {
  let onChange = (_: boolean) => {};
  const consent = (tell: typeof onChange) => {
    onChange = tell;
    return true;
  };
  const { session, own } = await openConnected({ consent });
  expect(own()).toEqual({ uid2: { id: session.advertisingToken } });
  if (how === 'close') session.close();
  else if (how === 'withdraw consent') onChange(false);
  else void session.clear();
  await fixture.settle();
  expect(own()).toEqual({ uid2: {} });
});

test('a missing global is created, with a queue that Prebid takes over', async () => {
  const { session } = fixture.open();
  connectPrebid(session);
  expect(Reflect.get(window, 'pbjs')).toEqual({ que: [expect.any(Function)] });
});

test('a Prebid that never loads has one waiting call, however often the session changes', async () => {
  const session = await openSignedIn();
  const { pbjs } = createPrebid();
  connectPrebid(session, { pbjs });
  await session.ready;
  await fixture.advance(120 * MINUTE);
  expect(fixture.requests.length).toBeGreaterThan(4);
  expect(pbjs.que).toHaveLength(1);
});

test.each<readonly [what: string, pbjs: unknown]>([
  ['a constant', false],
  ['a frozen object', Object.freeze({})],
  ['an object whose queue is frozen', { que: Object.freeze([]) }],
  ['a queue that calls at once, without the rest of Prebid', { que: { push: (call: () => void) => call() } }],
])('a content blocker has put %s in place of Prebid: the page continues', async (_, pbjs) => {
  Object.assign(window, { pbjs });
  const logged: unknown[] = [];
  const logger = { debug: (_: string, what: unknown) => logged.push(what) };
  const session = await openSignedIn({ logger });
  const disconnect = connectPrebid(session);
  await session.ready;
  await session.clear();
  await fixture.settle();
  disconnect();
  // A listener that throws would be logged.
  expect(logged.filter((what) => what instanceof Error)).toEqual([]);
});

test('an auction that begins is marked, with the token that it has', async () => {
  const session = await openSignedIn();
  const prebid = createPrebid();
  prebid.load();
  const begin: (() => void)[] = [];
  prebid.pbjs.onEvent = (_, listener) => begin.push(listener);
  const marked: unknown[] = [];
  connectPrebid(session, { pbjs: prebid.pbjs, mark: (moment) => marked.push(moment, prebid.own()) });
  await session.ready;
  begin[0]!();
  expect(marked).toEqual(['auction', { uid2: { id: session.advertisingToken } }]);
});

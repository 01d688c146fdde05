/** A link may have set members of `Object.prototype`, which every object then has: adapters take none of them for an option. */

import { afterEach, beforeEach, expect, test } from 'vitest';
import { connectSecureSignals } from '../../src/page/secure-signals.ts';
import { connectPrebid, type Prebid } from '../../src/page/user-id-module.ts';
import { connectWebview } from '../../src/page/webview.ts';
import { restoreGlobals } from '../session/fixtures.ts';
import { loaded, useFakeClock } from '../support/clock.ts';
import { createOperatorFixture } from '../support/fixtures.ts';
import { createGpt, leavePage } from '../support/gpt.ts';
import { createHost, leaveHost } from '../support/native.ts';

let fixture: ReturnType<typeof createOperatorFixture>;
let inherited: object = {};
const inherit = (members: object) => {
  inherited = members;
  Object.assign(Object.prototype, members);
};
/** Before any assertion: with some members, the test runner itself would fail. */
const endInheritance = () => {
  for (const name of Object.keys(inherited)) Reflect.deleteProperty(Object.prototype, name);
};
beforeEach(() => {
  useFakeClock();
  fixture = createOperatorFixture();
});
afterEach(async () => {
  endInheritance();
  fixture.close();
  await restoreGlobals();
  leaveHost();
  leavePage();
  Reflect.deleteProperty(window, 'pbjs');
});

const openSession = async () => {
  const { session } = await loaded(fixture.open({ tokens: await fixture.answerFor('user@example.com') }));
  await fixture.settle();
  return session;
};

test('connectPrebid: the page’s Prebid, the module uid2, and its own list of user IDs', async () => {
  const session = await openSession();
  const configs: { userSync: { userIds: unknown[] } }[] = [];
  const pbjs: Prebid = {
    que: { push: (call: () => void) => call() },
    getConfig: () => ({}) as never,
    setConfig: (config) => void configs.push(config as never),
    onEvent: () => {},
  };
  const other = { que: { push: () => {} } };
  Object.assign(window, { pbjs });
  inherit({ pbjs: other, name: 'euid', userIds: 'planted' });
  connectPrebid(session, {});
  endInheritance();
  const { advertisingToken } = session;
  expect(configs.map(({ userSync }) => userSync.userIds)).toEqual([
    [{ name: 'uid2', bidders: undefined, value: { uid2: { id: advertisingToken } } }],
  ]);
});

test('connectSecureSignals: the provider of the options, which holds nothing but its token', async () => {
  const session = await openSession();
  const gpt = createGpt();
  gpt.load();
  inherit({ networkCode: '12345', name: 'euid', register: false, 'uidapi.com': { collect: 'planted' } });
  connectSecureSignals(session, {});
  endInheritance();
  await fixture.settle();
  expect([gpt.pushes, gpt.cache.get('uidapi.com')]).toEqual([['uidapi.com'], session.advertisingToken]);
});

test('connectWebview: the channel, and no message of the app', async () => {
  const session = await openSession();
  const host = createHost('WKWebView', ({ type }) => (type === 'hello' ? {} : undefined));
  host.arrive();
  inherit({ channel: 'other', owner: 'host', timeoutMs: 0, ns: 'tessera', v: 1, kind: 'evt', type: 'clear', gen: 9 });
  const link = connectWebview(session, {});
  const message = (data: string) => window.dispatchEvent(new MessageEvent('message', { data, source: window }));
  for (const text of ['{}', '{"v":1,"kind":"evt","gen":9}']) message(text);
  await fixture.settle();
  endInheritance();
  expect(await link.ready).toBe(true);
  expect(session.state.phase).toBe('fresh');
  expect(host.received.map(({ type }) => type)).not.toContain('get');
  link.disconnect();
});

test('connectWebview: an answer of the app in place, and not what a link has put beside it', async () => {
  const session = await openSession();
  const host = createHost('WKWebView with reply', ({ type }) => (type === 'hello' ? {} : undefined));
  host.arrive();
  inherit({ data: '{"v":1,"ns":"tessera","kind":"evt","type":"clear","gen":9}' });
  const link = connectWebview(session);
  await fixture.settle();
  endInheritance();
  expect([await link.ready, session.state.phase]).toEqual([true, 'fresh']);
  link.disconnect();
});

/** What the real Prebid in a real browser (test/browser/prebid.test.ts) cannot show: a Prebid that is late, or never comes. */

import { afterEach, beforeEach, expect, test } from 'vitest';
import { connectPrebid, type Prebid } from '../../src/page/prebid.ts';
import { restoreGlobals } from '../session/fixtures.ts';
import { createLifeFixture, MINUTE, useFakeClock } from '../support/fixtures.ts';

const READER = 'user@example.com';

beforeEach(() => void useFakeClock());
afterEach(() => {
  restoreGlobals();
  Reflect.deleteProperty(window, 'pbjs');
});

/** Prebid as far as its configuration goes; until `load`, all that is there is what a page's first line leaves. */
const createPrebid = (userIds: object[] = []) => {
  const waiting: (() => void)[] = [];
  const pbjs = { que: waiting } as Prebid & { que: unknown };
  let userSync: Record<string, unknown> = { syncDelay: 3000, userIds };
  return {
    pbjs,
    load: () => {
      pbjs.getConfig = () => userSync as never;
      pbjs.setConfig = (config) => {
        userSync = (config as { userSync: typeof userSync }).userSync;
      };
      pbjs.onEvent = pbjs.offEvent = () => {};
      pbjs.que = { push: (call: () => void) => call() };
      for (const call of waiting) call();
    },
    config: () => userSync,
    own: () => (userSync['userIds'] as { name: string; value?: object }[]).find(({ name }) => name === 'uid2')?.value,
  };
};

test('what is queued before Prebid loads tells of the moment in which it loads', async () => {
  const fixture = createLifeFixture();
  const { session } = fixture.open({ tokens: await fixture.answerFor(READER) });
  const { pbjs, load, config, own } = createPrebid([{ name: 'sharedId' }]);
  connectPrebid(session, { pbjs });
  await session.ready;
  await session.refresh();
  load();
  expect(own()).toEqual({ uid2: { id: session.advertisingToken } });
  expect(config()).toMatchObject({ syncDelay: 3000, userIds: [{ name: 'sharedId' }, {}], autoRefresh: true });
  fixture.close();
});

test('Prebid is configured once for each token, whatever else becomes of the session', async () => {
  const fixture = createLifeFixture();
  const { session } = fixture.open({ tokens: await fixture.answerFor(READER) });
  const { pbjs, load, config } = createPrebid();
  load();
  connectPrebid(session, { pbjs });
  await session.ready;
  await fixture.rest();
  const first = config();
  expect(first).toMatchObject({ userIds: [{ name: 'uid2' }] });
  fixture.network(async () => new Response(null, { status: 503 }));
  await fixture.pass(50 * MINUTE);
  expect(session.state).toMatchObject({ phase: 'due', lastError: { status: 503 } });
  expect(config()).toBe(first);
  await fixture.pass(10 * MINUTE);
  expect(config()).toMatchObject({ userIds: [{ name: 'uid2', value: { uid2: {} } }] });
  fixture.close();
});

test('a session without a token leaves a Prebid alone that has nothing of the kind', async () => {
  const fixture = createLifeFixture();
  const { session } = fixture.open();
  const { pbjs, load, config } = createPrebid();
  connectPrebid(session, { pbjs });
  load();
  await session.ready;
  await fixture.rest();
  expect(config()).toEqual({ syncDelay: 3000, userIds: [] });
  fixture.close();
});

test('an entry of the page that would refresh by itself gives way before there is a token', () => {
  const fixture = createLifeFixture();
  const { session } = fixture.open();
  const { pbjs, load, own } = createPrebid([{ name: 'uid2', params: { uid2Cookie: 'x' } }]);
  connectPrebid(session, { pbjs });
  load();
  expect(own()).toEqual({ uid2: {} });
  fixture.close();
});

test('disconnected before Prebid loads, nothing is touched', async () => {
  const fixture = createLifeFixture();
  const { session } = fixture.open({ tokens: await fixture.answerFor(READER) });
  const { pbjs, load, config } = createPrebid([{ name: 'uid2', params: {} }]);
  const disconnect = connectPrebid(session, { pbjs });
  await session.ready;
  disconnect();
  load();
  expect(config()).toEqual({ syncDelay: 3000, userIds: [{ name: 'uid2', params: {} }] });
  fixture.close();
});

test.each(['close', 'withdraw consent', 'log out'])('the token goes after: %s', async (how) => {
  const fixture = createLifeFixture();
  let onChange = (_: boolean) => {};
  const { session } = fixture.open({
    tokens: await fixture.answerFor(READER),
    consent: (tell) => {
      onChange = tell;
      return true;
    },
  });
  const { pbjs, load, own } = createPrebid();
  load();
  connectPrebid(session, { pbjs });
  await session.ready;
  await fixture.rest();
  expect(own()).toEqual({ uid2: { id: session.advertisingToken } });
  if (how === 'close') session.close();
  else if (how === 'withdraw consent') onChange(false);
  else void session.clear();
  await fixture.rest();
  expect(own()).toEqual({ uid2: {} });
  fixture.close();
});

test('the global is made where there is none, with a queue that Prebid will find', async () => {
  const fixture = createLifeFixture();
  const { session } = fixture.open();
  connectPrebid(session);
  expect(Reflect.get(window, 'pbjs')).toEqual({ que: [expect.any(Function)] });
  fixture.close();
});

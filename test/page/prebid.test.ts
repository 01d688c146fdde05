/** What the real Prebid in a real browser (test/browser/prebid.test.ts) cannot show: a Prebid that is late, or never comes. */

import { afterEach, beforeEach, expect, test } from 'vitest';
import { connectPrebid, type Prebid } from '../../src/page/prebid.ts';
import { strike } from '../session/stage.ts';
import { createScene, MINUTE, useFakeClock } from '../support/scene.ts';

const READER = 'user@example.com';

beforeEach(() => void useFakeClock());
afterEach(() => {
  strike();
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
  const scene = createScene();
  const { session } = scene.open({ tokens: await scene.answerFor(READER) });
  const { pbjs, load, config, own } = createPrebid([{ name: 'sharedId' }]);
  connectPrebid(session, { pbjs });
  await session.ready;
  await session.refresh();
  load();
  expect(own()).toEqual({ uid2: { id: session.advertisingToken } });
  expect(config()).toMatchObject({ syncDelay: 3000, userIds: [{ name: 'sharedId' }, {}], autoRefresh: true });
  scene.close();
});

test('Prebid is configured once for each token, whatever else becomes of the session', async () => {
  const scene = createScene();
  const { session } = scene.open({ tokens: await scene.answerFor(READER) });
  const { pbjs, load, config } = createPrebid();
  load();
  connectPrebid(session, { pbjs });
  await session.ready;
  await scene.rest();
  const first = config();
  expect(first).toMatchObject({ userIds: [{ name: 'uid2' }] });
  scene.network(async () => new Response(null, { status: 503 }));
  await scene.pass(50 * MINUTE);
  expect(session.state).toMatchObject({ phase: 'due', lastError: { status: 503 } });
  expect(config()).toBe(first);
  await scene.pass(10 * MINUTE);
  expect(config()).toMatchObject({ userIds: [{ name: 'uid2', value: { uid2: {} } }] });
  scene.close();
});

test('a session without a token leaves a Prebid alone that has nothing of the kind', async () => {
  const scene = createScene();
  const { session } = scene.open();
  const { pbjs, load, config } = createPrebid();
  connectPrebid(session, { pbjs });
  load();
  await session.ready;
  await scene.rest();
  expect(config()).toEqual({ syncDelay: 3000, userIds: [] });
  scene.close();
});

test('an entry of the page that would refresh by itself gives way before there is a token', () => {
  const scene = createScene();
  const { session } = scene.open();
  const { pbjs, load, own } = createPrebid([{ name: 'uid2', params: { uid2Cookie: 'x' } }]);
  connectPrebid(session, { pbjs });
  load();
  expect(own()).toEqual({ uid2: {} });
  scene.close();
});

test('disconnected before Prebid loads, nothing is touched', async () => {
  const scene = createScene();
  const { session } = scene.open({ tokens: await scene.answerFor(READER) });
  const { pbjs, load, config } = createPrebid([{ name: 'uid2', params: {} }]);
  const disconnect = connectPrebid(session, { pbjs });
  await session.ready;
  disconnect();
  load();
  expect(config()).toEqual({ syncDelay: 3000, userIds: [{ name: 'uid2', params: {} }] });
  scene.close();
});

test.each(['close', 'withdraw consent', 'log out'])('the token goes after: %s', async (how) => {
  const scene = createScene();
  let onChange = (_: boolean) => {};
  const { session } = scene.open({
    tokens: await scene.answerFor(READER),
    consent: (tell) => {
      onChange = tell;
      return true;
    },
  });
  const { pbjs, load, own } = createPrebid();
  load();
  connectPrebid(session, { pbjs });
  await session.ready;
  await scene.rest();
  expect(own()).toEqual({ uid2: { id: session.advertisingToken } });
  if (how === 'close') session.close();
  else if (how === 'withdraw consent') onChange(false);
  else void session.clear();
  await scene.rest();
  expect(own()).toEqual({ uid2: {} });
  scene.close();
});

test('the global is made where there is none, with a queue that Prebid will find', async () => {
  const scene = createScene();
  const { session } = scene.open();
  connectPrebid(session);
  expect(Reflect.get(window, 'pbjs')).toEqual({ que: [expect.any(Function)] });
  scene.close();
});

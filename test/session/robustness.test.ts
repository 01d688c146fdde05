/** Stale clocks, damaged records, endless answers, many tabs, long waits: the session goes on, and nothing grows. */

import { expect, test, vi } from 'vitest';
import { memoryStore, type Store } from '../../src/session/index.ts';
import { HOUR, loaded, MINUTE, names, START, until } from '../support/clock.ts';
import { openAsking } from './consent-fixture.ts';
import { fakeLocks, fixtureForEachTest, recordOf, sealedFor, setVisible, success, wireSet } from './fixtures.ts';

const fixture = fixtureForEachTest();

test('a refresh answer with the same tokens and later times is a success, also of a call', async () => {
  fixture.serve(({ n }) => {
    const body = { ...wireSet(1), identity_expires: wireSet(1).identity_expires + HOUR };
    return new Response(sealedFor(n, JSON.stringify({ status: 'success', body })));
  });
  const { session, events } = await loaded(fixture.open({ store: memoryStore(recordOf(1)) }));
  await session.refresh();
  expect(session.state.expiresAt).toBe(wireSet(1).identity_expires + HOUR);
  expect(names(events)).toEqual(['token load']);
});

test.each([true, false])('ten tabs whose set has ended make one call of provide (Web Locks: %s)', async (hasLocks) => {
  if (hasLocks) fakeLocks();
  const store = memoryStore({ ...recordOf(1), ended: true, set: { ...recordOf(1).set, expiresAt: START + 1 } });
  const provide = vi.fn(async () => success(9));
  const name = `ten-tabs-that-need-a-set-${hasLocks}`;
  vi.setSystemTime(START + 2);
  const tabs = Array.from({ length: 10 }, () => fixture.open({ store, name, provide }));
  await until(() => tabs.every(({ session }) => session.advertisingToken === 'advertising-9'));
  expect(provide).toHaveBeenCalledOnce();
});

test('ten tabs share the back-off of a provide that fails: it gets at most 15 calls in 30 minutes', async () => {
  const store = memoryStore();
  const provide = vi.fn(() => Promise.reject(new Error('no')));
  for (let tab = 0; tab < 10; tab++) fixture.open({ store, name: 'ten-tabs-whose-provide-fails', provide });
  await fixture.advance(30 * MINUTE);
  expect(provide.mock.calls.length).toBeGreaterThan(5);
  expect(provide.mock.calls.length).toBeLessThanOrEqual(15);
});

test('500 wake-ups while consent is pending cause one read', async () => {
  const { touched, grant, settle } = openAsking(recordOf(1));
  for (let wake = 0; wake < 500; wake++) setVisible(true);
  grant();
  await settle();
  expect(touched).toHaveBeenCalledTimes(1);
});

test('a flood of messages waits for one read at a time, and IndexedDB is not given up', async () => {
  let reading = 0;
  let reads = 0;
  const inner = memoryStore(recordOf(1));
  let finish = () => {};
  const slow: Store = {
    ...inner,
    read: () => {
      reads++;
      reading++;
      return new Promise((resolve) => {
        finish = () => {
          reading--;
          inner.read().then(resolve);
        };
      });
    },
  };
  const name = 'flooded';
  const { session, events } = fixture.open({ store: slow, name });
  await until(() => reading);
  finish();
  await session.ready;
  const channel = new BroadcastChannel(name);
  for (let message = 0; message < 5_000; message++) channel.postMessage(1);
  await fixture.settle();
  for (let turn = 0; turn < 3; turn++) {
    finish();
    await fixture.settle();
  }
  channel.close();
  expect(session.advertisingToken).toBe('advertising-1');
  expect(names(events)).toEqual(['token load']);
  // The first one, the one during which the messages arrive, and one more for all of them.
  expect(reads).toBeLessThanOrEqual(4);
});

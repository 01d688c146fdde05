/**
 * Two tabs of one browser profile: two sessions of one name over one store, connected by a real BroadcastChannel. Node
 * has no Web Locks; `locks.test.ts` fakes them.
 */

import { describe, expect, test, vi } from 'vitest';
import { memoryStore, type Session } from '../../src/session/index.ts';
import { HOUR, MINUTE, names, START, until } from '../support/clock.ts';
import {
  answersPlain,
  answersSealed,
  fixtureForEachTest,
  openLoaded,
  openTwoTabs,
  recordOf,
  rotate,
  setVisible,
  success,
} from './fixtures.ts';

let testNumber = 0;
const fixture = fixtureForEachTest();

describe('a tab adopts from another tab', () => {
  test.each<[what: string, act: (session: Session) => Promise<unknown>, event: string, token?: string]>([
    ['a new set', (session) => session.setTokens(success(5)), 'token tab', 'advertising-5'],
    ['a rotation', (session) => session.refresh(), 'token tab', 'advertising-2'],
    ['an opt-out', (session) => session.setTokens({ status: 'optout' }), 'optout'],
  ])('%s', async (_, act, event, token) => {
    const { fixture, a, b } = await openTwoTabs();
    await act(a.session);
    await until(() => b.events.length > 1);
    await fixture.settle();
    expect([a.session.advertisingToken, b.session.advertisingToken]).toEqual([token, token]);
    expect([b.session.state.phase, names(b.events)]).toEqual([a.session.state.phase, ['token load', event]]);
  });

  test('a logout', async () => {
    const { fixture, a, b } = await openTwoTabs();
    await a.session.clear();
    await until(() => !b.session.advertisingToken);
    await fixture.advance(2 * HOUR);
    expect(b.session.state.phase).toBe('empty');
    expect(fixture.sent).toEqual([]);
    expect(names(b.events)).not.toContain('expired advertising');
  });

  test('the end of the refresh token, and does not send it again', async () => {
    const { fixture, a, b } = await openTwoTabs();
    fixture.serve(answersPlain(400, { status: 'expired_token' }));
    await a.session.refresh().catch(() => {});
    await until(() => b.session.state.phase === 'ended');
    await fixture.advance(20 * MINUTE);
    expect(names(b.events)).toEqual(['token load', 'needsTokens ended', 'expired refresh']);
    expect(fixture.sent).toHaveLength(1);
  });

  test('a logout during its own refresh, whose answer it ignores', async () => {
    const { fixture, store, a, b } = await openTwoTabs();
    let answer = (_: Response) => {};
    fixture.serve(() => new Promise((resolve) => (answer = resolve)));
    b.session.refresh().catch(() => {});
    await until(() => fixture.sent.length);
    await a.session.clear();
    answer(await rotate(fixture.sent[0]!));
    await until(() => !b.session.advertisingToken);
    await fixture.settle();
    expect([a.session.advertisingToken, b.session.advertisingToken]).toEqual([undefined, undefined]);
    expect(await store.read()).not.toHaveProperty('set.refreshToken');
    expect(names(b.events)).toEqual(['token load']);
  });

  test('a logout and the same set again during its own refresh, whose answer it ignores', async () => {
    const { fixture, store, a, b } = await openTwoTabs();
    let answer = (_: Response) => {};
    fixture.serve(() => new Promise((resolve) => (answer = resolve)));
    b.session.refresh().catch(() => {});
    await until(() => fixture.sent.length);
    // Messages are lost, so the other tab does not abort its refresh.
    vi.spyOn(BroadcastChannel.prototype, 'postMessage').mockImplementation(() => {});
    await a.session.clear();
    await a.session.setTokens(success(1, START));
    answer(await answersSealed({ status: 'optout' })(fixture.sent[0]!));
    await until(() => b.session.state.waitingFor === undefined);
    await fixture.settle();
    expect(await store.read()).toMatchObject({ generation: 3, set: { advertisingToken: 'advertising-1' } });
    expect([a.session.advertisingToken, b.session.advertisingToken]).toEqual(['advertising-1', 'advertising-1']);
    expect(names(b.events)).toEqual(['token load']);
  });
});

test('a session of another name adopts nothing', async () => {
  const a = fixture.open({ name: `tabs-${testNumber++}` });
  const other = fixture.open({ name: `tabs-${testNumber++}` });
  await Promise.all([a.session.ready, other.session.ready]);
  await a.session.setTokens(success(1));
  await fixture.settle();
  expect(other.session.advertisingToken).toBeUndefined();
  expect(names(other.events)).toEqual(['needsTokens empty']);
});

test('a tab that missed a message reads the new set when it becomes visible', async () => {
  vi.stubGlobal('BroadcastChannel', undefined);
  const { fixture, a, b } = await openTwoTabs();
  await a.session.setTokens(success(5));
  await fixture.settle();
  expect(b.session.advertisingToken).toBe('advertising-1');
  setVisible(true);
  await until(() => b.session.advertisingToken === 'advertising-5');
  expect(names(b.events)).toEqual(['token load', 'token tab']);
});

test('a tab that missed a rotation reads it from the store when its own set is due, and sends no request', async () => {
  vi.stubGlobal('BroadcastChannel', undefined);
  const { fixture, store, b, a } = await openTwoTabs();
  a.session.close();
  await store.update(() => recordOf(2, START + 10 * MINUTE));
  await fixture.advance(15 * MINUTE);
  expect(b.session.advertisingToken).toBe('advertising-2');
  expect(names(b.events)).toEqual(['token load', 'token tab']);
  expect(fixture.sent).toEqual([]);
});

test('a new tab sends a message on its channel, so that Chromium evicts a cached page that blocks the database', async () => {
  const { session, store, open } = await openLoaded({ name: 'tabs-message' });
  await store.update(() => ({ ...recordOf(3), generation: 2 }));
  open({ store, name: 'tabs-message' });
  await until(() => session.advertisingToken === 'advertising-3');
});

test('refresh() that waits for another tab’s refresh rejects if that one fails', async () => {
  const store = memoryStore(recordOf(1));
  let answer = (_: Response) => {};
  fixture.serve(() => new Promise((resolve) => (answer = resolve)));
  const [one, two] = [fixture.open({ name: 'two', store }), fixture.open({ name: 'two', store })];
  await fixture.settle();
  const codeOf = (refresh: Promise<void>) => refresh.catch(({ code }) => code);
  const first = codeOf(one.session.refresh());
  await fixture.settle();
  const second = codeOf(two.session.refresh());
  await fixture.settle();
  answer(new Response('', { status: 503 }));
  await fixture.advance(20_000);
  expect([await first, await second]).toEqual(['http_status', 'network']);
  expect(fixture.sent).toHaveLength(1);
});

/** All tabs together while the service is unavailable: one back-off, one tab at a time. */

import { describe, expect, test, vi } from 'vitest';
import { memoryStore } from '../../src/session/index.ts';
import { HOUR, loaded, MINUTE, names, START, until } from '../support/clock.ts';
import { answersPlain, dispatch, fixtureForEachTest, hangs, offline, recordOf, rotate, success } from './fixtures.ts';

let testNumber = 0;
const fixture = fixtureForEachTest();

const openTabs = async (count: number, service = offline, options: object = {}) => {
  fixture.serve(service);
  const name = `outage-${testNumber++}`;
  const store = memoryStore(recordOf(1));
  const tabs = Array.from({ length: count }, () => fixture.open({ store, name, ...options }));
  await Promise.all(tabs.map(({ session }) => session.ready));
  await fixture.settle();
  return { ...fixture, name, store, tabs };
};
const wake = (event: string) => window.dispatchEvent(new Event(event));

describe('an outage', () => {
  test('costs ten tabs that come online every minute 15 requests in 30 minutes; each emits one error, and has a token after it', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.999);
    const { sent, tabs, advance, serve } = await openTabs(10);
    await advance(15 * MINUTE);
    for (let minute = 0; minute < 60; minute++) {
      wake('online');
      await advance(MINUTE);
    }
    const sentAt = sent.map(({ at }) => at);
    for (const from of sentAt)
      expect(sentAt.filter((at) => at >= from && at < from + 30 * MINUTE).length).toBeLessThanOrEqual(15);
    expect(sentAt.length).toBeGreaterThan(12);
    serve(rotate);
    await advance(5 * MINUTE);
    for (const { session, events } of tabs) {
      expect(session.advertisingToken).toBe('advertising-2');
      expect(names(events).filter((event) => event === 'error network').length).toBeLessThanOrEqual(1);
    }
  });

  test.each([undefined, 'ann'])('a page view without a token tries again within 2 s (user: %s)', async (user) => {
    vi.spyOn(Math, 'random').mockReturnValue(0.5);
    const { sent, name, store, advance, tabs, open } = await openTabs(1);
    if (user) await tabs[0]!.session.setTokens(success(1), { user });
    await advance(3 * HOUR);
    tabs[0]?.session.close();
    const before = sent.length;
    const again = await loaded(open({ store, name, user }));
    expect(again.session.state.phase).toBe('stale');
    await advance(2_000);
    expect(sent).toHaveLength(before + 1);
  });

  test('keeps its back-off across a reload', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    const { sent, store, advance, tabs, open } = await openTabs(1);
    await advance(15 * MINUTE + 40_000);
    expect(sent.map(({ at }) => Math.round((at - START) / 1000) - 900)).toEqual([0, 5, 15, 35]);
    tabs[0]?.session.close();
    await loaded(open({ store }));
    // The end of loading: no page wakes up.
    window.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: false }));
    await advance(30_000);
    expect(sent).toHaveLength(4);
    await advance(10_000);
    expect(sent).toHaveLength(5);
  });
});

test.each(['online', 'pageshow', 'resume', 'visibilitychange'])(
  'a page that resumes, becomes visible or comes online by `%s` tries once within 2 s',
  async (event) => {
    vi.spyOn(Math, 'random').mockReturnValue(0.999_999);
    const { sent, serve, advance, tabs } = await openTabs(3);
    await advance(17 * MINUTE);
    const before = sent.length;
    serve(rotate);
    await advance(sent.at(-1)!.at + MINUTE - Date.now());
    expect(sent).toHaveLength(before);
    wake(event);
    await advance(2_000);
    expect(sent).toHaveLength(before + 1);
    expect(tabs.map(({ session }) => session.advertisingToken)).toEqual(Array(3).fill('advertising-2'));
  },
);

describe('without Web Locks, a lease in the record', () => {
  test('lets ten tabs send one request to a service that takes 5 s', async () => {
    const name = `outage-${testNumber++}`;
    const store = memoryStore(recordOf(1));
    const tabs = Array.from({ length: 10 }, () => fixture.open({ store, name }));
    fixture.serve(async (sent) => {
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      return rotate(sent);
    });
    await fixture.advance(15 * MINUTE + 6_000);
    expect(fixture.sent).toHaveLength(1);
    for (const { session } of tabs) expect(session.advertisingToken).toBe('advertising-2');
  });

  test('of a tab that is closed during its refresh ends: a tab that waits, or opens later, refreshes at once', async () => {
    const { name, open, store, sent, serve, advance, tabs } = await openTabs(2, hangs);
    await advance(15 * MINUTE);
    expect(tabs.map(({ session }) => session.state.next?.reason).sort()).toEqual(['in_progress', 'other_tab']);
    for (const { session } of tabs) if (session.state.next?.reason === 'in_progress') session.close();
    await until(() => sent.length === 2);
    serve(rotate);
    for (const { session } of tabs) session.close();
    const later = open({ store, name });
    await until(() => later.session.advertisingToken === 'advertising-2');
    expect(sent).toHaveLength(3);
    expect(Date.now() - START).toBeLessThan(15 * MINUTE + 1000);
  });

  test('of a page that is left during its refresh ends by its time: such a page writes nothing', async () => {
    const { sent, store, serve, advance, tabs } = await openTabs(1, hangs);
    await advance(15 * MINUTE);
    dispatch('pagehide');
    await advance(500);
    expect(await store.read()).toHaveProperty('lease.id');
    serve(rotate);
    dispatch('pageshow');
    await advance(12_000);
    expect(sent).toHaveLength(2);
    expect(tabs[0]?.session.advertisingToken).toBe('advertising-2');
  });
});

test('a service that rejects every set that `provide` returns causes no request loop', async () => {
  fixture.serve(answersPlain(400, { status: 'invalid_token' }));
  const provide = vi.fn(async () => success(1, Date.now() - 2 * HOUR));
  fixture.open({ provide });
  await fixture.advance(HOUR);
  expect(fixture.sent.length).toBeLessThanOrEqual(30);
  expect(provide.mock.calls.length).toBeLessThanOrEqual(60);
  expect(fixture.sent.length).toBeGreaterThan(3);
});

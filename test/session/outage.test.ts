/** All tabs together while the service is unavailable: one back-off, one budget, one tab at a time. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { memoryStore } from '../../src/session/index.ts';
import { DAY, HOUR, MINUTE, names, START, until, useFakeClock } from '../support/fixtures.ts';
import {
  answersPlain,
  createFixture,
  hangs,
  offline,
  recordOf,
  restoreGlobals,
  rotate,
  setVisible,
  success,
} from './fixtures.ts';

let testNumber = 0;
beforeEach(() => void useFakeClock());
afterEach(restoreGlobals);

/** Tabs over one store; none has locks, each is a page of its own. */
const openTabs = async (count: number, service = offline, given: object = {}) => {
  const fixture = createFixture(service);
  const name = `outage-${testNumber++}`;
  const store = memoryStore(recordOf(1));
  const tabs = Array.from({ length: count }, () => fixture.open({ store, name, ...given }));
  await Promise.all(tabs.map(({ session }) => session.ready));
  await fixture.settle();
  return { ...fixture, name, store, tabs };
};
const wake = (event: string) => window.dispatchEvent(new Event(event));

describe('an outage', () => {
  test.each([0, 0.5, 0.999])(
    'of 30 minutes costs ten tabs 15 calls at most, however the dice fall (%s)',
    async (dice) => {
      vi.spyOn(Math, 'random').mockReturnValue(dice);
      const { sent, advance, close } = await openTabs(10);
      await advance(15 * MINUTE + 6 * HOUR);
      const ats = sent.map(({ at }) => at);
      for (const from of ats)
        expect(ats.filter((at) => at >= from && at < from + 30 * MINUTE).length).toBeLessThanOrEqual(15);
      expect(ats.length).toBeGreaterThan(60);
      close();
    },
  );

  test('costs no more where the page wakes up every minute, or asks for a refresh', async () => {
    const { sent, advance, tabs, close } = await openTabs(3);
    await advance(15 * MINUTE);
    for (let minute = 0; minute < 60; minute++) {
      wake('online');
      tabs[minute % 3]?.session.refresh().catch(() => {});
      await advance(MINUTE);
    }
    const ats = sent.map(({ at }) => at);
    for (const from of ats)
      expect(ats.filter((at) => at >= from && at < from + 30 * MINUTE).length).toBeLessThanOrEqual(15);
    close();
  });

  test('is told of once in a tab, and all tabs hold the new token when the service is back', async () => {
    const { tabs, advance, serve, close } = await openTabs(3);
    await advance(20 * MINUTE);
    serve(rotate);
    await advance(4 * MINUTE);
    for (const { session, events } of tabs) {
      expect(session.advertisingToken).toBe('advertising-2');
      expect(names(events).filter((event) => event === 'error network').length).toBeLessThanOrEqual(1);
    }
    close();
  });

  test('outlives a reload: the next page keeps to the pause of the last', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.999_999);
    const { sent, store, advance, tabs, open, close } = await openTabs(1);
    await advance(15 * MINUTE + 40_000);
    expect(sent.map(({ at }) => Math.round((at - START) / 1000) - 900)).toEqual([0, 5, 15, 35]);
    tabs[0]?.session.close();
    const again = open({ store });
    await again.session.ready;
    await advance(30_000);
    expect(sent).toHaveLength(4);
    await advance(10_000);
    expect(sent).toHaveLength(5);
    close();
  });

  test('three failing refresh() of a fresh set tell one error', async () => {
    const { tabs, close } = await openTabs(1);
    const [{ session, events }] = tabs as [(typeof tabs)[0]];
    for (let n = 0; n < 3; n++) await expect(session.refresh()).rejects.toMatchObject({ code: 'network' });
    expect(names(events)).toEqual(['token load', 'error network']);
    close();
  });

  test('refresh() rejects without a call once the budget is spent', async () => {
    const { tabs, sent, close } = await openTabs(1);
    const [{ session }] = tabs as [(typeof tabs)[0]];
    for (let n = 0; n < 9; n++) await expect(session.refresh()).rejects.toMatchObject({ code: 'network' });
    expect(sent).toHaveLength(5);
    close();
  });
});

describe('Retry-After', () => {
  const asks = (after: string) => answersPlain(503, '', { 'retry-after': after });

  test('is kept to by all tabs, also when they wake up', async () => {
    const { sent, serve, advance, close } = await openTabs(3, asks('3600'));
    await advance(15 * MINUTE);
    serve(rotate);
    for (let minute = 0; minute < 59; minute++) {
      wake('online');
      await advance(MINUTE);
    }
    expect(sent).toHaveLength(1);
    await advance(2 * MINUTE);
    expect(sent).toHaveLength(2);
    close();
  });

  test('is kept to for a day at most', async () => {
    const { sent, serve, advance, close } = await openTabs(1, asks(String(30 * 86_400)));
    await advance(15 * MINUTE);
    serve(rotate);
    await advance(DAY - MINUTE);
    expect(sent).toHaveLength(1);
    await advance(2 * MINUTE);
    expect(sent).toHaveLength(2);
    close();
  });
});

describe('refusals', () => {
  test('are counted by all tabs together: three spaced tries, then each tab says once that it needs a set', async () => {
    const { sent, tabs, advance, close } = await openTabs(3, answersPlain(401));
    await advance(15 * MINUTE + 2 * HOUR);
    expect(sent.map(({ at }) => (at - START) / 1000 - 900)).toEqual([0, 30, 150, 750]);
    for (const { events } of tabs)
      expect(names(events).filter((event) => event === 'needsTokens refused')).toHaveLength(1);
    close();
  });

  test('are not tried sooner because the page wakes up', async () => {
    const { sent, advance, close } = await openTabs(1, answersPlain(401));
    await advance(15 * MINUTE + 5_000);
    wake('online');
    await advance(20_000);
    expect(sent).toHaveLength(1);
    close();
  });

  test('are forgotten after a day, so that a service that had it wrong is asked again', async () => {
    const { sent, serve, advance, tabs, close } = await openTabs(1, answersPlain(403));
    await advance(2 * HOUR);
    const before = sent.length;
    serve(rotate);
    setVisible(false);
    await advance(DAY);
    setVisible(true);
    await until(() => tabs[0]?.session.advertisingToken === 'advertising-2');
    expect(sent).toHaveLength(before + 1);
    close();
  });

  test('while provide is asked for another set, waitingFor says so', async () => {
    const fixture = createFixture(answersPlain(401));
    const { set, ...record } = recordOf(1);
    const store = memoryStore({ ...record, set: { ...set, expiresAt: START + 16 * MINUTE } });
    const { session } = fixture.open({ store, provide: () => new Promise(() => {}) });
    await fixture.advance(15 * MINUTE + 750_000);
    expect(fixture.sent).toHaveLength(4);
    expect(session.state).toMatchObject({ phase: 'stale', waitingFor: 'provide' });
    fixture.close();
  });
});

describe('a page that wakes up', () => {
  test.each(['online', 'pageshow', 'resume', 'visibilitychange'])('by %s tries once within 2 s', async (event) => {
    vi.spyOn(Math, 'random').mockReturnValue(0.999_999);
    const { sent, serve, advance, tabs, close } = await openTabs(3);
    await advance(17 * MINUTE);
    const before = sent.length;
    serve(rotate);
    // After the distance that the budget asks for, before the pause is over.
    await advance(sent.at(-1)!.at + 181_000 - Date.now());
    expect(sent).toHaveLength(before);
    wake(event);
    await advance(2_000);
    expect(sent).toHaveLength(before + 1);
    expect(tabs.map(({ session }) => session.advertisingToken)).toEqual(Array(3).fill('advertising-2'));
    close();
  });

  test('and fails within 30 s goes on with a short back-off, however long it was', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.999_999);
    const { sent, advance, store, close } = await openTabs(1);
    await advance(25 * MINUTE);
    const { run } = (await store.read()) as { run: { steps: number } };
    expect(run.steps).toBeGreaterThan(4);
    const before = sent.length;
    await advance(sent.at(-1)!.at + 181_000 - Date.now());
    wake('online');
    await advance(2_000);
    expect(sent).toHaveLength(before + 1);
    expect(await store.read()).toMatchObject({ run: { steps: 3 } });
    close();
  });
});

describe('without locks, the record says who is at it', () => {
  test('ten tabs and a service that takes 5 s: one call', async () => {
    const fixture = createFixture();
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
    fixture.close();
  });

  test('a tab that dies in the middle is waited for 12 s, then another goes ahead', async () => {
    const { name, open, store, sent, serve, advance, tabs, close } = await openTabs(1, hangs);
    await advance(15 * MINUTE);
    expect(sent).toHaveLength(1);
    tabs[0]?.session.close();
    serve(rotate);
    const other = open({ store, name });
    await advance(11_000);
    expect(sent).toHaveLength(1);
    await advance(3_000);
    expect(sent).toHaveLength(2);
    expect(other.session.advertisingToken).toBe('advertising-2');
    close();
  });

  test('a claim of a clock that ran ahead is none', async () => {
    const fixture = createFixture();
    const run = { tries: 1, steps: 0, refusals: 0, triedAt: START + HOUR, waitMs: 0, leastMs: 0 };
    const { session } = fixture.open({ store: memoryStore({ ...recordOf(1, START - 20 * MINUTE), run }) });
    await until(() => session.advertisingToken === 'advertising-2');
    fixture.close();
  });
});

test('a service that ends whatever provide brings is no loop', async () => {
  const fixture = createFixture(answersPlain(400, { status: 'invalid_token' }));
  const provide = vi.fn(async () => success(1, Date.now() - 2 * HOUR));
  fixture.open({ provide });
  await fixture.advance(HOUR);
  expect(fixture.sent.length).toBeLessThanOrEqual(30);
  expect(provide.mock.calls.length).toBeLessThanOrEqual(60);
  expect(fixture.sent.length).toBeGreaterThan(3);
  fixture.close();
});

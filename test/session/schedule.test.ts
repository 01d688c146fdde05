/** The timer of a session: one in a visible page, none in a hidden one, and none that overflows. */

import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { memoryStore } from '../../src/session/index.ts';
import { DAY, HOUR, loaded, MINUTE, names, START, until } from '../support/clock.ts';
import { dispatch, fixtureForEachTest, offline, recordOf, rotate, setVisible } from './fixtures.ts';

const fixture = fixtureForEachTest();

const countTimers = () => {
  const count = { fired: 0, longestMs: 0 };
  const real = setTimeout;
  vi.stubGlobal('setTimeout', (work: () => void, ms = 0) => {
    count.longestMs = Math.max(count.longestMs, ms);
    return real(() => {
      count.fired++;
      work();
    }, ms);
  });
  return count;
};

describe('a visible page', () => {
  test('has one timer while idle, which fires at most once a minute', async () => {
    const set = { ...recordOf(1).set, refreshAt: START + 3 * HOUR, expiresAt: START + 4 * HOUR };
    await loaded(fixture.open({ store: memoryStore({ ...recordOf(1), set }) }));
    await fixture.settle();
    expect(vi.getTimerCount()).toBe(1);
    const timers = countTimers();
    await fixture.advance(2 * HOUR);
    expect(timers.fired).toBeGreaterThan(0);
    expect(timers.fired).toBeLessThanOrEqual(120);
    expect(vi.getTimerCount()).toBe(1);
  });

  test('has no timer if nothing is scheduled', async () => {
    const { session } = await loaded(fixture.open());
    await fixture.settle();
    expect(vi.getTimerCount()).toBe(0);
    await session.setTokens({ status: 'optout' });
    await fixture.settle();
    expect(vi.getTimerCount()).toBe(0);
  });

  test('refreshes at the exact millisecond even after a delay of more than 2^31-1 ms', async () => {
    const timers = countTimers();
    const refreshAt = START + 40 * DAY;
    const set = { ...recordOf(1).set, refreshAt, expiresAt: refreshAt + DAY, endsAt: refreshAt + 2 * DAY };
    fixture.open({ store: memoryStore({ ...recordOf(1), set }) });
    await fixture.advance(MINUTE);
    // The minutes in between are alike.
    vi.setSystemTime(refreshAt - 2 * MINUTE);
    await fixture.advance(2 * MINUTE - 1);
    expect(timers.longestMs).toBeLessThan(2 ** 31);
    expect(fixture.sent).toEqual([]);
    await fixture.advance(1);
    expect(fixture.sent.map(({ at }) => at)).toEqual([refreshAt]);
  });

  test('notices within a minute that the device slept, and at once on `pageshow`', async () => {
    const { session } = await loaded(fixture.openStored());
    vi.setSystemTime(START + 20 * MINUTE);
    await fixture.advance(MINUTE);
    expect(session.advertisingToken).toBe('advertising-2');
    vi.setSystemTime(Date.now() + 20 * MINUTE);
    window.dispatchEvent(new Event('pageshow'));
    await until(() => session.advertisingToken === 'advertising-3');
  });
});

describe('a hidden page', () => {
  test('has no timer and sends no request if it was opened hidden', async () => {
    setVisible(false);
    const { session } = await loaded(fixture.open({ store: memoryStore(recordOf(1, START - 2 * HOUR)) }));
    await fixture.settle();
    expect(vi.getTimerCount()).toBe(0);
    await fixture.advance(HOUR);
    expect(fixture.sent).toEqual([]);
    expect(session.state.phase).toBe('stale');
  });

  test('counts as hidden even if an element is named visibilityState', async () => {
    // An image, a form, an embed or an object of this name hides the property of the document.
    Object.defineProperty(document, 'visibilityState', { value: document.createElement('img'), configurable: true });
    onTestFinished(() => void Reflect.deleteProperty(document, 'visibilityState'));
    setVisible(false);
    const { session } = await loaded(fixture.open({ store: memoryStore(recordOf(1, START - 2 * HOUR)) }));
    await fixture.settle();
    expect(session.state.next?.reason).toBe('hidden');
    expect(fixture.sent).toEqual([]);
  });

  test('is awake once it is found visible, even without an event, as in some webviews', async () => {
    const { session } = await loaded(fixture.openStored());
    setVisible(false);
    await fixture.advance(5 * MINUTE);
    Object.defineProperty(Object.getPrototypeOf(document), 'visibilityState', { value: 'visible', configurable: true });
    expect(await session.getToken()).toBe('advertising-1');
    await fixture.advance(10 * MINUTE);
    expect(session.advertisingToken).toBe('advertising-2');
    expect(fixture.sent).toHaveLength(1);
  });

  test('clears its timer when it is hidden, and catches up when it is visible', async () => {
    const { session, events } = await loaded(fixture.openStored());
    await fixture.settle();
    expect(vi.getTimerCount()).toBe(1);
    setVisible(false);
    expect(vi.getTimerCount()).toBe(0);
    vi.setSystemTime(START + 20 * MINUTE);
    await fixture.settle();
    expect(fixture.sent).toEqual([]);
    setVisible(true);
    await until(() => session.advertisingToken === 'advertising-2');
    expect(names(events)).toEqual(['token load', 'token refresh']);
    await fixture.settle();
    expect(vi.getTimerCount()).toBe(1);
  });

  test('that thaws during the back-off tries for a waiting getToken() within 2 s, and keeps no timer', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.999_999);
    fixture.serve(offline);
    const { session } = await loaded(
      fixture.open({ store: memoryStore(recordOf(1, START - 2 * HOUR)), retry: { firstMs: 2 * MINUTE } }),
    );
    await until(() => session.state.next?.reason === 'back_off');
    setVisible(false);
    dispatch('freeze');
    await fixture.advance(10_000);
    fixture.serve(rotate);
    dispatch('resume');
    await until(() => session.state.next?.reason === 'woken');
    const token = session.getToken().catch(({ code }) => code);
    await fixture.advance(2_000);
    expect(await Promise.race([token, 'still waiting'])).toBe('advertising-2');
    await fixture.settle();
    expect(vi.getTimerCount()).toBe(0);
  });

  test('sets no timer when a refresh completes while it is hidden', async () => {
    let answer = (_: Response) => {};
    fixture.serve(() => new Promise((resolve) => (answer = resolve)));
    const { session } = fixture.openStored();
    await fixture.advance(15 * MINUTE);
    setVisible(false);
    fixture.serve(rotate);
    answer(await rotate(fixture.sent[0]!));
    await until(() => session.advertisingToken === 'advertising-2');
    await fixture.settle();
    expect(vi.getTimerCount()).toBe(0);
  });
});

test.each([0.1, 0.4])(
  'a refresh that falls due between two reads of the clock (steps of %d ms) is not missed',
  async (step) => {
    let last = 0;
    let reads = 0;
    const now = () => {
      if (last !== Date.now()) reads = 0;
      last = Date.now();
      // By this clock, timers fire slightly too early.
      return last + Math.min(0, reads++ * step - 1);
    };
    await loaded(fixture.open({ store: memoryStore(recordOf(1)), now }));
    for (const quarter of [1, 2, 3]) {
      await fixture.advance(15 * MINUTE + 50);
      expect(fixture.sent).toHaveLength(quarter);
    }
  },
);

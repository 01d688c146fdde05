/** When a session looks at the clock: one timer, none in a hidden page, none that overflows. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { memoryStore } from '../../src/session/index.ts';
import { DAY, HOUR, MINUTE, names, START, until, useFakeClock } from '../support/fixtures.ts';
import { createFixture, offline, recordOf, restoreGlobals, rotate, setVisible, success } from './fixtures.ts';

beforeEach(() => void useFakeClock());
afterEach(restoreGlobals);

/** How often timers fire from now on, and the longest sleep that was asked for. */
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

describe('a page that is seen', () => {
  test('has one timer while idle, which fires once a minute at most', async () => {
    const fixture = createFixture();
    const set = { ...recordOf(1).set, refreshAt: START + 3 * HOUR, expiresAt: START + 4 * HOUR };
    const { session } = fixture.open({ store: memoryStore({ ...recordOf(1), set }) });
    await session.ready;
    await fixture.settle();
    expect(vi.getTimerCount()).toBe(1);
    const timers = countTimers();
    await fixture.advance(2 * HOUR);
    expect(timers.fired).toBeGreaterThan(0);
    expect(timers.fired).toBeLessThanOrEqual(120);
    expect(vi.getTimerCount()).toBe(1);
    fixture.close();
  });

  test('has no timer where nothing will come by itself', async () => {
    const fixture = createFixture();
    const { session } = fixture.open();
    await session.ready;
    await fixture.settle();
    expect(vi.getTimerCount()).toBe(0);
    await session.setTokens({ status: 'optout' });
    await fixture.settle();
    expect(vi.getTimerCount()).toBe(0);
    fixture.close();
  });

  test('is safe with spans over 2^31-1 ms: no timer overflows, the refresh comes at its ms', async () => {
    const timers = countTimers();
    const fixture = createFixture();
    const refreshAt = START + 40 * DAY;
    const set = { ...recordOf(1).set, refreshAt, expiresAt: refreshAt + DAY, endsAt: refreshAt + 2 * DAY };
    fixture.open({ store: memoryStore({ ...recordOf(1), set }) });
    await fixture.advance(40 * DAY - 1);
    expect(timers.longestMs).toBeLessThan(2 ** 31);
    expect(fixture.sent).toEqual([]);
    await fixture.advance(1);
    expect(fixture.sent.map(({ at }) => at)).toEqual([refreshAt]);
    fixture.close();
  });

  test('that slept notices within a minute, and at once where it is told', async () => {
    const fixture = createFixture();
    const { session } = fixture.openStored();
    await session.ready;
    vi.setSystemTime(START + 20 * MINUTE);
    await fixture.advance(MINUTE);
    expect(session.advertisingToken).toBe('advertising-2');
    vi.setSystemTime(Date.now() + 20 * MINUTE);
    window.dispatchEvent(new Event('pageshow'));
    await until(() => session.advertisingToken === 'advertising-3');
    fixture.close();
  });

  test('that comes back online while waiting to try again keeps to its back-off', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.999_999);
    const fixture = createFixture(offline);
    const { session } = fixture.openStored();
    await fixture.advance(30 * MINUTE);
    const tries = fixture.sent.length;
    window.dispatchEvent(new Event('online'));
    await fixture.settle();
    expect(fixture.sent.length - tries).toBeLessThanOrEqual(1);
    expect(session.advertisingToken).toBe('advertising-1');
    fixture.close();
  });

  test('whose clock was set back refreshes as if it had not been, without a storm of timers', async () => {
    const fixture = createFixture();
    const { session } = fixture.openStored();
    await session.ready;
    await fixture.advance(5 * MINUTE);
    vi.setSystemTime(START - DAY);
    const timers = countTimers();
    await fixture.advance(10 * MINUTE);
    expect(timers.fired).toBeLessThanOrEqual(11);
    expect(session.advertisingToken).toBe('advertising-2');
    expect(fixture.sent).toHaveLength(1);
    fixture.close();
  });
});

describe('a hidden page', () => {
  test('from its start: no timer, no request, whatever is due', async () => {
    setVisible(false);
    const fixture = createFixture();
    const { session } = fixture.open({ store: memoryStore(recordOf(1, START - 2 * HOUR)) });
    await session.ready;
    await fixture.settle();
    expect(vi.getTimerCount()).toBe(0);
    await fixture.advance(HOUR);
    expect(fixture.sent).toEqual([]);
    expect(session.state.phase).toBe('stale');
    fixture.close();
  });

  test('asks nobody for a set either', async () => {
    setVisible(false);
    const fixture = createFixture();
    const provide = vi.fn(async () => success(1));
    const { session } = fixture.open({ provide });
    await session.ready;
    await fixture.advance(HOUR);
    expect(provide).not.toHaveBeenCalled();
    setVisible(true);
    await until(() => session.advertisingToken);
    expect(provide).toHaveBeenCalledOnce();
    fixture.close();
  });

  test('lets go of its timer when it is hidden, and catches up when it is seen', async () => {
    const fixture = createFixture();
    const { session, events } = fixture.openStored();
    await session.ready;
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
    fixture.close();
  });

  test('that is seen again before anything is due goes on as before', async () => {
    const fixture = createFixture();
    const { session } = fixture.openStored();
    await session.ready;
    setVisible(false);
    vi.setSystemTime(START + 5 * MINUTE);
    setVisible(true);
    await fixture.settle();
    expect(fixture.sent).toEqual([]);
    await fixture.advance(10 * MINUTE);
    expect(session.advertisingToken).toBe('advertising-2');
    fixture.close();
  });

  test('catches up on the first getToken', async () => {
    setVisible(false);
    const fixture = createFixture();
    const { session } = fixture.open({ store: memoryStore(recordOf(1, START - 2 * HOUR)) });
    await session.ready;
    expect(await session.getToken()).toBe('advertising-2');
    expect(fixture.sent).toHaveLength(1);
    fixture.close();
  });

  test('hands out a good token whose refresh is due, and refreshes it for the next', async () => {
    setVisible(false);
    const fixture = createFixture();
    const { session } = fixture.open({ store: memoryStore(recordOf(1, START - 20 * MINUTE)) });
    await session.ready;
    expect(await session.getToken()).toBe('advertising-1');
    await until(() => session.advertisingToken === 'advertising-2');
    fixture.close();
  });

  test('hidden in the middle of an outage stops trying', async () => {
    const fixture = createFixture(offline);
    const { session } = fixture.openStored();
    await fixture.advance(16 * MINUTE);
    setVisible(false);
    const tries = fixture.sent.length;
    await fixture.advance(HOUR);
    expect(fixture.sent).toHaveLength(tries);
    expect(vi.getTimerCount()).toBe(0);
    fixture.serve(rotate);
    setVisible(true);
    await until(() => session.advertisingToken === 'advertising-2');
    fixture.close();
  });

  test('set free of its timer by hiding never arms one by itself, also when a refresh ends there', async () => {
    let answer = (_: Response) => {};
    const fixture = createFixture(() => new Promise((resolve) => (answer = resolve)));
    const { session } = fixture.openStored();
    await fixture.advance(15 * MINUTE);
    setVisible(false);
    fixture.serve(rotate);
    answer(await rotate(fixture.sent[0]!));
    await until(() => session.advertisingToken === 'advertising-2');
    await fixture.settle();
    expect(vi.getTimerCount()).toBe(0);
    fixture.close();
  });
});

test.each([0.1, 0.2, 0.3, 0.4, 0.7])(
  'an instant that passes while the session looks at the clock, in steps of %d ms, is not slept through',
  async (step) => {
    const fixture = createFixture();
    let last = 0;
    let looks = 0;
    const now = () => {
      if (last !== Date.now()) looks = 0;
      last = Date.now();
      // Timers come a moment too early for this clock.
      return last + Math.min(0, looks++ * step - 1);
    };
    const { session } = fixture.open({ store: memoryStore(recordOf(1)), now });
    await session.ready;
    for (const quarter of [1, 2, 3]) {
      await fixture.advance(15 * MINUTE + 50);
      expect(fixture.sent).toHaveLength(quarter);
    }
    fixture.close();
  },
);

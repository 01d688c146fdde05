/** When a session looks at the clock: one timer, none in a hidden page, none that overflows. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { memoryStore } from '../../src/session/index.ts';
import { DAY, HOUR, MINUTE, names, START, until, useFakeClock } from '../support/scene.ts';
import { createStage, offline, recordOf, rotate, show, strike, success } from './stage.ts';

beforeEach(() => void useFakeClock());
afterEach(strike);

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
    const stage = createStage();
    const set = { ...recordOf(1).set, refreshAt: START + 3 * HOUR, expiresAt: START + 4 * HOUR };
    const { session } = stage.open({ store: memoryStore({ ...recordOf(1), set }) });
    await session.ready;
    await stage.rest();
    expect(vi.getTimerCount()).toBe(1);
    const timers = countTimers();
    await stage.pass(2 * HOUR);
    expect(timers.fired).toBeGreaterThan(0);
    expect(timers.fired).toBeLessThanOrEqual(120);
    expect(vi.getTimerCount()).toBe(1);
    stage.close();
  });

  test('has no timer where nothing will come by itself', async () => {
    const stage = createStage();
    const { session } = stage.open();
    await session.ready;
    await stage.rest();
    expect(vi.getTimerCount()).toBe(0);
    await session.setTokens({ status: 'optout' });
    await stage.rest();
    expect(vi.getTimerCount()).toBe(0);
    stage.close();
  });

  test('is safe with spans over 2^31-1 ms: no timer overflows, the refresh comes at its ms', async () => {
    const timers = countTimers();
    const stage = createStage();
    const refreshAt = START + 40 * DAY;
    const set = { ...recordOf(1).set, refreshAt, expiresAt: refreshAt + DAY, endsAt: refreshAt + 2 * DAY };
    stage.open({ store: memoryStore({ ...recordOf(1), set }) });
    await stage.pass(40 * DAY - 1);
    expect(timers.longestMs).toBeLessThan(2 ** 31);
    expect(stage.sent).toEqual([]);
    await stage.pass(1);
    expect(stage.sent.map(({ at }) => at)).toEqual([refreshAt]);
    stage.close();
  });

  test('that slept notices within a minute, and at once where it is told', async () => {
    const stage = createStage();
    const { session } = stage.openWith();
    await session.ready;
    vi.setSystemTime(START + 20 * MINUTE);
    await stage.pass(MINUTE);
    expect(session.advertisingToken).toBe('advertising-2');
    vi.setSystemTime(Date.now() + 20 * MINUTE);
    window.dispatchEvent(new Event('pageshow'));
    await until(() => session.advertisingToken === 'advertising-3');
    stage.close();
  });

  test('that comes back online while waiting to try again keeps to its back-off', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.999_999);
    const stage = createStage(offline);
    const { session } = stage.openWith();
    await stage.pass(30 * MINUTE);
    const tries = stage.sent.length;
    window.dispatchEvent(new Event('online'));
    await stage.rest();
    expect(stage.sent.length - tries).toBeLessThanOrEqual(1);
    expect(session.advertisingToken).toBe('advertising-1');
    stage.close();
  });

  test('whose clock was set back refreshes as if it had not been, without a storm of timers', async () => {
    const stage = createStage();
    const { session } = stage.openWith();
    await session.ready;
    await stage.pass(5 * MINUTE);
    vi.setSystemTime(START - DAY);
    const timers = countTimers();
    await stage.pass(10 * MINUTE);
    expect(timers.fired).toBeLessThanOrEqual(11);
    expect(session.advertisingToken).toBe('advertising-2');
    expect(stage.sent).toHaveLength(1);
    stage.close();
  });
});

describe('a hidden page', () => {
  test('from its start: no timer, no request, whatever is due', async () => {
    show(false);
    const stage = createStage();
    const { session } = stage.open({ store: memoryStore(recordOf(1, START - 2 * HOUR)) });
    await session.ready;
    await stage.rest();
    expect(vi.getTimerCount()).toBe(0);
    await stage.pass(HOUR);
    expect(stage.sent).toEqual([]);
    expect(session.state.phase).toBe('stale');
    stage.close();
  });

  test('asks nobody for a set either', async () => {
    show(false);
    const stage = createStage();
    const provide = vi.fn(async () => success(1));
    const { session } = stage.open({ provide });
    await session.ready;
    await stage.pass(HOUR);
    expect(provide).not.toHaveBeenCalled();
    show(true);
    await until(() => session.advertisingToken);
    expect(provide).toHaveBeenCalledOnce();
    stage.close();
  });

  test('lets go of its timer when it is hidden, and catches up when it is seen', async () => {
    const stage = createStage();
    const { session, heard } = stage.openWith();
    await session.ready;
    await stage.rest();
    expect(vi.getTimerCount()).toBe(1);
    show(false);
    expect(vi.getTimerCount()).toBe(0);
    vi.setSystemTime(START + 20 * MINUTE);
    await stage.rest();
    expect(stage.sent).toEqual([]);
    show(true);
    await until(() => session.advertisingToken === 'advertising-2');
    expect(names(heard)).toEqual(['token load', 'token refresh']);
    await stage.rest();
    expect(vi.getTimerCount()).toBe(1);
    stage.close();
  });

  test('that is seen again before anything is due goes on as before', async () => {
    const stage = createStage();
    const { session } = stage.openWith();
    await session.ready;
    show(false);
    vi.setSystemTime(START + 5 * MINUTE);
    show(true);
    await stage.rest();
    expect(stage.sent).toEqual([]);
    await stage.pass(10 * MINUTE);
    expect(session.advertisingToken).toBe('advertising-2');
    stage.close();
  });

  test('catches up on the first getToken', async () => {
    show(false);
    const stage = createStage();
    const { session } = stage.open({ store: memoryStore(recordOf(1, START - 2 * HOUR)) });
    await session.ready;
    expect(await session.getToken()).toBe('advertising-2');
    expect(stage.sent).toHaveLength(1);
    stage.close();
  });

  test('hands out a good token whose refresh is due, and refreshes it for the next', async () => {
    show(false);
    const stage = createStage();
    const { session } = stage.open({ store: memoryStore(recordOf(1, START - 20 * MINUTE)) });
    await session.ready;
    expect(await session.getToken()).toBe('advertising-1');
    await until(() => session.advertisingToken === 'advertising-2');
    stage.close();
  });

  test('hidden in the middle of an outage stops trying', async () => {
    const stage = createStage(offline);
    const { session } = stage.openWith();
    await stage.pass(16 * MINUTE);
    show(false);
    const tries = stage.sent.length;
    await stage.pass(HOUR);
    expect(stage.sent).toHaveLength(tries);
    expect(vi.getTimerCount()).toBe(0);
    stage.serve(rotate);
    show(true);
    await until(() => session.advertisingToken === 'advertising-2');
    stage.close();
  });

  test('set free of its timer by hiding never arms one by itself, also when a refresh ends there', async () => {
    let answer = (_: Response) => {};
    const stage = createStage(() => new Promise((resolve) => (answer = resolve)));
    const { session } = stage.openWith();
    await stage.pass(15 * MINUTE);
    show(false);
    stage.serve(rotate);
    answer(await rotate(stage.sent[0]!));
    await until(() => session.advertisingToken === 'advertising-2');
    await stage.rest();
    expect(vi.getTimerCount()).toBe(0);
    stage.close();
  });
});

test.each([0.1, 0.2, 0.3, 0.4, 0.7])(
  'an instant that passes while the session looks at the clock, in steps of %d ms, is not slept through',
  async (step) => {
    const stage = createStage();
    let last = 0;
    let looks = 0;
    const now = () => {
      if (last !== Date.now()) looks = 0;
      last = Date.now();
      // Timers come a moment too early for this clock.
      return last + Math.min(0, looks++ * step - 1);
    };
    const { session } = stage.open({ store: memoryStore(recordOf(1)), now });
    await session.ready;
    for (const quarter of [1, 2, 3]) {
      await stage.pass(15 * MINUTE + 50);
      expect(stage.sent).toHaveLength(quarter);
    }
    stage.close();
  },
);

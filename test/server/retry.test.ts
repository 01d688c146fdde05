import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { LONGEST_TIMER_MS } from '../../src/server/options.ts';
import { LONGEST_RETRY_AFTER_MS, retried, waitMs } from '../../src/server/retry.ts';
import { type ErrorCode, TokenError } from '../../src/token/errors.ts';
import { rejectionOf } from './scripted-service.ts';

const RETRY = { tries: 4, firstMs: 100, maxMs: 250 };

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, 'random').mockReturnValue(1);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Attempts that fail with each of `errors` in turn, then give 'done'; `at` lists when each was made. */
const attemptsOf = (...errors: unknown[]) => {
  const at: number[] = [];
  const start = Date.now();
  const attempt = async () => {
    at.push(Date.now() - start);
    if (errors.length > 0) throw errors.shift();
    return 'done';
  };
  return { at, attempt };
};
const lost = () => new TokenError('network', 'lost');
const never = new AbortController().signal;

describe('waiting', () => {
  test('the ceiling doubles up to maxMs, and the wait is random below it', () => {
    const spans = [1, 2, 3, 4, 50].map((failures) => waitMs(failures, RETRY));
    expect(spans).toEqual([100, 200, 250, 250, 250]);
    vi.mocked(Math.random).mockReturnValue(0.25);
    expect(waitMs(2, RETRY)).toBe(50);
    vi.mocked(Math.random).mockReturnValue(0);
    expect(waitMs(2, RETRY)).toBe(0);
  });

  test('Retry-After is waited for in full, with a random bit on top', () => {
    expect(waitMs(1, RETRY, 7000)).toBe(7100);
    vi.mocked(Math.random).mockReturnValue(0);
    expect(waitMs(1, RETRY, 7000)).toBe(7000);
  });

  test('no wait is longer than a timer takes: it would fire at once', () => {
    const longest = { firstMs: LONGEST_TIMER_MS, maxMs: LONGEST_TIMER_MS };
    expect(waitMs(1, longest, LONGEST_RETRY_AFTER_MS)).toBe(LONGEST_TIMER_MS);
    expect(waitMs(9, longest)).toBe(LONGEST_TIMER_MS);
  });

  test('the random bit on top of Retry-After keeps to maxMs', () => {
    expect(waitMs(1, { firstMs: 100, maxMs: 30 }, 7000)).toBe(7030);
  });
});

describe('retried', () => {
  test('tries again after each wait and gives the first success', async () => {
    const { at, attempt } = attemptsOf(lost(), lost());
    const result = retried(attempt, RETRY, never);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await result).toBe('done');
    expect(at).toEqual([0, 100, 300]);
  });

  test('gives the last failure once the tries are used up', async () => {
    const last = lost();
    const { at, attempt } = attemptsOf(lost(), lost(), lost(), last, lost());
    const rejection = rejectionOf(retried(attempt, RETRY, never));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await rejection).toBe(last);
    expect(at).toHaveLength(4);
  });

  test.each<[ErrorCode, number | undefined]>([
    ['network', undefined],
    ['timeout', undefined],
    ['rate_limited', 429],
    ['http_status', 408],
    ['http_status', 425],
    ['http_status', 500],
    ['http_status', 503],
  ])('%s %s is tried again', async (code, status) => {
    const { attempt } = attemptsOf(new TokenError(code, '', { status }));
    const result = retried(attempt, RETRY, never);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await result).toBe('done');
  });

  test.each<[ErrorCode, number | undefined]>([
    ['client_error', 400],
    ['unauthorized', 401],
    ['clock_skew', 400],
    ['http_status', 413],
    ['http_status', 302],
    ['malformed_response', 200],
    ['decrypt_failed', 200],
    ['nonce_mismatch', 200],
  ])('%s %s is not', async (code, status) => {
    const fault = new TokenError(code, '', { status });
    const { at, attempt } = attemptsOf(fault);
    expect(await rejectionOf(retried(attempt, RETRY, never))).toBe(fault);
    expect(at).toEqual([0]);
  });

  test('an error of another kind is not tried again', async () => {
    const { at, attempt } = attemptsOf(new TypeError('wrong use'));
    expect(await rejectionOf(retried(attempt, RETRY, never))).toBeInstanceOf(TypeError);
    expect(at).toEqual([0]);
  });

  test('a Retry-After of more than five minutes goes to the caller', async () => {
    const fault = new TokenError('rate_limited', '', { status: 429, retryAfterMs: LONGEST_RETRY_AFTER_MS + 1 });
    const { attempt } = attemptsOf(fault);
    expect(await rejectionOf(retried(attempt, RETRY, never))).toBe(fault);
  });

  test('an abort ends the wait at once and leaves no timer', async () => {
    const controller = new AbortController();
    const reason = new Error('stop');
    const { at, attempt } = attemptsOf(lost(), lost());
    const rejection = rejectionOf(retried(attempt, RETRY, controller.signal));
    await vi.advanceTimersByTimeAsync(50);
    controller.abort(reason);
    expect(await rejection).toBe(reason);
    expect(at).toEqual([0]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

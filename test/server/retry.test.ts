import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { MAX_RETRY_AFTER_MS, retryDelayMs, sleep, withRetries } from '../../src/server/bulk/retry.ts';
import { MAX_TIMER_MS } from '../../src/token/checks.ts';
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

/** Attempts that fail with each of `errors` in turn, then return 'done'; `at` lists the time of each. */
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

describe('retryDelayMs', () => {
  test('is random below a limit that doubles up to maxMs', () => {
    const spans = [1, 2, 3, 4, 50].map((failures) => retryDelayMs(failures, RETRY));
    expect(spans).toEqual([100, 200, 250, 250, 250]);
    vi.mocked(Math.random).mockReturnValue(0.25);
    expect(retryDelayMs(2, RETRY)).toBe(50);
    vi.mocked(Math.random).mockReturnValue(0);
    expect(retryDelayMs(2, RETRY)).toBe(0);
  });

  test('adds a random part to Retry-After', () => {
    expect(retryDelayMs(1, RETRY, 7000)).toBe(7100);
    vi.mocked(Math.random).mockReturnValue(0);
    expect(retryDelayMs(1, RETRY, 7000)).toBe(7000);
  });

  test('grows with each failure even if Retry-After is always 0', () => {
    expect([1, 2, 3, 4].map((failures) => retryDelayMs(failures, RETRY, 0))).toEqual([100, 200, 250, 250]);
  });

  test('never exceeds the longest timer, which would fire at once', () => {
    const longest = { firstMs: MAX_TIMER_MS, maxMs: MAX_TIMER_MS };
    expect(retryDelayMs(1, longest, MAX_RETRY_AFTER_MS)).toBe(MAX_TIMER_MS);
    expect(retryDelayMs(9, longest)).toBe(MAX_TIMER_MS);
  });

  test('adds no more than maxMs to Retry-After', () => {
    expect(retryDelayMs(1, { firstMs: 100, maxMs: 30 }, 7000)).toBe(7030);
  });
});

describe('withRetries', () => {
  test('retries after each wait and returns the first success', async () => {
    const { at, attempt } = attemptsOf(lost(), lost());
    const result = withRetries(attempt, RETRY, never);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await result).toBe('done');
    expect(at).toEqual([0, 100, 300]);
  });

  test('throws the last failure when the tries are used up', async () => {
    const last = lost();
    const { at, attempt } = attemptsOf(lost(), lost(), lost(), last, lost());
    const rejection = rejectionOf(withRetries(attempt, RETRY, never));
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
  ])('%s %s is retried', async (code, status) => {
    const { attempt } = attemptsOf(new TokenError(code, '', { status }));
    const result = withRetries(attempt, RETRY, never);
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
  ])('%s %s is not retried', async (code, status) => {
    const fault = new TokenError(code, '', { status });
    const { at, attempt } = attemptsOf(fault);
    expect(await rejectionOf(withRetries(attempt, RETRY, never))).toBe(fault);
    expect(at).toEqual([0]);
  });

  test('an error other than a TokenError is not retried', async () => {
    const { at, attempt } = attemptsOf(new TypeError('wrong use'));
    expect(await rejectionOf(withRetries(attempt, RETRY, never))).toBeInstanceOf(TypeError);
    expect(at).toEqual([0]);
  });

  test('a Retry-After of five minutes is waited for', async () => {
    const fault = new TokenError('rate_limited', '', { status: 429, retryAfterMs: MAX_RETRY_AFTER_MS });
    const { at, attempt } = attemptsOf(fault);
    const result = withRetries(attempt, RETRY, never);
    await vi.advanceTimersByTimeAsync(MAX_RETRY_AFTER_MS + RETRY.firstMs);
    expect(await result).toBe('done');
    expect(at).toEqual([0, MAX_RETRY_AFTER_MS + RETRY.firstMs]);
  });

  test('no listener remains on the signal after a wait', async () => {
    const { signal } = new AbortController();
    const removed = vi.spyOn(signal, 'removeEventListener');
    const added = vi.spyOn(signal, 'addEventListener');
    const { attempt } = attemptsOf(lost(), lost());
    const result = withRetries(attempt, RETRY, signal);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await result).toBe('done');
    const listeners = (calls: readonly (readonly unknown[])[]) => calls.map(([, listener]) => listener);
    expect(added).toHaveBeenCalledTimes(2);
    expect(listeners(removed.mock.calls)).toEqual(listeners(added.mock.calls));
  });

  test('a Retry-After of more than five minutes is thrown to the caller', async () => {
    const fault = new TokenError('rate_limited', '', { status: 429, retryAfterMs: MAX_RETRY_AFTER_MS + 1 });
    const { attempt } = attemptsOf(fault);
    expect(await rejectionOf(withRetries(attempt, RETRY, never))).toBe(fault);
  });

  test('an abort ends the wait at once and leaves no timer', async () => {
    const controller = new AbortController();
    const reason = new Error('stop');
    const { at, attempt } = attemptsOf(lost(), lost());
    const rejection = rejectionOf(withRetries(attempt, RETRY, controller.signal));
    await vi.advanceTimersByTimeAsync(50);
    controller.abort(reason);
    expect(await rejection).toBe(reason);
    expect(at).toEqual([0]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

test('a pause ends after its time, at the signal, and at once if the signal came before', async () => {
  const ended: string[] = [];
  const controller = new AbortController();
  const { signal } = controller;
  const whole = sleep(1_000, signal).then(() => ended.push('whole'));
  const cut = sleep(30_000, signal).catch((reason) => ended.push(reason));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(ended).toEqual(['whole']);
  controller.abort('cut');
  await Promise.all([whole, cut, sleep(30_000, signal).catch((reason) => ended.push(reason))]);
  expect([ended, vi.getTimerCount()]).toEqual([['whole', 'cut', 'cut'], 0]);
});

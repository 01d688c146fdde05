/** Failures that pass by themselves, such as a lost network or a 503: the set stays, and the session tries again. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { DAY, HOUR, MINUTE, names, START, useFakeClock } from '../support/fixtures.ts';
import { answersPlain, hangs, offline, openDue, restoreGlobals, rotate, type Service, sealedFor } from './fixtures.ts';

const DUE = START + 15 * MINUTE;

beforeEach(() => void useFakeClock());
afterEach(restoreGlobals);

describe('a temporary failure', () => {
  const body = { status: 'expired_token' };
  test.each<[string, string, Service]>([
    ['no network', 'network', offline],
    ['a fetch that rejects with a string', 'network', () => Promise.reject('why')],
    ['408', 'http_status 408', answersPlain(408)],
    ['425', 'http_status 425', answersPlain(425)],
    ['429', 'http_status 429', answersPlain(429)],
    ['500 with a refusal in its body', 'http_status 500', answersPlain(500, body)],
    ['502', 'http_status 502', answersPlain(502, '<html>')],
    ['503', 'http_status 503', answersPlain(503)],
  ])(
    '%s: the set stays in force, one error is emitted, and retries continue until the service is back',
    async (_, code, service) => {
      vi.spyOn(Math, 'random').mockReturnValue(0.999_999);
      const { session, events, sent, serve, advance, close } = await openDue(service);
      expect(names(events)).toEqual(['token load', `error ${code}`]);
      expect(session.advertisingToken).toBe('advertising-1');
      await advance(40 * MINUTE);
      expect(names(events)).toEqual(['token load', `error ${code}`]);
      // 5 s, doubling; then the spacing that the budget requires plus jitter: at least 180 s, 125 s from the 15th request on.
      const spacingsS = sent.slice(1).map(({ at }, index) => Math.round((at - sent[index]!.at) / 1000));
      expect(spacingsS).toEqual(
        [5, 10, 20, 40, ...Array(10).fill(203), ...Array(2).fill(141)].slice(0, spacingsS.length),
      );
      expect(spacingsS.length).toBeGreaterThan(14);
      serve(rotate);
      await advance(5 * MINUTE);
      expect(names(events)).toEqual(['token load', `error ${code}`, 'token refresh']);
      expect(session.state.lastError).toBeUndefined();
      close();
    },
  );

  test('a second outage after a success emits another error', async () => {
    const { events, serve, advance, close } = await openDue(offline);
    serve(rotate);
    await advance(5 * MINUTE);
    serve(offline);
    await advance(20 * MINUTE);
    expect(names(events)).toEqual(['token load', 'error network', 'token refresh', 'error network']);
    close();
  });

  test.each<[string, Service]>([
    ['no answer, and a fetch that ignores its signal', hangs],
    [
      'no body after the headers',
      () => ({ status: 200, headers: new Headers(), text: () => new Promise(() => {}) }) as unknown as Response,
    ],
  ])('times out after 10 s in total: %s', async (_, service) => {
    const { session, events, sent, advance, serve, close } = await openDue(service);
    await advance(9_999);
    expect(names(events)).toEqual(['token load']);
    await advance(1);
    expect(names(events)).toEqual(['token load', 'error timeout']);
    expect(session.advertisingToken).toBe('advertising-1');
    expect(sent[0]?.init.signal?.aborted).toBe(true);
    serve(rotate);
    await advance(10_000);
    expect(session.advertisingToken).toBe('advertising-2');
    close();
  });

  test('an answer after the time-out is ignored', async () => {
    let answer = (_: Response) => {};
    const { session, advance, sent, serve, close } = await openDue(() => new Promise((resolve) => (answer = resolve)));
    serve(offline);
    await advance(10_000);
    answer(new Response(sealedFor(1, '{"status":"optout"}')));
    await advance(1000);
    expect(sent.length).toBeGreaterThan(0);
    expect(session.state.phase).toBe('due');
    close();
  });

  test.each([
    ['seconds', {}, '120'],
    ['a date', { date: new Date(DUE).toUTCString() }, new Date(DUE + 120_000).toUTCString()],
    [
      'a date by a service whose clock is 40 days behind',
      { date: new Date(DUE - 40 * DAY).toUTCString() },
      new Date(DUE - 40 * DAY + 120_000).toUTCString(),
    ],
  ])('Retry-After as %s is respected', async (_, headers, after) => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    const { events, sent, serve, advance, close } = await openDue(
      answersPlain(429, '', { ...headers, 'retry-after': after }),
    );
    serve(rotate);
    await advance(120_000 - 1);
    expect(sent).toHaveLength(1);
    await advance(1);
    expect(sent).toHaveLength(2);
    expect(names(events)).toEqual(['token load', 'error http_status 429', 'token refresh']);
    close();
  });

  test.each([
    ['soon', 'soon'],
    ['a negative number', '-5'],
    ['0', '0'],
    ['an empty string', ''],
    // By the clock of this device, which may be hours behind, the pause would be hours too long.
    ['a date without `Date` beside it', new Date(DUE + 2 * HOUR).toUTCString()],
  ])('Retry-After as %s is ignored', async (_, after) => {
    vi.spyOn(Math, 'random').mockReturnValue(0.999_999);
    const { sent, serve, advance, close } = await openDue(answersPlain(503, '', { 'retry-after': after }));
    serve(rotate);
    await advance(4_000);
    expect(sent).toHaveLength(1);
    await advance(1_000);
    expect(sent).toHaveLength(2);
    close();
  });
});

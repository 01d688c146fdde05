/** Failures that pass by themselves, such as a lost network or a 503: the set stays, and the session tries again. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { HOUR, MINUTE, names, START, useFakeClock } from '../support/clock.ts';
import {
  answersPlain,
  dispatch,
  hangs,
  offline,
  openDue,
  restoreGlobals,
  rotate,
  type Service,
  sealedFor,
  setVisible,
  success,
} from './fixtures.ts';

const DUE = START + 15 * MINUTE;

beforeEach(() => void useFakeClock());
afterEach(restoreGlobals);

/** Open a session whose refresh has been sent, and is answered by `answer`: with a new set by default. */
const openWaiting = async () => {
  const answers: ((response: Response) => void)[] = [];
  const fixture = await openDue(() => new Promise((resolve) => answers.push(resolve)));
  const answer = (text = JSON.stringify(success(2))) => answers[0]?.(new Response(sealedFor(1, text)));
  return { ...fixture, answer };
};

test('with pauses of milliseconds, a service that fails gets no more than a call a second', async () => {
  const { sent, advance } = await openDue(answersPlain(503), { retry: { firstMs: 5, maxMs: 300 } });
  const before = sent.length;
  await advance(10_000);
  expect(sent.length - before).toBeLessThanOrEqual(10);
  expect(sent.length - before).toBeGreaterThan(5);
});

describe('a temporary failure', () => {
  const body = { status: 'expired_token' };
  test.each<[string, string, Service]>([
    ['no network', 'network', offline],
    ['500 with a refusal in its body', 'http_status 500', answersPlain(500, body)],
  ])(
    '%s: the set stays in force, one error is emitted, and retries continue until the service is back',
    async (_, code, service) => {
      vi.spyOn(Math, 'random').mockReturnValue(0);
      const { session, events, sent, serve, advance } = await openDue(service);
      expect(names(events)).toEqual(['token load', `error ${code}`]);
      expect(session.advertisingToken).toBe('advertising-1');
      await advance(40 * MINUTE);
      expect(names(events)).toEqual(['token load', `error ${code}`]);
      // 5 s, doubling to 300 s.
      const spacingsS = sent.slice(1).map(({ at }, index) => Math.round((at - sent[index]!.at) / 1000));
      expect(spacingsS).toEqual([5, 10, 20, 40, 80, 160, ...Array(6).fill(300)]);
      serve(rotate);
      await advance(5 * MINUTE);
      expect(names(events)).toEqual(['token load', `error ${code}`, 'token refresh']);
      expect(session.state.lastError).toBeUndefined();
    },
  );

  test('a second outage after a success emits another error', async () => {
    const { events, serve, advance } = await openDue(offline);
    serve(rotate);
    await advance(5 * MINUTE);
    serve(offline);
    await advance(20 * MINUTE);
    expect(names(events)).toEqual(['token load', 'error network', 'token refresh', 'error network']);
  });

  test.each<[string, Service]>([
    ['no answer, and a fetch that ignores its signal', hangs],
    [
      'no body after the headers',
      () => ({ status: 200, headers: new Headers(), text: () => new Promise(() => {}) }) as unknown as Response,
    ],
  ])('times out after 60 s in total: %s', async (_, service) => {
    const { session, events, sent, advance, serve } = await openDue(service);
    await advance(59_999);
    expect(names(events)).toEqual(['token load']);
    await advance(1);
    expect(names(events)).toEqual(['token load', 'error timeout']);
    expect(session.advertisingToken).toBe('advertising-1');
    expect(sent[0]?.init.signal?.aborted).toBe(true);
    serve(rotate);
    await advance(10_000);
    expect(session.advertisingToken).toBe('advertising-2');
  });

  test('an answer after 40 s counts, although the page has stopped waiting; there was no other request', async () => {
    const { session, sent, answer, advance } = await openWaiting();
    const call = session.refresh().catch(({ code }) => code);
    await advance(40_000);
    expect(await call).toBe('timeout');
    expect(sent).toHaveLength(1);
    answer();
    await advance(0);
    expect(session.advertisingToken).toBe('advertising-2');
  });

  test('a request that has lasted more than 10 s when the page comes online is given up, and made again within 2 s', async () => {
    const { session, events, sent, answer, serve, advance } = await openWaiting();
    await advance(9_000);
    dispatch('online');
    await advance(2_000);
    expect(sent).toHaveLength(1);
    serve(rotate);
    dispatch('online');
    await advance(2_000);
    expect(sent).toHaveLength(2);
    expect(sent[0]!.init.signal?.aborted).toBe(true);
    expect(names(events)).toEqual(['token load', 'error timeout', 'token refresh']);
    answer('{"status":"optout"}');
    await advance(1_000);
    expect(session.advertisingToken).toBe('advertising-2');
  });

  test('a request that has lasted more than 10 s goes on when its page was hidden for a moment', async () => {
    const { session, sent, answer, advance } = await openWaiting();
    await advance(12_000);
    setVisible(false);
    await advance(100);
    setVisible(true);
    await advance(3_000);
    expect(sent).toHaveLength(1);
    answer();
    await advance(0);
    expect(session.advertisingToken).toBe('advertising-2');
  });

  test('a service that never answers gets at most seven requests in five minutes from five tabs', async () => {
    const { open, store, sent, advance } = await openWaiting();
    for (let tab = 0; tab < 4; tab++) open({ store });
    await advance(5 * MINUTE);
    expect(sent.length).toBeGreaterThan(3);
    expect(sent.length).toBeLessThanOrEqual(7);
  });

  test.each([
    ['a negative number', '-5'],
    ['0', '0'],
    ['an empty string', ''],
    // A clock would have to read it, and both clocks may be wrong.
    ['a date', new Date(DUE + 2 * HOUR).toUTCString()],
  ])('Retry-After as %s is ignored', async (_, after) => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    const { sent, serve, advance } = await openDue(answersPlain(503, '', { 'retry-after': after }));
    serve(rotate);
    await advance(4_000);
    expect(sent).toHaveLength(1);
    await advance(1_000);
    expect(sent).toHaveLength(2);
  });
});

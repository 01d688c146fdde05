/** Every row of the table of outcomes: what a refresh answers, and what the session makes of it. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { memoryStore, type Store } from '../../src/session/index.ts';
import { DAY, HOUR, MINUTE, names, START, useFakeClock } from '../support/fixtures.ts';
import {
  answersPlain,
  answersSealed,
  createFixture,
  hangs,
  offline,
  recordOf,
  restoreGlobals,
  rotate,
  type Service,
  sealedFor,
  success,
} from './fixtures.ts';

const DUE = START + 15 * MINUTE;

beforeEach(() => void useFakeClock());
afterEach(restoreGlobals);

/** A session with set 1 in force, its refresh due now and answered by `service`. */
const due = async (service: Service) => {
  const fixture = createFixture(service);
  const { session, store, events } = fixture.openStored();
  await session.ready;
  await fixture.advance(15 * MINUTE);
  return { ...fixture, session, store, events };
};

describe('success', () => {
  test('the new set is in force, stored and told, and the next refresh is aimed at', async () => {
    const { session, store, events, sent, advance, close } = await due(rotate);
    expect(sent.map(({ n, at }) => [n, at])).toEqual([[1, DUE]]);
    expect(names(events)).toEqual(['token load', 'token refresh']);
    expect(session.state).toMatchObject({ phase: 'fresh', refreshAt: DUE + 15 * MINUTE, lastError: undefined });
    expect(session.advertisingToken).toBe('advertising-2');
    expect(await store.read()).toMatchObject({ set: recordOf(2).set, generation: 1 });
    await advance(15 * MINUTE);
    expect(sent.map(({ n, at }) => [n, at])).toEqual([
      [1, DUE],
      [2, DUE + 15 * MINUTE],
    ]);
    close();
  });

  test('the event tells token and times, nothing more', async () => {
    const fixture = createFixture();
    const { session } = fixture.openStored();
    const told: unknown[] = [];
    session.on('token', (payload) => told.push(payload));
    await fixture.advance(15 * MINUTE);
    expect(told[1]).toEqual({
      advertisingToken: 'advertising-2',
      refreshAt: DUE + 15 * MINUTE,
      expiresAt: DUE + HOUR,
      cause: 'refresh',
    });
    fixture.close();
  });

  test('the clock of the answer is taken for the service’s, where it differs by much', async () => {
    const { session, close } = await due(({ n }) => {
      const serviceTime = Date.now() + HOUR;
      return new Response(sealedFor(n, JSON.stringify(success(2, serviceTime))), {
        headers: { date: new Date(serviceTime).toUTCString() },
      });
    });
    expect(session.state).toMatchObject({ phase: 'fresh', clockOffsetMs: HOUR, refreshAt: DUE + HOUR + 15 * MINUTE });
    close();
  });

  test('a set that is due on arrival is no loop of requests', async () => {
    const { session, sent, advance, close } = await due(
      ({ n }) => new Response(sealedFor(n, JSON.stringify(success(n + 1, Date.now() - 30 * MINUTE)))),
    );
    expect(sent).toHaveLength(1);
    expect(session.state.phase).toBe('fresh');
    await advance(10 * MINUTE);
    expect(sent).toHaveLength(1);
    close();
  });
});

test('optout: tokens are gone from page and store, the page is told, nothing follows', async () => {
  const { session, store, events, sent, advance, close } = await due(answersSealed({ status: 'optout' }));
  expect(names(events)).toEqual(['token load', 'optout']);
  expect(session.state).toMatchObject({ phase: 'optedOut', refreshAt: undefined, expiresAt: undefined });
  expect(session.advertisingToken).toBeUndefined();
  const stored = await store.read();
  expect(stored).toMatchObject({ optedOut: true });
  expect(JSON.stringify(stored)).not.toMatch(/advertising-|refresh-|fingerprint/);
  await advance(2 * HOUR);
  expect(sent).toHaveLength(1);
  close();
});

describe.each(['expired_token', 'invalid_token'])('%s', (status) => {
  const refusal = answersPlain(400, { status, message: 'no' });

  test('the good token lives out its time, and a new set is asked for once', async () => {
    const { session, store, events, sent, advance, close } = await due(refusal);
    expect(names(events)).toEqual(['token load', 'needsTokens ended', 'expired refresh']);
    expect(session.state.phase).toBe('ended');
    expect(session.advertisingToken).toBe('advertising-1');
    expect(await store.read()).toMatchObject({ ended: true });
    await advance(START + HOUR - 1 - Date.now());
    expect(session.advertisingToken).toBe('advertising-1');
    await advance(1);
    expect(session.advertisingToken).toBeUndefined();
    await advance(HOUR);
    expect(names(events).slice(3)).toEqual(['expired advertising']);
    expect(sent).toHaveLength(1);
    close();
  });

  test('provide comes before the page', async () => {
    const fixture = createFixture(refusal);
    const provide = vi.fn(async () => success(7));
    const { session, events } = fixture.openStored({ provide });
    await fixture.advance(15 * MINUTE);
    expect(provide.mock.calls).toMatchObject([[{ reason: 'ended' }]]);
    expect(names(events)).not.toContain('needsTokens ended');
    expect(session.advertisingToken).toBe('advertising-7');
    fixture.close();
  });

  test('where another tab has stored a newer set meanwhile, that one is adopted and nothing is asked for', async () => {
    const store: Store = memoryStore(recordOf(1));
    const fixture = createFixture(async () => {
      await store.update(() => recordOf(2));
      return refusal({} as never);
    });
    const { session, events } = fixture.open({ store });
    await fixture.advance(15 * MINUTE);
    expect(names(events)).toEqual(['token load', 'token tab']);
    expect(session.state).toMatchObject({ phase: 'fresh', refreshAt: DUE + 15 * MINUTE });
    expect(await store.read()).not.toHaveProperty('ended');
    fixture.close();
  });
});

describe('the service, or its answer, is at fault: few tries, far apart, then a new set', () => {
  test.each<[string, string, Service]>([
    ['client_error', 'http_status 400', answersPlain(400, { status: 'client_error', message: 'no' })],
    ['unauthorized', 'http_status 401', answersPlain(401, { status: 'unauthorized' })],
    ['an unknown status', 'http_status 400', answersPlain(400, { status: 'something_new' })],
    ['an unknown 4xx', 'http_status 418', answersPlain(418)],
    ['not found', 'http_status 404', answersPlain(404, '<html>')],
    ['an opt-out in plain text, with an error', 'http_status 400', answersPlain(400, { status: 'optout' })],
    ['a set in plain text, with an error', 'http_status 403', () => answersPlain(403, success(9))({} as never)],
    ['an opt-out in plain text, with 200', 'malformed_response 200', answersPlain(200, { status: 'optout' })],
    ['a set in plain text, with 200', 'malformed_response 200', () => answersPlain(200, success(9))({} as never)],
    ['the page of a captive portal', 'malformed_response 200', answersPlain(200, '<html>Log in</html>')],
    ['an empty 200', 'malformed_response 200', answersPlain(200)],
    ['an answer under another key', 'decrypt_failed 200', () => new Response(sealedFor(99, '{"status":"optout"}'))],
    [
      'an altered answer',
      'decrypt_failed 200',
      () => new Response(sealedFor(1, '{"status":"optout"}').replace(/.{9}$/, 'AAAAAAAA=')),
    ],
    ['sealed text that is no JSON', 'malformed_response 200', answersSealed('success')],
    ['sealed bytes that are no text', 'malformed_response 200', () => new Response(sealedFor(1, Uint8Array.of(0xff)))],
    [
      'a sealed set with a field missing',
      'malformed_response 200',
      answersSealed({ status: 'success', body: { refresh_token: 'x' } }),
    ],
    ['a sealed status that nobody knows', 'malformed_response 200', answersSealed({ status: 'maybe' })],
    ['a sealed null', 'malformed_response 200', answersSealed('null')],
  ])('%s', async (_, code, service) => {
    const { session, events, sent, advance, store, close } = await due(service);
    expect(names(events)).toEqual(['token load', `error ${code}`]);
    expect(session.state).toMatchObject({ phase: 'due', lastError: { name: 'TokenError' } });
    expect(session.advertisingToken).toBe('advertising-1');
    expect(await store.read()).toMatchObject(recordOf(1, START));
    await advance(30_000 - 1);
    expect(sent).toHaveLength(1);
    await advance(1);
    await advance(120_000);
    await advance(600_000);
    expect(sent.map(({ at }) => at - DUE)).toEqual([0, 30_000, 150_000, 750_000]);
    expect(names(events)).toEqual(['token load', ...Array(4).fill(`error ${code}`), 'needsTokens refused']);
    expect(session.advertisingToken).toBe('advertising-1');
    await advance(HOUR);
    expect(sent).toHaveLength(4);
    expect(names(events).slice(6)).toEqual(['expired advertising']);
    close();
  });

  test('after the last try provide is asked, and its set begins anew', async () => {
    const fixture = createFixture(answersPlain(401));
    const provide = vi.fn(async () => success(5));
    const { session, events } = fixture.openStored({ provide });
    await fixture.advance(15 * MINUTE + 750_000);
    expect(provide.mock.calls).toMatchObject([[{ reason: 'refused' }]]);
    expect(names(events)).not.toContain('needsTokens refused');
    expect(session.state).toMatchObject({ phase: 'fresh', lastError: undefined });
    fixture.serve(rotate);
    await fixture.advance(15 * MINUTE);
    expect(session.advertisingToken).toBe('advertising-6');
    fixture.close();
  });

  test('a try that succeeds ends the counting', async () => {
    const { events, sent, serve, advance, close } = await due(answersPlain(400));
    await advance(30_000);
    serve(rotate);
    await advance(120_000);
    serve(answersPlain(400));
    await advance(15 * MINUTE + 30_000);
    expect(sent.map(({ at }) => at - DUE)).toEqual([0, 30_000, 150_000, 150_000 + 15 * MINUTE, 180_000 + 15 * MINUTE]);
    expect(names(events)).not.toContain('needsTokens refused');
    close();
  });

  test('the error carries the HTTP status and no text of the answer', async () => {
    const { session, close } = await due(
      answersPlain(400, { status: 'client_error', message: 'secret-of-the-answer' }),
    );
    expect(session.state.lastError).toMatchObject({ code: 'http_status', status: 400 });
    expect(`${session.state.lastError} ${session.state.lastError?.cause}`).not.toContain('secret-of-the-answer');
    close();
  });
});

describe('what passes by itself', () => {
  const body = { status: 'expired_token' };
  test.each<[string, string, Service]>([
    ['no network', 'network', offline],
    ['a network that fails with anything at all', 'network', () => Promise.reject('why')],
    ['408', 'http_status 408', answersPlain(408)],
    ['425', 'http_status 425', answersPlain(425)],
    ['429', 'http_status 429', answersPlain(429)],
    ['500, whatever its text says', 'http_status 500', answersPlain(500, body)],
    ['502', 'http_status 502', answersPlain(502, '<html>')],
    ['503', 'http_status 503', answersPlain(503)],
  ])('%s: the set stays, one error is told, tries go on until the service is back', async (_, code, service) => {
    vi.spyOn(Math, 'random').mockReturnValue(0.999_999);
    const { session, events, sent, serve, advance, close } = await due(service);
    expect(names(events)).toEqual(['token load', `error ${code}`]);
    expect(session.advertisingToken).toBe('advertising-1');
    await advance(40 * MINUTE);
    expect(names(events)).toEqual(['token load', `error ${code}`]);
    // 5 s, doubling; then what the budget asks for and an eighth more: 180 s at least, 125 s from the 15th call on.
    const spans = sent.slice(1).map(({ at }, index) => Math.round((at - sent[index]!.at) / 1000));
    expect(spans).toEqual([5, 10, 20, 40, ...Array(10).fill(203), ...Array(2).fill(141)].slice(0, spans.length));
    expect(spans.length).toBeGreaterThan(14);
    serve(rotate);
    await advance(5 * MINUTE);
    expect(names(events)).toEqual(['token load', `error ${code}`, 'token refresh']);
    expect(session.state.lastError).toBeUndefined();
    close();
  });

  test('a second outage after a success is told again', async () => {
    const { events, serve, advance, close } = await due(offline);
    serve(rotate);
    await advance(5 * MINUTE);
    serve(offline);
    await advance(20 * MINUTE);
    expect(names(events)).toEqual(['token load', 'error network', 'token refresh', 'error network']);
    close();
  });

  test.each<[string, Service]>([
    ['the answer never comes, and the network ignores being aborted', hangs],
    [
      'the body never comes',
      () => ({ status: 200, headers: new Headers(), text: () => new Promise(() => {}) }) as unknown as Response,
    ],
  ])('time-out, 10 s in all: %s', async (_, service) => {
    const { session, events, sent, advance, serve, close } = await due(service);
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

  test('an answer that comes after its time-out changes nothing', async () => {
    let answer = (_: Response) => {};
    const { session, advance, sent, serve, close } = await due(() => new Promise((resolve) => (answer = resolve)));
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
    ['a date', {}, new Date(DUE + 120_000).toUTCString()],
    [
      'a date of a service whose clock is another',
      { date: new Date(DUE - 40 * DAY).toUTCString() },
      new Date(DUE - 40 * DAY + 120_000).toUTCString(),
    ],
  ])('Retry-After as %s is kept to', async (_, headers, after) => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    const { events, sent, serve, advance, close } = await due(
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

  test.each(['soon', '-5', '0', ''])('Retry-After %j is as if it were not there', async (after) => {
    vi.spyOn(Math, 'random').mockReturnValue(0.999_999);
    const { sent, serve, advance, close } = await due(answersPlain(503, '', { 'retry-after': after }));
    serve(rotate);
    await advance(4_000);
    expect(sent).toHaveLength(1);
    await advance(1_000);
    expect(sent).toHaveLength(2);
    close();
  });
});

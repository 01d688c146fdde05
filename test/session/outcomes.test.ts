/** Answers to a refresh that settle it: success, opt-out, the end of the refresh token, and answers that are at fault. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { memoryStore, type Store } from '../../src/session/index.ts';
import { HOUR, MINUTE, names, START, useFakeClock } from '../support/fixtures.ts';
import {
  answersPlain,
  answersSealed,
  createFixture,
  openDue,
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

describe('success', () => {
  test('the new set is in force, stored and told, and the next refresh is aimed at', async () => {
    const { session, store, events, sent, advance, close } = await openDue(rotate);
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
    const { session, close } = await openDue(({ n }) => {
      const serviceTime = Date.now() + HOUR;
      return new Response(sealedFor(n, JSON.stringify(success(2, serviceTime))), {
        headers: { date: new Date(serviceTime).toUTCString() },
      });
    });
    expect(session.state).toMatchObject({ phase: 'fresh', clockOffsetMs: HOUR, refreshAt: DUE + HOUR + 15 * MINUTE });
    close();
  });

  test('a set that is due on arrival is no loop of requests', async () => {
    const { session, sent, advance, close } = await openDue(
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
  const { session, store, events, sent, advance, close } = await openDue(answersSealed({ status: 'optout' }));
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
    const { session, store, events, sent, advance, close } = await openDue(refusal);
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
    const { session, events, sent, advance, store, close } = await openDue(service);
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
    const { events, sent, serve, advance, close } = await openDue(answersPlain(400));
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
    const { session, close } = await openDue(
      answersPlain(400, { status: 'client_error', message: 'secret-of-the-answer' }),
    );
    expect(session.state.lastError).toMatchObject({ code: 'http_status', status: 400 });
    expect(`${session.state.lastError} ${session.state.lastError?.cause}`).not.toContain('secret-of-the-answer');
    close();
  });
});

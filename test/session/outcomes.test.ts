/** Answers to a refresh that settle it: success, opt-out, the end of the refresh token, and answers that are at fault. */

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { memoryStore, type Store } from '../../src/session/index.ts';
import { HOUR, MINUTE, names, START, useFakeClock } from '../support/clock.ts';
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
  test('puts the new set in force, stores and emits it, and schedules the next refresh', async () => {
    const { session, store, events, sent, advance } = await openDue(rotate);
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
  });

  test('sets the clock offset from the Date header if it differs by much', async () => {
    const { session } = await openDue(({ n }) => {
      const serviceTime = Date.now() + HOUR;
      return new Response(sealedFor(n, JSON.stringify(success(2, serviceTime))), {
        headers: { date: new Date(serviceTime).toUTCString() },
      });
    });
    expect(session.state).toMatchObject({ phase: 'fresh', clockOffsetMs: HOUR, refreshAt: DUE + HOUR + 15 * MINUTE });
  });
});

test('optout: the tokens are erased from page and store, `optout` is emitted, and no request follows', async () => {
  const { session, store, events, sent, advance } = await openDue(answersSealed({ status: 'optout' }));
  expect(names(events)).toEqual(['token load', 'optout']);
  expect(session.state).toMatchObject({ phase: 'optedOut', refreshAt: undefined, expiresAt: undefined });
  expect(session.advertisingToken).toBeUndefined();
  const stored = await store.read();
  expect(stored).toMatchObject({ optedOut: true });
  expect(JSON.stringify(stored)).not.toMatch(/advertising-|refresh-/);
  await advance(2 * HOUR);
  expect(sent).toHaveLength(1);
});

describe('the end of the refresh token', () => {
  test.each(['expired_token', 'invalid_token'])(
    '(%s) keeps a valid advertising token until it expires, and emits `needsTokens` once',
    async (status) => {
      const { session, store, events, sent, advance } = await openDue(answersPlain(400, { status, message: 'no' }));
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
    },
  );

  test('adopts a newer set that another tab has stored in the meantime, and emits no `needsTokens`', async () => {
    const store: Store = memoryStore(recordOf(1));
    const fixture = createFixture(async () => {
      await store.update(() => recordOf(2));
      return new Response('{"status":"expired_token"}', { status: 400 });
    });
    const { session, events } = fixture.open({ store });
    await fixture.advance(15 * MINUTE);
    expect(names(events)).toEqual(['token load', 'token tab']);
    expect(session.state).toMatchObject({ phase: 'fresh', refreshAt: DUE + 15 * MINUTE });
    expect(await store.read()).not.toHaveProperty('ended');
  });
});

test('the end of a set that the page supplies again at each `needsTokens`, as from a cache: the service is asked once', async () => {
  const { openStored, sent, advance } = createFixture(answersPlain(400, { status: 'expired_token' }));
  const { session } = openStored();
  let calls = 0;
  // Endless calls would block the test.
  const supplyAgain = () => (++calls < 20 ? session.setTokens(success(1, START)) : undefined);
  session.on('needsTokens', supplyAgain);
  session.on('expired', supplyAgain);
  await session.ready;
  await advance(20 * MINUTE);
  expect(sent).toHaveLength(1);
  expect(calls).toBe(2);
  expect(session.state.phase).toBe('ended');
  await session.setTokens(success(2));
  expect(session.advertisingToken).toBe('advertising-2');
});

test.each<[string, string, Service]>([
  ['client_error', 'http_status 400', answersPlain(400, { status: 'client_error', message: 'secret-of-the-answer' })],
  ['an unknown 4xx', 'http_status 418', answersPlain(418)],
  ['an opt-out in plain text, with an error', 'http_status 400', answersPlain(400, { status: 'optout' })],
  ['an opt-out in plain text, with 200', 'malformed_response 200', answersPlain(200, { status: 'optout' })],
  ['the HTML page of a captive portal', 'malformed_response 200', answersPlain(200, '<html>Log in</html>')],
  ['an empty 200', 'malformed_response 200', answersPlain(200)],
  [
    'an answer encrypted with another key',
    'decrypt_failed 200',
    () => new Response(sealedFor(99, '{"status":"optout"}')),
  ],
  [
    'an altered answer',
    'decrypt_failed 200',
    () => new Response(sealedFor(1, '{"status":"optout"}').replace(/.{9}$/, 'AAAAAAAA=')),
  ],
  ['encrypted text that is not JSON', 'malformed_response 200', answersSealed('success')],
  [
    'encrypted bytes that are not UTF-8',
    'malformed_response 200',
    () => new Response(sealedFor(1, Uint8Array.of(0xff))),
  ],
  [
    'an encrypted set with a field missing',
    'malformed_response 200',
    answersSealed({ status: 'success', body: { refresh_token: 'x' } }),
  ],
  ['an encrypted answer with an unknown status', 'malformed_response 200', answersSealed({ status: 'maybe' })],
  ['an encrypted null', 'malformed_response 200', answersSealed('null')],
])('a faulty answer: %s is an error, and the set stays in force', async (_, code, service) => {
  const { session, events, advance, store } = await openDue(service);
  expect(names(events)).toEqual(['token load', `error ${code}`]);
  expect(session.state).toMatchObject({ phase: 'due', lastError: { name: 'TokenError' } });
  expect(`${session.state.lastError} ${session.state.lastError?.cause}`).not.toContain('secret-of-the-answer');
  expect(session.advertisingToken).toBe('advertising-1');
  expect(await store.read()).toMatchObject(recordOf(1, START));
  await advance(30_000);
  expect(names(events)).toEqual(['token load', `error ${code}`, `error ${code}`]);
});

/**
 * What reaches a session from outside its own code: sets of the host, stored records, answers of the service, messages of
 * other tabs and of the app around a webview.
 *
 * What must hold: nothing throws or rejects but as documented; a refused input changes nothing; a token that is given out is a
 * string that has not expired.
 */

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, vi } from 'vitest';
import { connectWebview } from '../../src/page/webview.ts';
import { refreshSet } from '../../src/session/attempt/refresh-request.ts';
import { createSession, isTokenError, memoryStore, type Session } from '../../src/session/index.ts';
import {
  BASE_URL,
  recordOf,
  restoreGlobals,
  sealedFor,
  success,
  watchRejections,
  wireSet,
} from '../session/fixtures.ts';
import { createHost, leaveHost } from '../support/native.ts';
import { altered, anything, json } from './inputs.ts';
import { fuzz } from './run.ts';

const NOW = Date.UTC(2030, 0, 15, 12);
const PHASES = ['empty', 'fresh', 'due', 'stale', 'ended', 'optedOut'];

let rejections: ReturnType<typeof watchRejections>;
beforeEach(() => {
  vi.useFakeTimers({
    now: NOW,
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
  });
  rejections = watchRejections();
});
afterEach(async () => {
  rejections.stop();
  expect(rejections.seen).toEqual([]);
  await restoreGlobals();
  leaveHost();
});

const checkState = ({ advertisingToken, state }: Session): void => {
  expect(PHASES).toContain(state.phase);
  if (advertisingToken === undefined) return;
  expect(typeof advertisingToken === 'string' && advertisingToken !== '').toBe(true);
  expect(state.expiresAt!).toBeGreaterThan(Date.now());
  expect(['empty', 'optedOut', 'stale']).not.toContain(state.phase);
};

let sessions = 0;
const openSession = (stored?: unknown): Session =>
  createSession({
    baseUrl: BASE_URL,
    name: `fuzz-${sessions++}`,
    store: memoryStore(stored),
    fetch: () => new Promise<never>(() => {}),
  });

describe('a session', () => {
  const sets = fc.oneof(
    altered(success(2, NOW), anything),
    altered(wireSet(2, NOW), anything),
    altered({ status: 'optout' }),
    anything,
  );

  fuzz('takes a set of its host, or rejects it and keeps what it has', 4, sets, async (input) => {
    const session = openSession(recordOf(1, NOW));
    await session.ready;
    const before = session.advertisingToken;
    expect(before).toBe('advertising-1');
    try {
      await session.setTokens(input as never);
    } catch (error) {
      expect(isTokenError(error) && error.code).toBe('invalid_token_set');
      expect(session.advertisingToken).toBe(before);
    }
    checkState(session);
    session.close();
  });

  const records = fc.oneof(altered(recordOf(1, NOW), anything), anything);
  fuzz('starts with any stored record', 7, records, async (stored) => {
    const session = openSession(stored);
    await session.ready;
    checkState(session);
    // Whatever was stored, a good set of the host is taken.
    await session.setTokens(success(5, NOW) as never);
    expect(session.advertisingToken).toBe('advertising-5');
    session.close();
  });

  fuzz('ignores what another script says on its channel', 2, anything, async (data) => {
    const channels: { onmessage?: (event: { data: unknown }) => void }[] = [];
    class Channel {
      onmessage?: (event: { data: unknown }) => void;
      constructor() {
        channels.push(this);
      }
      postMessage(): void {}
      close(): void {}
    }
    vi.stubGlobal('BroadcastChannel', Channel);
    const session = openSession(recordOf(1, NOW));
    await session.ready;
    expect(channels).toHaveLength(1);
    channels[0]!.onmessage!({ data });
    await Promise.resolve();
    expect([session.advertisingToken, session.state.phase]).toEqual(['advertising-1', 'fresh']);
    session.close();
  });

  const MESSAGE = { v: 1, ns: 'tessera', kind: 'evt', gen: 1, type: 'set', id: '1', body: success(3, NOW) };
  const messages = fc.oneof(
    altered(MESSAGE).map((message) => JSON.stringify(message)),
    altered({ ...MESSAGE, type: 'clear', body: undefined }).map((message) => JSON.stringify(message)),
    altered({ ...MESSAGE, kind: 'req', type: 'hello' }).map((message) => JSON.stringify(message)),
    anything,
  );
  fuzz('survives any message of a webview', 3, messages, async (data) => {
    const host = createHost('React Native', ({ type }) => (type === 'hello' ? {} : undefined));
    host.arrive();
    const session = openSession(recordOf(1, NOW));
    const link = connectWebview(session);
    await session.ready;
    await link.ready;
    window.dispatchEvent(new MessageEvent('message', { data }));
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
    checkState(session);
    link.disconnect();
    session.close();
  });
});

describe('a refresh', () => {
  const { set } = recordOf(1, NOW);
  const answers = fc.record({
    text: fc.oneof(
      altered(success(2, NOW)).map((answer) => sealedFor(1, JSON.stringify(answer))),
      altered({ status: 'optout' }).map((answer) => sealedFor(1, JSON.stringify(answer))),
      json.map((answer) => sealedFor(1, JSON.stringify(answer))),
      json.map((answer) => JSON.stringify(answer)),
      fc.string({ unit: 'binary' }),
    ),
    status: fc.constantFrom(200, 200, 200, 201, 299, 400, 401, 404, 429, 500, 503),
    headers: fc.dictionary(
      fc.constantFrom('date', 'retry-after', 'content-type'),
      fc.oneof(
        fc.constantFrom('Tue, 15 Jan 2030 12:00:00 GMT', '-1', '1e400', '0', '99999999999'),
        fc.string({ unit: fc.constantFrom(...'0123456789 GMT:,abc') }),
      ),
    ),
  });
  fuzz('has a result or a TokenError for any answer', 2, answers, async ({ text, status, headers }) => {
    const fetch = async () => new Response(text, { status, headers });
    const signal = new AbortController().signal;
    try {
      const outcome = await refreshSet(BASE_URL, fetch, set, signal);
      const answer = outcome.kind === 'answered' ? outcome.answer : undefined;
      if (answer !== 'ended' && answer !== 'optout') expect(typeof answer?.advertisingToken).toBe('string');
    } catch (error) {
      if (!isTokenError(error)) throw error;
      expect(['http_status', 'malformed_response', 'decrypt_failed', 'network']).toContain(error.code);
      const { retryAfterMs } = error;
      if (retryAfterMs !== undefined) expect(retryAfterMs).toBeGreaterThan(0);
    }
  });
});

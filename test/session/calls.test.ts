/** What `getToken()` and `refresh()` return, and that a page may ignore the promises. */

import { describe, expect, test, vi } from 'vitest';
import { memoryStore } from '../../src/session/index.ts';
import { HOUR, loaded, names, START } from '../support/clock.ts';
import { answersPlain, fixtureForEachTest, hangs, offline, recordOf, success, watchRejections } from './fixtures.ts';

const fixture = fixtureForEachTest();

const ENDED = answersPlain(400, { status: 'expired_token' });

describe('getToken()', () => {
  test('rejects with `timeout` after its own `timeoutMs`, by default after the session’s', async () => {
    fixture.serve(hangs);
    const { session } = await loaded(fixture.open({ provide: () => new Promise(() => {}), timeoutMs: 4000 }));
    const outcomes: string[] = [];
    session.getToken({ timeoutMs: 500 }).catch(({ code }) => outcomes.push(`${Date.now() - START} ${code}`));
    session.getToken().catch(({ code }) => outcomes.push(`${Date.now() - START} ${code}`));
    await fixture.advance(5000);
    expect(outcomes).toEqual(['500 timeout', '4000 timeout']);
  });

  test('leaves nothing to do once it has timed out, however often a page asks before there is consent', async () => {
    const now = vi.fn(() => Date.now());
    const { session } = await loaded(fixture.open({ now, consent: () => new Promise(() => {}) }));
    /** How often one more call reads the clock, which the session does each time it decides. */
    const readings = async () => {
      now.mockClear();
      session.getToken({ timeoutMs: 10 });
      await fixture.advance(20);
      return now.mock.calls.length;
    };
    const before = await readings();
    for (let n = 0; n < 20; n++) await readings();
    expect(before).toBeGreaterThan(0);
    expect(await readings()).toBe(before);
  });

  test.each([
    ['waits', memoryStore, 'timeout'],
    ['has a token at hand', () => memoryStore(recordOf(1)), 'advertising-1'],
  ])('that %s makes no other call decide again', async (_, storeOf, expected) => {
    fixture.serve(hangs);
    /** How often a call reads the clock, which the session does each time it decides, where `count` calls are made at once. */
    const readings = async (count: number) => {
      const now = vi.fn(() => Date.now());
      const { session } = await loaded(fixture.open({ now, store: storeOf(), provide: () => new Promise(() => {}) }));
      await fixture.settle();
      now.mockClear();
      const calls = Array.from({ length: count }, () => session.getToken({ timeoutMs: 10 }).catch(({ code }) => code));
      await fixture.advance(20);
      expect(new Set(await Promise.all(calls))).toEqual(new Set([expected]));
      return now.mock.calls.length / count;
    };
    expect(await readings(400)).toBeLessThanOrEqual(await readings(40));
  });

  test('waits for the stored token when the store has not been read yet', async () => {
    const { session } = fixture.openStored();
    expect(session.advertisingToken).toBeUndefined();
    expect(await session.getToken()).toBe('advertising-1');
    expect(fixture.sent).toEqual([]);
  });
});

describe('refresh()', () => {
  test('refreshes at once even if nothing is due, and shares one request among many callers', async () => {
    const { session, events } = await loaded(fixture.openStored());
    await Promise.all([session.refresh(), session.refresh(), session.refresh()]);
    expect(fixture.sent).toHaveLength(1);
    expect(session.advertisingToken).toBe('advertising-2');
    expect(names(events)).toEqual(['token load', 'token refresh']);
  });

  test.each([
    ['no network', offline, 'network'],
    ['a refusal', answersPlain(401), 'http_status'],
    ['an ended refresh token', ENDED, 'refresh_rejected'],
  ])('rejects with the error of the attempt: %s', async (_, service, code) => {
    fixture.serve(service);
    const { session } = await loaded(fixture.openStored());
    await expect(session.refresh()).rejects.toMatchObject({ name: 'TokenError', code });
  });

  test('rejects with `no_token` when there is neither a set to refresh nor `provide`', async () => {
    const { session } = await loaded(fixture.open());
    await expect(session.refresh()).rejects.toMatchObject({ code: 'no_token' });
    expect(fixture.sent).toEqual([]);
  });
});

describe("refresh: 'off'", () => {
  test('never refreshes: the token stays in force until it expires', async () => {
    const { session, events } = fixture.openStored({ refresh: 'off' });
    await fixture.advance(2 * HOUR);
    expect(fixture.sent).toEqual([]);
    expect(names(events)).toEqual(['token load', 'expired advertising']);
    await session.setTokens(success(8));
    expect(session.advertisingToken).toBe('advertising-8');
  });

  test('the host acts for the service: setTokens lifts an opt-out, in every tab and for good', async () => {
    const store = memoryStore();
    const { session, events } = fixture.open({ store, name: 'off', refresh: 'off' });
    const { session: other } = fixture.open({ store, name: 'off', refresh: 'off' });
    await session.setTokens({ status: 'optout' });
    const written = session.setTokens(success(2));
    expect(session.advertisingToken).toBe('advertising-2');
    await written;
    await fixture.settle();
    expect([session.state.phase, other.state.phase]).toEqual(['fresh', 'fresh']);
    expect(names(events)).toEqual(['optout', 'token set']);
    expect(await store.read()).not.toMatchObject({ optedOut: expect.anything() });
  });
});

test('promises that the page ignores cause no unhandled rejection', async () => {
  const { seen, stop } = watchRejections();
  fixture.serve(offline);
  const { session } = fixture.open({ provide: () => Promise.reject(new Error('no')), timeoutMs: 100 });
  void session.setTokens('nonsense' as never);
  void session.getToken();
  void session.refresh();
  await fixture.advance(1000);
  void session.getToken({ timeoutMs: 1 });
  session.close();
  void session.setTokens(success(1));
  void session.getToken();
  void session.refresh();
  void session.clear();
  await fixture.advance(1000);
  stop();
  expect(seen).toEqual([]);
});

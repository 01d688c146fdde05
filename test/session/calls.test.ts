/** What `getToken()` and `refresh()` return, and that a page may ignore the promises. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { memoryStore } from '../../src/session/index.ts';
import { HOUR, names, START, useFakeClock } from '../support/fixtures.ts';
import {
  answersPlain,
  createFixture,
  hangs,
  offline,
  recordOf,
  restoreGlobals,
  success,
  watchRejections,
} from './fixtures.ts';

beforeEach(() => void useFakeClock());
afterEach(restoreGlobals);

const ENDED = answersPlain(400, { status: 'expired_token' });

describe('getToken', () => {
  test('is bounded by its own time, else by the session’s', async () => {
    const fixture = createFixture(hangs);
    const { session } = fixture.open({ provide: () => new Promise(() => {}), timeoutMs: 4000 });
    await session.ready;
    const told: string[] = [];
    session.getToken({ timeoutMs: 500 }).catch(({ code }) => told.push(`${Date.now() - START} ${code}`));
    session.getToken().catch(({ code }) => told.push(`${Date.now() - START} ${code}`));
    await fixture.advance(5000);
    expect(told).toEqual(['500 timeout', '4000 timeout']);
    fixture.close();
  });

  test('many callers wait for one request', async () => {
    const fixture = createFixture();
    const { session } = fixture.open({ store: memoryStore(recordOf(1, START - 2 * HOUR)) });
    const tokens = await Promise.all(Array.from({ length: 5 }, () => session.getToken()));
    expect(new Set(tokens)).toEqual(new Set(['advertising-2']));
    expect(fixture.sent).toHaveLength(1);
    fixture.close();
  });

  test('before the store is read, waits for what is stored', async () => {
    const fixture = createFixture();
    const { session } = fixture.openStored();
    expect(session.advertisingToken).toBeUndefined();
    expect(await session.getToken()).toBe('advertising-1');
    expect(fixture.sent).toEqual([]);
    fixture.close();
  });
});

test('getToken(null) is getToken()', async () => {
  const fixture = createFixture();
  const { session } = fixture.openStored();
  expect(await session.getToken(null as never)).toBe('advertising-1');
  fixture.close();
});

describe('refresh()', () => {
  test('refreshes at once, though nothing is due; many callers share one request', async () => {
    const fixture = createFixture();
    const { session, events } = fixture.openStored();
    await session.ready;
    await Promise.all([session.refresh(), session.refresh(), session.refresh()]);
    expect(fixture.sent).toHaveLength(1);
    expect(session.advertisingToken).toBe('advertising-2');
    expect(names(events)).toEqual(['token load', 'token refresh']);
    fixture.close();
  });

  test.each([
    ['network', offline, 'network'],
    ['a refusal', answersPlain(401), 'http_status'],
    ['the end', ENDED, 'refresh_rejected'],
  ])('rejects with what it failed with: %s', async (_, service, code) => {
    const fixture = createFixture(service);
    const { session } = fixture.openStored();
    await session.ready;
    await expect(session.refresh()).rejects.toMatchObject({ name: 'TokenError', code });
    fixture.close();
  });

  test('with nothing to refresh and nobody to ask rejects no_token', async () => {
    const fixture = createFixture();
    const { session } = fixture.open();
    await session.ready;
    await expect(session.refresh()).rejects.toMatchObject({ code: 'no_token' });
    expect(fixture.sent).toEqual([]);
    fixture.close();
  });
});

describe("refresh: 'off'", () => {
  test('the page only adopts: nothing is refreshed, the token lives out its time', async () => {
    const fixture = createFixture();
    const { session, events } = fixture.openStored({ refresh: 'off' });
    await fixture.advance(2 * HOUR);
    expect(fixture.sent).toEqual([]);
    expect(names(events)).toEqual(['token load', 'expired advertising']);
    await session.setTokens(success(8));
    expect(session.advertisingToken).toBe('advertising-8');
    fixture.close();
  });

  test('refresh() asks provide, and where there is none rejects without asking the page for what it has', async () => {
    const fixture = createFixture();
    const provide = vi.fn(async () => success(9));
    const owner = fixture.openStored({ refresh: 'off', provide });
    await owner.session.ready;
    await owner.session.refresh();
    expect(owner.session.advertisingToken).toBe('advertising-9');
    expect(provide).toHaveBeenCalledOnce();

    const alone = fixture.openStored({ refresh: 'off' });
    await alone.session.ready;
    await expect(alone.session.refresh()).rejects.toMatchObject({ code: 'no_token' });
    expect(names(alone.events)).toEqual(['token load']);
    expect(fixture.sent).toEqual([]);
    fixture.close();
  });
});

test('promises that the page ignores cause no unhandled rejection', async () => {
  const { seen, stop } = watchRejections();
  const fixture = createFixture(offline);
  const { session } = fixture.open({ provide: () => Promise.reject(new Error('no')), timeoutMs: 100 });
  void session.setTokens('nonsense');
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

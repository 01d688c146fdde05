/** Phases as a page sees them, and that the getters look at the clock themselves. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { memoryStore } from '../../src/session/index.ts';
import { DAY, HOUR, MINUTE, names, START, until, useFakeClock } from '../support/scene.ts';
import { createStage, hangs, offline, recordOf, refuses, rotate, strike, success } from './stage.ts';

beforeEach(() => void useFakeClock());
afterEach(strike);

const ENDED = refuses(400, { status: 'expired_token' });

test('from set to end: fresh, due, stale, ended, each at its ms', async () => {
  const stage = createStage(offline);
  const { session } = stage.openWith();
  await session.ready;
  const seen = [session.state.phase];
  session.subscribe(() => {
    if (session.state.phase !== seen.at(-1)) seen.push(session.state.phase);
  });
  await stage.pass(15 * MINUTE - 1);
  expect(session.state).toMatchObject({ phase: 'fresh', refreshAt: START + 15 * MINUTE, endsAt: START + DAY });
  await stage.pass(1);
  expect(session.state.phase).toBe('due');
  await stage.pass(45 * MINUTE - 1);
  expect([session.state.phase, session.advertisingToken]).toEqual(['due', 'advertising-1']);
  await stage.pass(1);
  expect([session.state.phase, session.advertisingToken]).toEqual(['stale', undefined]);
  stage.serve(ENDED);
  await stage.pass(5 * MINUTE);
  expect(seen).toEqual(['fresh', 'due', 'stale', 'ended']);
  stage.close();
});

describe('with every timer of the page stopped', () => {
  test('the getters tell the time themselves, and set going what the timer should have', async () => {
    const stage = createStage(hangs);
    const { session, heard } = stage.openWith();
    await session.ready;
    await stage.rest();
    vi.stubGlobal('setTimeout', () => 0);
    vi.setSystemTime(START + 15 * MINUTE);
    expect(session.state.phase).toBe('due');
    await until(() => stage.sent.length === 1);
    vi.setSystemTime(START + HOUR - 1);
    expect(session.advertisingToken).toBe('advertising-1');
    vi.setSystemTime(START + HOUR);
    expect(session.advertisingToken).toBeUndefined();
    expect(session.state.phase).toBe('stale');
    await until(() => heard.length === 2);
    expect(names(heard)).toEqual(['token load', 'expired advertising']);
    stage.close();
  });

  test('reading the token alone starts the refresh that is due', async () => {
    const stage = createStage();
    const { session } = stage.openWith();
    await session.ready;
    await stage.rest();
    vi.stubGlobal('setTimeout', () => 0);
    vi.setSystemTime(START + 20 * MINUTE);
    expect(session.advertisingToken).toBe('advertising-1');
    await until(() => session.advertisingToken === 'advertising-2');
    expect(stage.sent).toHaveLength(1);
    stage.close();
  });
});

test('an expired token comes back with the service, and expiry is told once', async () => {
  const stage = createStage(offline);
  const { session, heard } = stage.openWith();
  await stage.pass(2 * HOUR);
  stage.serve(rotate);
  await stage.pass(5 * MINUTE);
  expect(session.state.phase).toBe('fresh');
  expect(names(heard)).toEqual(['token load', 'error network', 'expired advertising', 'token refresh']);
  stage.close();
});

test('past the refresh token’s end by the local clock, one refresh asks the service', async () => {
  const stage = createStage(ENDED);
  const { session, heard } = stage.open({ store: memoryStore(recordOf(1, START - 2 * DAY)) });
  expect(session.advertisingToken).toBeUndefined();
  await stage.pass(HOUR);
  expect(stage.sent).toHaveLength(1);
  expect(session.state.phase).toBe('ended');
  expect(names(heard)).toEqual(['needsTokens ended', 'expired refresh']);
  stage.close();
});

test('a clock that was wrong all along: the service refreshes a set that seemed past its end', async () => {
  const stage = createStage();
  const { session, heard } = stage.open({ store: memoryStore(recordOf(1, START - 2 * DAY)) });
  await stage.pass(1);
  expect(session.advertisingToken).toBe('advertising-2');
  expect(names(heard)).toEqual(['token refresh']);
  stage.close();
});

describe('waitingFor', () => {
  test('says storage, then refresh, then nothing', async () => {
    const stage = createStage(hangs);
    const { session } = stage.open({ store: memoryStore(recordOf(1, START - 2 * HOUR)) });
    expect(session.state).toMatchObject({ waitingFor: 'storage', phase: 'empty' });
    await until(() => stage.sent.length);
    expect(session.state).toMatchObject({ waitingFor: 'refresh', phase: 'stale' });
    stage.serve(rotate);
    await stage.pass(15_000);
    expect(session.state.waitingFor).toBeUndefined();
    stage.close();
  });

  test('says provide while the publisher is asked', async () => {
    const stage = createStage();
    let answer = (_: unknown) => {};
    const { session } = stage.open({ provide: () => new Promise((resolve) => (answer = resolve)) });
    await stage.rest();
    expect(session.state.waitingFor).toBe('provide');
    answer(success(1));
    await until(() => session.advertisingToken);
    expect(session.state.waitingFor).toBeUndefined();
    stage.close();
  });
});

describe('getToken', () => {
  test('is bounded by its own time, else by the session’s', async () => {
    const stage = createStage(hangs);
    const { session } = stage.open({ provide: () => new Promise(() => {}), timeoutMs: 4000 });
    await session.ready;
    const told: string[] = [];
    session.getToken({ timeoutMs: 500 }).catch(({ code }) => told.push(`${Date.now() - START} ${code}`));
    session.getToken().catch(({ code }) => told.push(`${Date.now() - START} ${code}`));
    await stage.pass(5000);
    expect(told).toEqual(['500 timeout', '4000 timeout']);
    stage.close();
  });

  test('many callers wait for one request', async () => {
    const stage = createStage();
    const { session } = stage.open({ store: memoryStore(recordOf(1, START - 2 * HOUR)) });
    const tokens = await Promise.all(Array.from({ length: 5 }, () => session.getToken()));
    expect(new Set(tokens)).toEqual(new Set(['advertising-2']));
    expect(stage.sent).toHaveLength(1);
    stage.close();
  });

  test('before the store is read, waits for what is stored', async () => {
    const stage = createStage();
    const { session } = stage.openWith();
    expect(session.advertisingToken).toBeUndefined();
    expect(await session.getToken()).toBe('advertising-1');
    expect(stage.sent).toEqual([]);
    stage.close();
  });
});

describe('refresh()', () => {
  test('refreshes at once, though nothing is due; many callers share one request', async () => {
    const stage = createStage();
    const { session, heard } = stage.openWith();
    await session.ready;
    await Promise.all([session.refresh(), session.refresh(), session.refresh()]);
    expect(stage.sent).toHaveLength(1);
    expect(session.advertisingToken).toBe('advertising-2');
    expect(names(heard)).toEqual(['token load', 'token refresh']);
    stage.close();
  });

  test.each([
    ['network', offline, 'network'],
    ['a refusal', refuses(401), 'http_status'],
    ['the end', ENDED, 'refresh_rejected'],
  ])('rejects with what it failed with: %s', async (_, service, code) => {
    const stage = createStage(service);
    const { session } = stage.openWith();
    await session.ready;
    await expect(session.refresh()).rejects.toMatchObject({ name: 'TokenError', code });
    stage.close();
  });

  test('with nothing to refresh and nobody to ask rejects no_token', async () => {
    const stage = createStage();
    const { session } = stage.open();
    await session.ready;
    await expect(session.refresh()).rejects.toMatchObject({ code: 'no_token' });
    expect(stage.sent).toEqual([]);
    stage.close();
  });
});

describe("refresh: 'off'", () => {
  test('the page only adopts: nothing is refreshed, the token lives out its time', async () => {
    const stage = createStage();
    const { session, heard } = stage.openWith({ refresh: 'off' });
    await stage.pass(2 * HOUR);
    expect(stage.sent).toEqual([]);
    expect(names(heard)).toEqual(['token load', 'expired advertising']);
    await session.setTokens(success(8));
    expect(session.advertisingToken).toBe('advertising-8');
    stage.close();
  });

  test('refresh() asks provide, and where there is none rejects without asking the page for what it has', async () => {
    const stage = createStage();
    const provide = vi.fn(async () => success(9));
    const owner = stage.openWith({ refresh: 'off', provide });
    await owner.session.ready;
    await owner.session.refresh();
    expect(owner.session.advertisingToken).toBe('advertising-9');
    expect(provide).toHaveBeenCalledOnce();

    const alone = stage.openWith({ refresh: 'off' });
    await alone.session.ready;
    await expect(alone.session.refresh()).rejects.toMatchObject({ code: 'no_token' });
    expect(names(alone.heard)).toEqual(['token load']);
    expect(stage.sent).toEqual([]);
    stage.close();
  });
});

/** The phases of a set, and that the getters read the clock themselves. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { memoryStore } from '../../src/session/index.ts';
import { DAY, HOUR, MINUTE, names, START, until, useFakeClock } from '../support/fixtures.ts';
import { answersPlain, createFixture, hangs, offline, recordOf, restoreGlobals, rotate, success } from './fixtures.ts';

beforeEach(() => void useFakeClock());
afterEach(restoreGlobals);

const ENDED = answersPlain(400, { status: 'expired_token' });

test('from set to end: fresh, due, stale, ended, each at its ms', async () => {
  const fixture = createFixture(offline);
  const { session } = fixture.openStored();
  await session.ready;
  const seen = [session.state.phase];
  session.subscribe(() => {
    if (session.state.phase !== seen.at(-1)) seen.push(session.state.phase);
  });
  await fixture.advance(15 * MINUTE - 1);
  expect(session.state).toMatchObject({ phase: 'fresh', refreshAt: START + 15 * MINUTE, endsAt: START + DAY });
  await fixture.advance(1);
  expect(session.state.phase).toBe('due');
  await fixture.advance(45 * MINUTE - 1);
  expect([session.state.phase, session.advertisingToken]).toEqual(['due', 'advertising-1']);
  await fixture.advance(1);
  expect([session.state.phase, session.advertisingToken]).toEqual(['stale', undefined]);
  fixture.serve(ENDED);
  await fixture.advance(5 * MINUTE);
  expect(seen).toEqual(['fresh', 'due', 'stale', 'ended']);
  fixture.close();
});

describe('with every timer of the page stopped', () => {
  test('the getters tell the time themselves, and set going what the timer should have', async () => {
    const fixture = createFixture(hangs);
    const { session, events } = fixture.openStored();
    await session.ready;
    await fixture.settle();
    vi.stubGlobal('setTimeout', () => 0);
    vi.setSystemTime(START + 15 * MINUTE);
    expect(session.state.phase).toBe('due');
    await until(() => fixture.sent.length === 1);
    vi.setSystemTime(START + HOUR - 1);
    expect(session.advertisingToken).toBe('advertising-1');
    vi.setSystemTime(START + HOUR);
    expect(session.advertisingToken).toBeUndefined();
    expect(session.state.phase).toBe('stale');
    await until(() => events.length === 2);
    expect(names(events)).toEqual(['token load', 'expired advertising']);
    fixture.close();
  });

  test('reading the token alone starts the refresh that is due', async () => {
    const fixture = createFixture();
    const { session } = fixture.openStored();
    await session.ready;
    await fixture.settle();
    vi.stubGlobal('setTimeout', () => 0);
    vi.setSystemTime(START + 20 * MINUTE);
    expect(session.advertisingToken).toBe('advertising-1');
    await until(() => session.advertisingToken === 'advertising-2');
    expect(fixture.sent).toHaveLength(1);
    fixture.close();
  });
});

test('an expired token comes back with the service, and expiry is told once', async () => {
  const fixture = createFixture(offline);
  const { session, events } = fixture.openStored();
  await fixture.advance(2 * HOUR);
  fixture.serve(rotate);
  await fixture.advance(5 * MINUTE);
  expect(session.state.phase).toBe('fresh');
  expect(names(events)).toEqual(['token load', 'error network', 'expired advertising', 'token refresh']);
  fixture.close();
});

test('past the refresh token’s end by the local clock, one refresh asks the service', async () => {
  const fixture = createFixture(ENDED);
  const { session, events } = fixture.open({ store: memoryStore(recordOf(1, START - 2 * DAY)) });
  expect(session.advertisingToken).toBeUndefined();
  await fixture.advance(HOUR);
  expect(fixture.sent).toHaveLength(1);
  expect(session.state.phase).toBe('ended');
  expect(names(events)).toEqual(['needsTokens ended', 'expired refresh']);
  fixture.close();
});

test('a clock that was wrong all along: the service refreshes a set that seemed past its end', async () => {
  const fixture = createFixture();
  const { session, events } = fixture.open({ store: memoryStore(recordOf(1, START - 2 * DAY)) });
  await fixture.advance(1);
  expect(session.advertisingToken).toBe('advertising-2');
  expect(names(events)).toEqual(['token refresh']);
  fixture.close();
});

describe('waitingFor', () => {
  test('says storage, then refresh, then nothing', async () => {
    const fixture = createFixture(hangs);
    const { session } = fixture.open({ store: memoryStore(recordOf(1, START - 2 * HOUR)) });
    expect(session.state).toMatchObject({ waitingFor: 'storage', phase: 'empty' });
    await until(() => fixture.sent.length);
    expect(session.state).toMatchObject({ waitingFor: 'refresh', phase: 'stale' });
    fixture.serve(rotate);
    await fixture.advance(15_000);
    expect(session.state.waitingFor).toBeUndefined();
    fixture.close();
  });

  test('says provide while the publisher is asked', async () => {
    const fixture = createFixture();
    let answer = (_: unknown) => {};
    const { session } = fixture.open({ provide: () => new Promise((resolve) => (answer = resolve)) });
    await fixture.settle();
    expect(session.state.waitingFor).toBe('provide');
    answer(success(1));
    await until(() => session.advertisingToken);
    expect(session.state.waitingFor).toBeUndefined();
    fixture.close();
  });
});

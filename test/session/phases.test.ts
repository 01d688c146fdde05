/** The phases of a set, and that the getters read the clock themselves. */

import { describe, expect, test, vi } from 'vitest';
import { memoryStore } from '../../src/session/index.ts';
import { DAY, HOUR, loaded, MINUTE, names, START, until } from '../support/clock.ts';
import { answersPlain, fixtureForEachTest, hangs, offline, recordOf, rotate } from './fixtures.ts';

const fixture = fixtureForEachTest();

const ENDED = answersPlain(400, { status: 'expired_token' });

test('a set is fresh, due, stale and ended in turn, each at its exact millisecond', async () => {
  fixture.serve(offline);
  const { session } = await loaded(fixture.openStored());
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
});

describe('when the timers of the page do not run', () => {
  test('the getters read the clock themselves, and start what the timer should have started', async () => {
    fixture.serve(hangs);
    const { session, events } = await loaded(fixture.openStored());
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
  });

  test('reading `advertisingToken` starts a refresh that is due', async () => {
    const { session } = await loaded(fixture.openStored());
    await fixture.settle();
    vi.stubGlobal('setTimeout', () => 0);
    vi.setSystemTime(START + 20 * MINUTE);
    expect(session.advertisingToken).toBe('advertising-1');
    await until(() => session.advertisingToken === 'advertising-2');
    expect(fixture.sent).toHaveLength(1);
  });
});

test('waitingFor is `storage`, then `refresh`, then undefined', async () => {
  fixture.serve(hangs);
  const { session } = fixture.open({ store: memoryStore(recordOf(1, START - 2 * HOUR)) });
  expect(session.state).toMatchObject({ waitingFor: 'storage', phase: 'empty' });
  await until(() => fixture.sent.length);
  expect(session.state).toMatchObject({ waitingFor: 'refresh', phase: 'stale' });
  fixture.serve(rotate);
  await fixture.advance(2 * MINUTE);
  expect(session.state.waitingFor).toBeUndefined();
});

/** `session.explain()` of the development build: the state in two sentences. */

import { afterEach, beforeEach, expect, test } from 'vitest';
import { explainState } from '../../src/session/explain/state.ts';
import { HOUR, MINUTE, useFakeClock } from '../support/clock.ts';
import { answersPlain, createFixture, openLoaded, restoreGlobals, rotate } from './fixtures.ts';

beforeEach(() => void useFakeClock());
afterEach(restoreGlobals);

test('of a life: a fresh token, a failure, the end of the token in an outage, a close', async () => {
  const { session, advance, serve } = await openLoaded();
  expect(session.explain!()).toBe(
    'There is a valid token, for another 60 min. Next, the session will ask the operator for a newer token in 15 min (the token is fresh until then).',
  );
  serve(answersPlain(503, '', { 'retry-after': '3000' }));
  await advance(15 * MINUTE);
  expect(session.explain!()).toBe(
    'There is a valid token, for another 45 min; the last attempt failed: the answer was an error (status 503). Next, the session will ask the operator for a newer token in 50 min (the service asked for a pause).',
  );
  await advance(46 * MINUTE);
  expect(session.explain!()).toMatch(
    /^There is no token: the last one has expired; the last attempt failed: .* in 4 min/,
  );
  serve(rotate);
  await advance(HOUR);
  expect(session.explain!()).toMatch(/^There is a valid token, for another \d+ min\. Next,/);
  session.close();
  expect(session.explain!()).toMatch(/ The session is closed\.$/);
});

test('of a page that waits for its own code, or for consent, says what for', async () => {
  const { session } = createFixture().open({ provide: undefined });
  await session.ready;
  expect(session.explain!()).toBe('There is no token. Next, the session will wait until your page calls setTokens.');
  const { session: asking } = createFixture().open({ name: 'asking', consent: () => new Promise(() => {}) });
  await asking.ready;
  expect(asking.explain!()).toBe('There is no token. The session does nothing until consent is given.');
});

test('counts the time by the clock of the service', () => {
  const state = {
    phase: 'due',
    generation: 1,
    persistence: 'memory',
    expiresAt: HOUR,
    clockOffsetMs: 10 * MINUTE,
  } as const;
  expect(explainState(state, 'any', 0)).toMatch(/^There is a valid token, for another 50 min\./);
});

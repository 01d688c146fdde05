/**
 * The model can fail: each altered rule lacks one safeguard of the session, and the simulated profiles that the unaltered
 * session passes detect it.
 */

import { expect, test } from 'vitest';
import { type AlteredRule, alterModule } from './bundle.ts';
import type { Field } from './commands.ts';
import { limitOf, runModel } from './run.ts';

const RUNS = 1000;
/** Fixed: this test is about the model. */
const SEED = 5;

const altered: readonly [what: string, field: Field, rule: AlteredRule, violation: RegExp][] = [
  [
    'an answer counts whatever was done since the question',
    'close',
    alterModule('record', ({ refreshAnswered }) => ({
      refreshAnswered:
        (_, ...answer) =>
        (record) =>
          refreshAnswered(record, ...answer)(record),
    })),
    /shows a token/,
  ],
  [
    'a tab that has the lock does not look whether another was faster',
    'close',
    alterModule('record', ({ claimRefresh }) => ({
      claimRefresh: (record, _, ...options) => claimRefresh(record, record, ...options),
    })),
    /sends a (set that is due only|refresh token again)/,
  ],
  [
    'a lock that is taken keeps nobody out',
    'close',
    alterModule('tabs', ({ createTabs }) => ({
      createTabs: (...options) => {
        const tabs = createTabs(...options);
        return { ...tabs, withLock: (work) => tabs.withLock(() => work('held')) };
      },
    })),
    /in flight/,
  ],
  [
    'the next action forgets an opt-out',
    'wild',
    alterModule('record', ({ setByHost, loggedOut }) => ({
      setByHost: (set, now) => (record) => setByHost(set, now)({ ...record, optedOut: undefined }),
      loggedOut: (now, forget) => (record) => loggedOut(now, forget)({ ...record, optedOut: undefined }),
    })),
    /after an opt-out/,
  ],
  [
    'storage is used before there is consent',
    'wild',
    alterModule('storeQueue', ({ createStoreQueue }) => ({
      createStoreQueue: (...options) => {
        const queue = createStoreQueue(...options);
        queue.open();
        return queue;
      },
    })),
    /before consent/,
  ],
  [
    'the withdrawal of consent erases nothing',
    'wild',
    alterModule('record', () => ({ erased: (record) => record })),
    /without consent|superseded by forget|not erased/,
  ],
  [
    'closing leaves alone what waits for consent',
    'close',
    alterModule('recordStore', ({ createRecordStore }) => ({
      createRecordStore: (...options) => Object.assign(createRecordStore(...options), { close: async () => {} }),
    })),
    /has not settled/,
  ],
  [
    "a page refreshes with refresh: 'off'",
    'wild',
    alterModule('pageState', ({ initialPage }) => ({
      initialPage: (canProvide, _, persistence) => initialPage(canProvide, true, persistence),
    })),
    /another owner/,
  ],
  [
    'a page that was away goes on with what it held',
    'wild',
    alterModule('pageState', () => ({ wentAway: (page) => ({ ...page, isAway: true }) })),
    /after a thaw/,
  ],
];

test.each(altered)(
  'the model detects that %s',
  async (_, field, rule, violation) => {
    expect(await runModel({ field, runs: RUNS, seed: SEED, shrinks: false, altered: rule })).toMatch(violation);
  },
  limitOf(RUNS),
);

/**
 * The model can fail: each altered rule lacks one safeguard of the session, and the simulated profiles that the unaltered
 * session passes detect it.
 */

import { expect, test } from 'vitest';
import type * as retry from '../../src/session/rules/retry.ts';
import { type AlteredRule, alterModule } from './bundle.ts';
import type { Field } from './commands.ts';
import { HOUR, type Setup } from './invariants.ts';
import { limitOf, runModel } from './run.ts';

const RUNS = 1000;
/** Fixed: this test is about the model. */
const SEED = 5;

/** A session that never emits an event, or that event with one detail: its cause, or the token that expired. */
const without = (event: string, detail?: string): AlteredRule =>
  alterModule('decide', ({ decide }) => ({
    decide: (...given) => {
      const decision = decide(...given);
      const isLeftOut = ([name, payload]: (typeof decision.events)[number]) =>
        name === event && (!detail || Object.values(payload).includes(detail));
      return { ...decision, events: decision.events.filter((one) => !isLeftOut(one)) };
    },
  }));

const altered: readonly [what: string, field: Field, rule: AlteredRule, violation: RegExp, fixed?: Partial<Setup>][] = [
  [
    'an answer counts whatever was done since the question',
    'again',
    alterModule('refresh', ({ refreshAnswered }) => ({
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
    alterModule('refresh', ({ claimRefresh }) => ({
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
    alterModule('recordStore', ({ createRecordStore }) => ({
      createRecordStore: (...options) => {
        const records = createRecordStore(...options);
        queueMicrotask(() => void records.reload());
        return records;
      },
    })),
    /before consent/,
  ],
  [
    'the withdrawal of consent erases nothing',
    'wild',
    alterModule('record', () => ({ erased: (record) => ({ ...record, generation: record.generation + 1 }) })),
    /without consent|superseded by forget|not erased|writes personal data/,
  ],
  [
    'closing leaves alone what waits for consent',
    'close',
    alterModule('shell', ({ releaseCalls }) => ({
      releaseCalls: (inside, error) => (inside.page.isClosed ? undefined : releaseCalls(inside, error)),
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
    'absence',
    alterModule('pageState', () => ({ wentAway: (page) => page })),
    /after a thaw/,
  ],
  [
    'an answer counts for another generation of the same set',
    'again',
    alterModule('refresh', ({ refreshAnswered }) => ({
      refreshAnswered:
        (sent, ...answer) =>
        (record) =>
          refreshAnswered({ ...sent, generation: record.generation }, ...answer)(record),
    })),
    /after an opt-out/,
    // Without messages, a page does not abort a request for a set that another page has replaced.
    { channel: 'missing' },
  ],
  [
    'a set that is held back after an opt-out is not refreshed',
    'close',
    alterModule('decide', ({ decide }) => ({
      decide: (...given) => {
        const decision = decide(...given);
        const isOut = decision.state.phase === 'optedOut' && given[0].set;
        return isOut ? { ...decision, attempt: undefined, wakeAt: Number.POSITIVE_INFINITY } : decision;
      },
    })),
    /no token, though set|is not refreshed although it is due/,
  ],
  [
    'a token that another tab brings is not emitted',
    'close',
    without('token', 'tab'),
    /the token in force is not emitted/,
  ],
  ['an opt-out is not emitted', 'close', without('optout'), /the opt-out is not emitted/],
  [
    'the end of a refresh token is not emitted',
    'wild',
    without('expired', 'refresh'),
    /the end of the refresh token is not emitted/,
  ],
  ['an expiry is not emitted', 'wild', without('expired', 'advertising'), /the expiry of the token is not emitted/],
  [
    'a tab waits for ever for a lock that another script holds',
    'wild',
    alterModule('attempt', ({ startAttempt }) => ({
      startAttempt: (shell, plan) => startAttempt(shell, { ...plan, ignoresLock: false }),
    })),
    /no token, though set|is not refreshed although it is due|`provide` is not asked/,
  ],
  [
    'damaged retry state counts',
    'damage',
    alterModule('retry', () => ({ parseRetry: (stored) => stored as ReturnType<typeof retry.parseRetry> })),
    /is not refreshed although it is due|no token, though set|BigInt/,
  ],
  [
    'a page that was suspended without an event goes on with what it held',
    'absence',
    alterModule('pageState', ({ wokeUp }) => ({ wokeUp: (page, now) => wokeUp({ ...page, hiddenAt: 0 }, now) })),
    /after a thaw/,
  ],
  [
    'a slow store is waited for without a limit',
    'absence',
    alterModule('timeout', ({ withTimeout }) => ({
      withTimeout: (ms, work, what, signal) => (what === 'the store' ? work : withTimeout(ms, work, what, signal)),
    })),
    /ready has not settled in time/,
    { storage: 'sluggish' },
  ],
  [
    'an answer of the consent tool that a change has overtaken counts',
    'wild',
    alterModule('consent', ({ askConsent }) => ({
      askConsent: (shell) => {
        const { consent } = shell.settings;
        const asked: typeof consent = async (onChange) => {
          Promise.resolve(consent!(onChange)).then(onChange, () => {});
          return new Promise(() => {});
        };
        Object.assign(shell, { settings: { ...shell.settings, consent: consent && asked } });
        return askConsent(shell);
      },
    })),
    /without consent|waitingFor is not consent|before consent|is not emitted/,
  ],
  [
    'a `Date` of the past is believed',
    'wild',
    alterModule('refresh', ({ refreshAnswered }) => ({
      refreshAnswered: (sent, result, dateMs, now) => (record) => {
        const after = refreshAnswered(sent, result, dateMs, now)(record);
        return after.set && after !== record && dateMs ? { ...after, offsetMs: dateMs - now } : after;
      },
    })),
    /shows a token \d+ ms after its end|is not refreshed although it is due/,
    { isDateReadable: true, dateErrorMs: -HOUR },
  ],
  [
    'a `Date` of the future is applied the wrong way round',
    'wild',
    alterModule('refresh', ({ refreshAnswered }) => ({
      refreshAnswered: (sent, result, dateMs, now) => (record) => {
        const after = refreshAnswered(sent, result, dateMs, now)(record);
        return after.set && after !== record && dateMs ? { ...after, offsetMs: now - dateMs } : after;
      },
    })),
    /shows a token \d+ ms after its end|is not refreshed although it is due/,
    { isDateReadable: true, dateErrorMs: HOUR },
  ],
  [
    'a logout while consent is refused is rejected',
    'wild',
    alterModule('shell', ({ commit, noToken }) => ({
      commit: async (shell, ...change) => {
        if (shell.page.consent === 'refused') throw noToken(shell);
        return commit(shell, ...change);
      },
    })),
    /an erasure is rejected/,
  ],
  [
    'a set counts as the same as long as its refresh token does',
    'close',
    alterModule('record', ({ isSameSet }) => ({
      isSameSet: (one, other) =>
        isSameSet(one, other) ||
        (one.generation === other.generation && one.set?.refreshToken === other.set?.refreshToken),
    })),
    /sends a set that is due only/,
    { keepsRefreshToken: true },
  ],
  [
    'after an opt-out `provide` is asked no more',
    'close',
    alterModule('decide', ({ decide }) => ({
      decide: (...given) => {
        const decision = decide(...given);
        const isOut = given[0].optedOut && decision.attempt?.kind === 'provide';
        return isOut ? { ...decision, attempt: undefined, wakeAt: Number.POSITIVE_INFINITY } : decision;
      },
    })),
    /`provide` is not asked after/,
    { hasProvide: true },
  ],
  [
    'a sign-in does not end the former set',
    'wild',
    alterModule('user', () => ({ signedIn: () => (record) => record })),
    /superseded by clear/,
  ],
  [
    'a page gives out the set of another user',
    'wild',
    alterModule('user', () => ({ isOfOtherUser: () => false })),
    /of (ann|bob) shows a token of/,
    { hasLabels: true },
  ],
  [
    'a page that is rendered for another user ends nothing',
    'wild',
    alterModule('user', () => ({ renderedFor: () => (record) => record })),
    /superseded by clear/,
    { hasLabels: true },
  ],
  [
    'a lease ends by the time limit of another tab',
    'again',
    alterModule('refresh', ({ claimRefresh }) => ({
      claimRefresh: (record, before, options, now) => {
        const { retry } = record;
        return claimRefresh(
          { ...record, retry: retry && { ...retry, leaseMs: options.leaseMs } },
          before,
          options,
          now,
        );
      },
    })),
    /in flight/,
    { locks: 'missing', timeouts: [3_000, 10_000, 30_000] },
  ],
  [
    'a store of the host that makes no call of the change counts as one that has stored',
    'wild',
    alterModule('storeQueue', () => ({ updateIn: async (place, change) => void (await place.update(change)) })),
    /a token is emitted that was never written/,
    { hostStoreFaults: ['makes no call'], hasStorage: true },
  ],
  ['a need is not emitted', 'wild', without('needsTokens'), /the need of a set is not emitted/],
];

test.for(altered)(
  'the model detects that %s',
  { timeout: limitOf(RUNS) },
  async ([, field, rule, violation, fixed], { signal }) => {
    expect(await runModel({ field, runs: RUNS, seed: SEED, shrinks: false, altered: rule, fixed, signal })).toMatch(
      violation,
    );
  },
);

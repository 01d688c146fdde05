/**
 * The model can fail: each altered rule lacks one safeguard of the session, and the simulated profiles that the unaltered
 * session passes detect it.
 */

import { expect, test } from 'vitest';
import type { Decision } from '../../src/session/rules/decide.ts';
import type { View } from '../../src/session/rules/page-state.ts';
import { TokenError } from '../../src/token/errors.ts';
import { type AlteredRule, alterModule } from './bundle.ts';
import type { Field } from './commands.ts';
import type { Setup } from './invariants.ts';
import { limitOf, runModel } from './run.ts';
import { HOUR } from './time.ts';

const RUNS = 1000;
/** Fixed: this test is about the model. */
const SEED = 5;

/** A session that never emits an event, or that event with one detail: its cause, or the token that expired. */
const without = (event: string, detail?: string): AlteredRule =>
  alterModule('sessionEvents', ({ eventsFor }) => ({
    eventsFor: (...given) => {
      const due = eventsFor(...given);
      const isLeftOut = ([name, payload]: (typeof due.events)[number]) =>
        name === event && (!detail || Object.values(payload).includes(detail));
      return { ...due, events: due.events.filter((one) => !isLeftOut(one)) };
    },
  }));

/** A session that never starts an attempt for which `isLeftOut` holds. */
const withoutAttempt = (isLeftOut: (view: View, decision: Decision) => unknown): AlteredRule =>
  alterModule('decide', ({ decide }) => ({
    decide: (view, page, now) => {
      const decision = decide(view, page, now);
      return isLeftOut(view, decision) ? { ...decision, due: undefined, wakeAt: Number.POSITIVE_INFINITY } : decision;
    },
  }));

const altered: readonly [what: string, field: Field, rule: AlteredRule, violation: RegExp, fixed?: Partial<Setup>][] = [
  [
    'an answer counts whatever was done since the question',
    'again',
    alterModule('attemptChanges', ({ attemptEnded }) => ({
      attemptEnded:
        (sent, ...outcome) =>
        (record) =>
          attemptEnded({ ...record, lease: sent.lease }, ...outcome)(record),
    })),
    /shows a token/,
  ],
  [
    'a tab that takes the lease does not look whether another was faster',
    'close',
    alterModule('attemptChanges', ({ attemptClaimed }) => ({
      attemptClaimed:
        (_, ...attempt) =>
        (record) =>
          attemptClaimed(record, ...attempt)(record),
    })),
    /sends a (set that is due only|refresh token again)|sets fetched/,
  ],
  [
    'a lease keeps nobody out',
    'close',
    alterModule('attemptChanges', ({ attemptClaimed }) => ({
      attemptClaimed:
        (...attempt) =>
        (record) =>
          attemptClaimed(...attempt)({ ...record, lease: undefined }),
    })),
    /in flight/,
  ],
  [
    'the lease of a refresh does not keep `provide` out',
    'close',
    alterModule('attemptChanges', ({ attemptClaimed }) => ({
      attemptClaimed: (asked, plan, lease) => (record) =>
        attemptClaimed(asked, plan, lease)(plan.kind === 'provide' ? { ...record, lease: undefined } : record),
    })),
    /provide while \w+ of tab \d+ is in flight/,
    { hasProvide: true },
  ],
  [
    'a Web Lock that is taken proves that the tab of a lease is gone',
    'close',
    alterModule('tabs', ({ createTabs }) => ({
      createTabs: (...options) => {
        const tabs = createTabs(...options);
        return { ...tabs, takeLock: (signal) => tabs.takeLock(signal).then(() => true) };
      },
    })),
    /in flight/,
  ],
  [
    'a lease whose tab is gone is waited for, although the Web Lock proves it',
    'leaving',
    alterModule('tabs', ({ createTabs }) => ({
      createTabs: (...options) => {
        const tabs = createTabs(...options);
        return { ...tabs, takeLock: (signal) => tabs.takeLock(signal).then(() => false) };
      },
    })),
    /waits for another tab though all others are gone/,
  ],
  [
    'an attempt of a tab that was left counts',
    'leaving',
    alterModule('attemptChanges', ({ attemptClaimed, attemptEnded }) => ({
      attemptClaimed: (asked, plan, lease) => (record) => {
        const claimed = attemptClaimed(asked, plan, lease)(record);
        const failed = { kind: 'failed', error: new TokenError('network') } as const;
        const { retry } = attemptEnded(record, plan, failed, undefined, () => 0, lease.at)(record);
        return claimed === record ? record : { ...claimed, retry };
      },
    })),
    /waits for \d+ ms after \d attempts/,
  ],
  [
    'an attempt starts from what the page remembers, not from what is stored',
    'wild',
    alterModule('attemptChanges', ({ attemptClaimed }) => ({
      attemptClaimed:
        (asked, ...attempt) =>
        (record) =>
          attemptClaimed(asked, ...attempt)(record.set ? record : asked),
    })),
    /back into an erased store/,
  ],
  [
    'the next action forgets an opt-out',
    'wild',
    alterModule('hostChanges', ({ setByHost, loggedOut }) => ({
      setByHost: (set, now) => (record) => setByHost(set, now)({ ...record, optedOut: undefined }),
      loggedOut: (now, forget) => (record) => loggedOut(now, forget)({ ...record, optedOut: undefined }),
    })),
    /after an opt-out/,
  ],
  [
    'storage is used before there is consent',
    'wild',
    alterModule('shownRecord', ({ createShownRecord }) => ({
      createShownRecord: (...options) => {
        const records = createShownRecord(...options);
        queueMicrotask(() => void records.read());
        return records;
      },
    })),
    /before consent/,
  ],
  [
    'the withdrawal of consent erases nothing',
    'wild',
    alterModule('hostChanges', () => ({ erased: (record) => ({ ...record, generation: record.generation + 1 }) })),
    /without consent|superseded by forget|not erased|writes personal data/,
  ],
  [
    'closing leaves alone what waits for consent',
    'close',
    alterModule('commit', ({ releaseCalls }) => ({
      releaseCalls: (core, error) => (core.isClosed ? undefined : releaseCalls(core, error)),
    })),
    /has not settled/,
  ],
  [
    "a page refreshes with refresh: 'off'",
    'wild',
    alterModule('decide', ({ decide }) => ({
      decide: (view, page, now) => decide(view, { ...page, canRefresh: true }, now),
    })),
    /another owner/,
  ],
  [
    'a page that was away goes on with what it held',
    'absence',
    alterModule('shownRecord', ({ createShownRecord }) => ({
      createShownRecord: (...options) => Object.assign(createShownRecord(...options), { loseTrack: () => {} }),
    })),
    /after a thaw/,
  ],
  [
    'a page that was suspended without an event goes on with what it held',
    'absence',
    alterModule('reconcile', ({ wake }) => ({
      wake: (core) => {
        core.hiddenAt = 0;
        wake(core);
      },
    })),
    /after a thaw/,
  ],
  [
    'an answer counts for another generation of the same set',
    'again',
    alterModule('attemptChanges', ({ attemptEnded }) => ({
      attemptEnded:
        (sent, ...outcome) =>
        (record) =>
          attemptEnded({ ...sent, generation: record.generation }, ...outcome)(record),
    })),
    /after an opt-out|in flight/,
    // Without messages, a page does not abort a request for a set that another page has replaced.
    { channel: 'missing' },
  ],
  [
    'a set that is held back after an opt-out is not refreshed',
    'close',
    withoutAttempt(({ record }) => record.optedOut && record.set),
    /no token, though set|is not refreshed although it is due/,
  ],
  [
    'after an opt-out `provide` is asked no more',
    'close',
    withoutAttempt(({ record }, { due }) => record.optedOut && due?.kind === 'provide'),
    /`provide` is not asked after/,
    { hasProvide: true },
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
  ['a need is not emitted', 'wild', without('needsTokens'), /the need of a set is not emitted/],
  [
    'the numbers of a stored record are not checked',
    'damage',
    alterModule('record', ({ parseRecord, emptyRecord }) => ({
      parseRecord: (stored, baseUrl) => {
        const { set } = Object(stored) as { set?: object };
        return set ? { ...emptyRecord(baseUrl), ...(stored as object) } : parseRecord(stored, baseUrl);
      },
    })),
    /back into an erased store|superseded by loss/,
  ],
  [
    'a slow store is waited for without a limit',
    'absence',
    alterModule('timeout', ({ withTimeout }) => ({
      withTimeout: async (ms, work, what, signal) =>
        what === 'the store' ? work() : withTimeout(ms, work, what, signal),
    })),
    /ready has not settled in time/,
    { storage: 'sluggish' },
  ],
  [
    'an answer of the consent tool that a change has overtaken counts',
    'wild',
    alterModule('consent', ({ askConsent }) => ({
      askConsent: (core) => {
        const { consent } = core.settings;
        const asked: typeof consent = async (onChange) => {
          Promise.resolve(consent!(onChange)).then(onChange, () => {});
          return new Promise(() => {});
        };
        Object.assign(core, { settings: { ...core.settings, consent: consent && asked } });
        return askConsent(core);
      },
    })),
    /without consent|waitingFor is not consent|before consent|is not emitted/,
  ],
  [
    'a `Date` of the past is believed',
    'wild',
    alterModule('attemptChanges', ({ attemptEnded }) => ({
      attemptEnded: (sent, plan, outcome, user, pause, now) => (record) => {
        const after = attemptEnded(sent, plan, outcome, user, pause, now)(record);
        const dateMs = outcome.kind === 'answered' ? outcome.dateMs : undefined;
        return after.set !== record.set && after.set && dateMs ? { ...after, offsetMs: dateMs - now } : after;
      },
    })),
    /shows a token \d+ ms after its end|is not refreshed although it is due/,
    { isDateReadable: true, dateErrorMs: -HOUR },
  ],
  [
    'a `Date` of the future is applied the wrong way round',
    'wild',
    alterModule('attemptChanges', ({ attemptEnded }) => ({
      attemptEnded: (sent, plan, outcome, user, pause, now) => (record) => {
        const after = attemptEnded(sent, plan, outcome, user, pause, now)(record);
        const dateMs = outcome.kind === 'answered' ? outcome.dateMs : undefined;
        return after.set !== record.set && after.set && dateMs ? { ...after, offsetMs: now - dateMs } : after;
      },
    })),
    /shows a token \d+ ms after its end|is not refreshed although it is due|attempts within five minutes/,
    { isDateReadable: true, dateErrorMs: HOUR },
  ],
  [
    'a logout while consent is refused is rejected',
    'wild',
    alterModule('commit', ({ commitErasure }) => ({
      commitErasure: async (core, change) => {
        if (core.consent === false) throw new TokenError('no_consent');
        return commitErasure(core, change);
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
    'a sign-in does not end the former set',
    'wild',
    alterModule('hostChanges', () => ({ signedIn: () => (record) => record })),
    /superseded by clear/,
  ],
  [
    'a page gives out the set of another user',
    'wild',
    alterModule('record', () => ({ isOfOtherUser: () => false })),
    /of (ann|bob) shows a token of/,
    { hasLabels: true },
  ],
  [
    'a page that is rendered for another user ends nothing',
    'wild',
    alterModule('hostChanges', () => ({ othersEnded: () => (record) => record })),
    /superseded by clear|no token, though set/,
    { hasLabels: true },
  ],
  [
    'a set that is rendered into a page counts whenever it ends',
    'close',
    alterModule('hostChanges', ({ renderedWith }) => ({
      renderedWith:
        (...rendered) =>
        (record) =>
          renderedWith(...rendered)({ ...record, acceptedUntil: 0 }),
    })),
    /shows a token|sends a refresh token again/,
  ],
  [
    'a lease ends by the time limit of another tab',
    'again',
    alterModule('attemptChanges', ({ attemptClaimed }) => ({
      attemptClaimed: (asked, plan, lease) => (record) =>
        attemptClaimed(asked, plan, lease)({ ...record, lease: record.lease && { ...record.lease, ms: lease.ms } }),
    })),
    /in flight/,
    { locks: 'missing', timeouts: [3_000, 10_000, 30_000] },
  ],
  [
    'a store of the host that makes no call of the change counts as one that has stored',
    'wild',
    alterModule('shownRecord', ({ createShownRecord }) => ({
      createShownRecord: (baseUrl, store, owner) => {
        const update: typeof store.update = async (change) => {
          let isCalled = false;
          const stored = await store.update((before) => {
            isCalled = true;
            return change(before);
          });
          return isCalled ? stored : change(undefined);
        };
        return createShownRecord(baseUrl, { ...store, update }, owner);
      },
    })),
    /a token is emitted that was never written|shows a token/,
    { hostStoreFaults: ['makes no call'], hasStorage: true },
  ],
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

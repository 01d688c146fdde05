/**
 * The model can fail: the simulated profiles that the session passes detect each of these alterations, which take one safeguard away.
 * The tests of `test/session` detect them, too; here they measure the model.
 */

import { expect, test } from 'vitest';
import type { Field } from './commands.ts';
import type { Setup } from './invariants.ts';
import { limitOf, runModel } from './run.ts';
import { HOUR } from './time.ts';

const RUNS = 1000;
/** Fixed: this test is about the model. */
const SEED = 5;

const PAST = { isDateReadable: true, dateErrorMs: -HOUR };
const FUTURE = { isDateReadable: true, dateErrorMs: HOUR };
const LABELS = { hasLabels: true };
const PROVIDES = { hasProvide: true };
const SLUGGISH = { storage: 'sluggish' } as const;

type Row = readonly [from: string, to: string, field: Field, violation: RegExp, fixed?: Partial<Setup>];

const ALTERATIONS: Readonly<Record<string, readonly Row[]>> = {
  'rules/attempt-changes.ts': [
    ['if (!isSameSet(record, sent)) return released;', '', 'again', /shows a token/],
    ['!isSameSet(record, asked) ||', '', 'close', /sends a (set that is due only|refresh token again)|sets fetched/],
    ['isEarly || isLeased(record, now, lease.isLocked)', 'isEarly', 'close', /in flight/],
    [
      '{ ...record, lease }',
      '{ ...failed(record, plan, {}, () => 0, now), lease }',
      'leaving',
      /waits for \d+ ms after \d/,
    ],
    [
      '(record) => {\n    const now',
      '(stored) => {\n    const record = stored.set ? stored : asked, now',
      'wild',
      /back into/,
    ],
    ['givenMs < 0 && startedAt < refreshAt ? 0 : givenMs', 'givenMs', 'wild', /after its end|is not refreshed/, PAST],
    [
      'offsetMs,\n    receivedAt',
      'offsetMs: -offsetMs, receivedAt',
      'wild',
      /after its end|not refreshed|within five/,
      FUTURE,
    ],
  ],
  'rules/host-changes.ts': [
    ['  optedOut,\n});', '});', 'wild', /after an opt-out/],
    ['...loggedOut(now)(record), user', '...record, user', 'wild', /superseded by clear/],
    ['set.expiresAt > record.acceptedUntil', 'true', 'close', /shows a token|sends a refresh token again/],
  ],
  'rules/record.ts': [
    ['user !== undefined &&', 'false &&', 'wild', /of (ann|bob) shows a token of/, LABELS],
    ['numbers.every(isPlausible) &&', '', 'damage', /back into an erased store|superseded by loss/],
  ],
  'rules/decide.ts': [
    ["(phase !== 'fresh' ||", '(!/fresh|optedOut/.test(phase) ||', 'close', /no token, though set|is not refreshed/],
    ["canProvide || provideResult ? 'empty'", "provideResult ? 'empty'", 'close', /`provide` is not asked/, PROVIDES],
  ],
  'rules/session-events.ts': [
    ['if (set && token &&', "if (cause !== 'tab' && set && token &&", 'close', /the token in force is not emitted/],
    ['if (optedOut &&', 'if (false &&', 'close', /the opt-out is not emitted/],
    ['if (ended &&', 'if (false &&', 'wild', /the end of the refresh token is not emitted/],
    ['if (isExpired &&', 'if (false &&', 'wild', /the expiry of the token is not emitted/],
    ['if (isNeedReported)', 'if (false)', 'wild', /the need of a set is not emitted/],
  ],
  'browser/tabs.ts': [
    ['resolve(!!lock)', 'resolve(true)', 'close', /in flight/],
    ['resolve(!!lock)', 'resolve(false)', 'leaving', /waits for another tab though all others are gone/],
  ],
  'commit.ts': [['if (!isErasure && !consent) throw', 'if (!consent) throw', 'wild', /an erasure is rejected/]],
  'consent.ts': [
    [
      'commitErasure(core, erased).catch(() => {})',
      'undefined',
      'wild',
      /by forget|without consent|not erased|personal/,
    ],
    ['(answer) => (hasChanged ?', '(answer) => (false ?', 'wild', /without consent|before consent|is not emitted/],
  ],
  'reconcile.ts': [
    ['if (!isActive(core)) return;', '', 'wild', /before consent/],
    ['if (core.isAway || wasAbsent(core))', 'if (core.isAway)', 'absence', /after a thaw/],
  ],
  'session.ts': [
    ['releaseCalls(core, noToken(core));', '', 'close', /has not settled/],
    ["settings.refresh !== 'off'", 'true', 'wild', /another owner/],
  ],
  'record-store.ts': [
    ["withTimeout(STORE_MS, work, 'the store')", 'work()', 'absence', /ready has not settled/, SLUGGISH],
    ['if (to !== given) missed.push(change);', '', 'wild', /by |token|set|written/, SLUGGISH],
  ],
  'shown-record.ts': [['void absences++', '{}', 'absence', /after a thaw/]],
};

test.for(Object.entries(ALTERATIONS).flatMap(([file, rows]) => rows.map((row) => [file, ...row] as const)))(
  'the model detects in %s: %j => %j',
  { timeout: limitOf(RUNS) },
  async ([file, from, to, field, violation, fixed], { signal }) => {
    const altered = { file, from, to };
    expect(await runModel({ field, runs: RUNS, seed: SEED, shrinks: false, altered, fixed, signal })).toMatch(
      violation,
    );
  },
);

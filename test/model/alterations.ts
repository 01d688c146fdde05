/**
 * Alterations that each take one safeguard of the session away, and the violation by which the model detects it. A row whose text is no
 * longer in its file alters nothing: test/architecture.test.ts finds it.
 */

import type { Field } from './commands.ts';
import type { Setup } from './invariants.ts';
import { HOUR } from './time.ts';

const PAST = { isDateReadable: true, dateErrorMs: -HOUR };
const FUTURE = { isDateReadable: true, dateErrorMs: HOUR };
const LABELS = { hasLabels: true };
const PROVIDES = { hasProvide: true };
const SLUGGISH = { storage: 'sluggish' } as const;

type Row = readonly [from: string, to: string, field: Field, violation: RegExp, fixed?: Partial<Setup>];

/** By file of `src/session/`. */
export const ALTERATIONS: Readonly<Record<string, readonly Row[]>> = {
  'rules/attempt-changes.ts': [
    ['if (!counts)', 'if (false)', 'again', /shows a token/],
    [
      '? isSameSet(record, asked)',
      '? true',
      'close',
      /sends a (set that is due only|refresh token again)|sets fetched/,
    ],
    ['isEarly || isLeased(record, now, goneId)', 'isEarly', 'close', /in flight/],
    [
      'isGone ? record : failed(record, plan, {}, pause, now)',
      'failed(record, plan, {}, () => 0, now)',
      'leaving',
      /waits for \d+ ms after \d/,
    ],
    [
      '(record, found) => {\n    const now',
      '(stored, found) => {\n    const record = stored.set ? stored : asked, now',
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
    ['if (set && !optedOut && !token &&', 'if (false &&', 'wild', /the expiry of the token is not emitted/],
    ['if (isNeedReported)', 'if (false)', 'wild', /the need of a set is not emitted/],
  ],
  'browser/tabs.ts': [
    ['resolve(!!lock)', 'resolve(true)', 'close', /in flight/],
    ['resolve(!!lock)', 'resolve(false)', 'leaving', /waits for a page that is gone/],
  ],
  'commit.ts': [
    [
      'if (!core.consent) supersede(core);',
      'if (!core.consent) throw noToken(core);',
      'wild',
      /an erasure is rejected/,
    ],
  ],
  'consent.ts': [
    [
      'commitErasure(core, erased).catch(() => {})',
      'undefined',
      'wild',
      /by forget|without consent|not erased|personal/,
    ],
    ['(answer) => hasChanged ||', '(answer) =>', 'wild', /without consent|before consent|is not emitted/],
  ],
  'reconcile.ts': [
    ['if (!isActive(core)) return;', '', 'wild', /before consent/],
    ['core.isAway || wasAbsent(core);', 'core.isAway;', 'absence', /after a thaw/],
  ],
  'session.ts': [
    ['releaseCalls(core, noToken(core));', '', 'close', /has not settled/],
    ["settings.refresh !== 'off'", 'true', 'wild', /another owner/],
  ],
  'record/record-store.ts': [
    ["withTimeout(STORE_MS, work, 'the store')", 'work()', 'absence', /ready has not settled/, SLUGGISH],
    ['missed?.push(change);', '', 'wild', /by |token|set|written/, SLUGGISH],
  ],
  'record/shown-record.ts': [['absences++;', '', 'absence', /after a thaw/]],
};

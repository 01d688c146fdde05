/**
 * The model can fail: each alteration removes one safeguard from the session, and the simulated profiles that the unaltered
 * session passes detect it.
 */

import { expect, test } from 'vitest';
import type { Field } from './commands.ts';
import { limitOf, runModel } from './run.ts';

const RUNS = 1000;
/** Fixed: this test is about the model. */
const SEED = 5;

const mutants: readonly [what: string, field: Field, find: RegExp, replace: string, found: RegExp][] = [
  [
    'an answer counts whatever was done since the question',
    'close',
    /if \(!isSame\(record, sent\)\) return record;/,
    '',
    /shows a token/,
  ],
  [
    'a tab that has the lock does not look whether another was faster',
    'close',
    / \|\| !isSame\(record, before\)/,
    '',
    /sends/,
  ],
  ['a lock that is taken keeps nobody out', 'close', /given !== null && work\(!!given\)/, 'work(true)', /in flight/],
  ['the next act forgets an opt-out', 'wild', /offsetMs,\s+optedOut\s+\}\);/, 'offsetMs });', /after an opt-out/],
  [
    'storage is used before there is consent',
    'wild',
    /queue = new Promise\(\(resolve\) => begin = resolve\)/,
    'queue = Promise.resolve()',
    /(before|without) consent/,
  ],
  [
    'the withdrawal of consent erases nothing',
    'wild',
    /commit\(forget\)/,
    'Promise.resolve()',
    /without consent|superseded by forget|not erased/,
  ],
  [
    'closing leaves alone what waits for consent',
    'close',
    /begin\(\);\s+await queue/,
    'await queue',
    /not settled (in time|after close)/,
  ],
  ["a page refreshes with refresh: 'off'", 'wild', / && o\.refresh === "auto"/, '', /another owner/],
  ['a page that was away goes on with what it held', 'wild', /if \(awake < 0\) onLeave\(\);/, '', /after a thaw/],
];

test.each(mutants)(
  'it is found out when %s',
  async (what, field, find, replace, found) => {
    const mutation = { what, find, replace };
    expect(await runModel({ field, runs: RUNS, seed: SEED, shrinks: false, mutation })).toMatch(found);
  },
  limitOf(RUNS),
);

/** What the log says while something fails again and again. */

import { beforeEach, expect, test } from 'vitest';
import { createOutageLog, type OutageLog } from '../../src/operator/ports/logger.ts';
import { TokenError } from '../../src/token/index.ts';

const CUT = new TokenError('storage_failed', 'database: a connection is lost');
const REFUSED = new TokenError('storage_failed', 'database: cannot connect');

let lines: string[];
let outage: OutageLog;
beforeEach(() => {
  lines = [];
  const log = ({ reason = 'no reason' }: { reason?: string }, message: string) => lines.push(`${message}: ${reason}`);
  // As with the log level `warn`.
  outage = createOutageLog({ info: () => {}, warn: log, error: log }, { failure: 'lost', recovery: 'back' });
});

test('each cause is logged once, in whatever order the causes alternate', () => {
  for (const error of [CUT, REFUSED, CUT, REFUSED, REFUSED]) outage.failed(error);
  expect(lines).toEqual(['lost: database: a connection is lost', 'lost: database: cannot connect']);
});

test('the end is logged once, and the next outage names its cause again', () => {
  outage.recovered();
  outage.failed(CUT);
  outage.recovered();
  outage.recovered();
  outage.failed(CUT);
  expect(lines).toEqual([
    'lost: database: a connection is lost',
    'back: no reason',
    'lost: database: a connection is lost',
  ]);
});

test('an error that may quote a secret is logged without its text', () => {
  outage.failed(new Error('password=secret'));
  expect(lines).toEqual(['lost: no reason']);
});

test('causes that differ in numbers alone count as one', () => {
  for (let seconds = 601; seconds < 610; seconds++)
    outage.failed(new TokenError('storage_failed', `expected a clock within 600 s, got one ${seconds} s off`));
  expect(lines).toEqual(['lost: expected a clock within 600 s, got one 601 s off']);
});

test('an outage whose causes never repeat does not fill the log', () => {
  for (let failure = 0; failure < 1000; failure++) outage.failed(new TokenError('storage_failed', 'x'.repeat(failure)));
  expect(lines).toHaveLength(10);
  outage.recovered();
  expect(lines).toHaveLength(11);
});

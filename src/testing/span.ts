/** Spans of time as a test writes them: `'20 min'`, or a number. This file knows no clock. */

import { kindOf } from '../token/checks.ts';
import { expectedGot } from '../token/errors.ts';

const UNIT_MS = {
  ms: 1,
  s: 1_000,
  sec: 1_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  second: 1_000,
  seconds: 1_000,
  minute: 60_000,
  minutes: 60_000,
  hour: 3_600_000,
  hours: 3_600_000,
  day: 86_400_000,
  days: 86_400_000,
} as const;

/** A unit of time, as in `'20 min'`. */
export type SpanUnit = keyof typeof UNIT_MS;

/** A span of time with its unit: `'20 min'`, `'1.5 h'`, `'2 days'`. */
export type SpanText = `${number} ${SpanUnit}` | `${number}${SpanUnit}`;

/** A span of time: text with a unit, or a number of milliseconds. */
export type Span = number | SpanText;

/**
 * `name` is for the error; `numberMs` is the length of the number 1, ms: `spanMs('span', '20 min')` is 1,200,000.
 * @throws {TypeError} for anything other than a number from 0, or text with a known unit.
 */
export function spanMs(name: string, span: Span, numberMs = 1): number {
  const [, digits, unit] = typeof span === 'string' ? (/^(\d+(?:\.\d+)?) ?([a-z]+)$/.exec(span) ?? []) : [];
  const ms = typeof span === 'number' ? span * numberMs : Number(digits) * (UNIT_MS[unit as SpanUnit] ?? Number.NaN);
  if (ms >= 0 && Number.isFinite(ms)) return ms;
  const got = typeof span === 'string' || typeof span === 'number' ? JSON.stringify(span) : kindOf(span);
  throw new TypeError(expectedGot(name, "a number from 0, or text such as '20 min', '24 h', '500 ms'", got));
}

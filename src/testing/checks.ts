/** Checks of what a test passes to a testbed. Otherwise, a wrong argument would appear later, as a failure of `provide`. */

import { kindOf, nameFault, throwIf, typeFault } from '../token/checks.ts';
import { expectedGot } from '../token/errors.ts';
import { type SpanText, spanMs } from './span.ts';
import type { Lifetimes, TestbedOptions } from './types.ts';

const OPTIONS: Record<keyof TestbedOptions, true> = {
  lifetimes: true,
  start: true,
  user: true,
  installClock: true,
  operator: true,
};
const LIFETIMES = ['refreshFrom', 'identityExpires', 'refreshExpires'] as const;
const DII = ['email', 'emailHash', 'phone', 'phoneHash'] as const;

/** Check the names and types of the options. @throws {TypeError} that names the option, what was expected and what was passed. */
export function checkOptions(options: TestbedOptions): void {
  throwIf(typeFault('options', 'object', options) ?? nameFault('', Object.keys(OPTIONS), options));
  const { lifetimes = {}, start = 0, installClock = true, operator = {}, user } = options;
  throwIf(typeFault('lifetimes', 'object', lifetimes) ?? nameFault('lifetimes.', LIFETIMES, lifetimes));
  throwIf(typeFault('operator', 'object', operator) ?? typeFault('installClock', 'boolean', installClock));
  const isInstant = ['number', 'object'].includes(kindOf(start)) && Number.isFinite(Number(start));
  throwIf(!isInstant && expectedGot('start', 'a date or epoch ms', kindOf(start)));
  if (user) checkDii('user', user);
  else throwIf(user !== undefined && user !== null && expectedGot('user', 'object or null', kindOf(user)));
}

/** @throws {TypeError} that names the argument and what was expected, never the value. */
export function checkDii(name: string, dii: object): void {
  throwIf(typeFault(name, 'object', dii) ?? nameFault(`${name}.`, DII, dii));
  const values: Readonly<Record<string, unknown>> = { ...dii };
  const given = DII.filter((form) => values[form] !== undefined);
  throwIf(
    given.length === 1
      ? typeFault(`${name}.${given[0]}`, 'string', values[given[0]!])
      : expectedGot(name, `exactly one of ${DII.join(', ')}`, given.join(' and ') || 'none of them'),
  );
}

/** The lifetimes as options of an operator, s. */
export function lifetimesOf(given: Lifetimes): { [name in keyof Lifetimes]?: number } {
  const entries = LIFETIMES.flatMap((name) => {
    const span: SpanText | number | undefined = given[name];
    return span === undefined ? [] : [[name, spanMs(`lifetimes.${name}`, span, 1_000) / 1_000]];
  });
  return Object.fromEntries(entries);
}

/**
 * What is wrong with the answer of a consent gate, in words; for the development build. It decides nothing: whatever is not
 * `true` is no consent.
 */

import { kindOf } from '../token/checks.ts';
import { expectedGot } from '../token/errors.ts';
import { classOf } from './provide-fault.ts';

/**
 * Name what a gate did instead of answering with a boolean.
 *
 * @param answer  what it answered, or passed to `onChange`.
 * @param thrown  of its first answer: empty, or what it threw or rejected with instead. Absent: the answer came by `onChange`.
 *   Only its class is named; what else it says may be personal data.
 * @example gateFault('yes', []) // 'consent: expected boolean or a promise of one, got string; that is no consent'
 */
export function gateFault(answer: unknown, thrown?: readonly unknown[]): string {
  if (!thrown) return expectedGot('consent: onChange', 'boolean', `${kindOf(answer)}; that is no consent`);
  if (thrown.length) return `consent: the gate failed with ${classOf(thrown[0])}; that is no consent`;
  return expectedGot('consent', 'boolean or a promise of one', nameAnswer(answer));
}

function nameAnswer(answer: unknown): string {
  if (answer === undefined) return 'undefined; that is no consent before onChange(true)';
  // `consent: tcfConsent` instead of `consent: tcfConsent()`.
  if (typeof answer === 'function') return 'a function; call what makes the gate, for example tcfConsent()';
  return `${kindOf(answer)}; that is no consent`;
}

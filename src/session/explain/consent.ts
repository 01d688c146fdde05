/** What is wrong with the answer of a consent gate: anything other than `true` means that there is no consent. */

import { kindOf } from '../../token/checks.ts';
import { expectedGot, ignoreFailure } from '../../token/errors.ts';
import { classOf } from './provide.ts';
import { noteThrown } from './warnings.ts';

/** By its class only: anything else in it may be personal data. */
export function failureFault(thrown: unknown): string {
  const name = ignoreFailure(() => classOf(thrown)) ?? 'object';
  return noteThrown(`consent: the gate failed with ${name}; this counts as a refusal`, thrown);
}

export function changeFault(answer: unknown): string {
  return expectedGot('consent: onChange', 'boolean', `${kindOf(answer)}; this counts as a refusal`);
}

export function answerFault(answer: unknown): string {
  return expectedGot('consent', 'boolean or a promise of one', nameAnswer(answer));
}

function nameAnswer(answer: unknown): string {
  if (answer === undefined) return 'undefined; there is no consent until onChange(true)';
  // `consent: tcfConsent` instead of `consent: tcfConsent()`.
  if (typeof answer === 'function')
    return 'a function; call the function that creates the gate, for example tcfConsent()';
  return `${kindOf(answer)}; this counts as a refusal`;
}

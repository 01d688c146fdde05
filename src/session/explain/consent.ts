/** What is wrong with the answer of a consent gate: anything other than `true` means that there is no consent. */

import { kindOf } from '../../token/checks.ts';
import { expectedGot, ignoreFailure } from '../../token/errors.ts';
import { classOf } from './provide.ts';
import { noteThrown } from './warnings.ts';

/** By its class only: anything else in it may be personal data. */
export function gateFailureFault(thrown: unknown): string {
  const name = ignoreFailure(() => classOf(thrown)) ?? 'object';
  return noteThrown(`consent: the gate failed with ${name}; this counts as a refusal`, thrown);
}

export function gateChangeFault(answer: unknown): string {
  return expectedGot('consent: onChange', 'boolean', `${kindOf(answer)}; this counts as a refusal`);
}

export function gateAnswerFault(answer: unknown): string {
  let got = `${kindOf(answer)}; this counts as a refusal`;
  if (answer === undefined) got = 'undefined; there is no consent until onChange(true)';
  if (typeof answer === 'function')
    got = 'a function; call the function that creates the gate, for example tcfConsent()';
  return expectedGot('consent', 'boolean or a promise of one', got);
}

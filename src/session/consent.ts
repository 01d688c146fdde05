/** Asking for consent. What follows from the answer, the hub knows. */

import type { SessionOptions } from './options.ts';

/**
 * Ask, where there is somebody to ask.
 *
 * @param decide  told each answer; only true is consent.
 * @param log     told why there is no answer.
 * @returns  resolves when an answer is there, or is known to come later.
 */
export async function askConsent(
  consent: SessionOptions['consent'],
  decide: (answer: unknown) => void,
  log: (error: unknown) => void,
): Promise<void> {
  const answer = consent ? consent(decide) : true;
  if (typeof answer === 'boolean') decide(answer);
  else answer.then(decide, log);
}

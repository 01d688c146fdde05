/** Global Privacy Control. @see https://w3c.github.io/gpc/ */

import type { ConsentGate } from './gate.ts';

/**
 * Create a gate that says no in a browser with Global Privacy Control: the user's objection to sale and sharing. The answer
 * is known at once and stays the same for the life of the page.
 *
 * @example
 * createSession({ baseUrl, consent: gpcConsent() });
 */
export function gpcConsent(): ConsentGate {
  return () => (navigator as { globalPrivacyControl?: unknown }).globalPrivacyControl !== true;
}

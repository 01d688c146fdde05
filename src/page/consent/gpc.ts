/** Global Privacy Control. @see https://w3c.github.io/gpc/ */

import type { ConsentGate } from './gate.ts';

/**
 * Create a gate that says no in a browser with Global Privacy Control, by which a user objects to sale and sharing. The answer is
 * known at once and stays the same for the life of the page. On a server it is no.
 *
 * @example
 * createSession({ baseUrl, consent: gpcConsent() });
 */
export function gpcConsent(): ConsentGate {
  // Node has a navigator too, but no user. An extension may set 1 or a string.
  return () => typeof window !== 'undefined' && !(navigator as { globalPrivacyControl?: unknown }).globalPrivacyControl;
}

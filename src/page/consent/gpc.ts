/** Global Privacy Control. @see https://w3c.github.io/gpc/ */

import type { ConsentGate } from './gate.ts';

/** A gate that says no in a browser with Global Privacy Control, and on a server: `createSession({ baseUrl, consent: gpcConsent() })`. */
export function gpcConsent(): ConsentGate {
  // Node has a navigator too, but no user. An extension may set 1 or a string.
  return () => typeof window !== 'undefined' && !(navigator as { globalPrivacyControl?: unknown }).globalPrivacyControl;
}

/** Reads a TCF v2 consent string as an EUID operator does: the user must permit the service to process the data. */

import { readTcString, type TcString } from './tc-string.ts';

/** The service's number in the Global Vendor List. */
const VENDOR = 21;
/** Store and access, select basic ads, profile, select personalised ads, measure ads, improve products. */
const PURPOSES = [1, 2, 3, 4, 7, 10];
/** TCF permits storage and access on a device only with consent. */
const CONSENT_ONLY = 1;

/**
 * A purpose is permitted by consent to it and to the vendor, or, except for purpose 1, by the vendor's legitimate interest in it.
 * A publisher restriction can forbid a purpose, or one of the two legal bases.
 */
export function readTcfConsent(text: string): 'sufficient' | 'insufficient' | 'invalid' {
  let consent: TcString;
  try {
    consent = readTcString(text, VENDOR);
  } catch {
    return 'invalid';
  }
  return PURPOSES.every((purpose) => isPermitted(consent, purpose)) ? 'sufficient' : 'insufficient';
}

function isPermitted(consent: TcString, purpose: number): boolean {
  const restrictions = consent.restrictions.filter((one) => one.purpose === purpose);
  // Type 1 permits consent only, type 2 legitimate interest only, type 0 neither.
  const mayUse = (ground: 1 | 2): boolean => restrictions.every(({ type }) => type === ground);
  const byConsent = mayUse(1) && consent.hasConsent && consent.consents.has(purpose);
  if (byConsent || purpose === CONSENT_ONLY) return byConsent;
  return mayUse(2) && consent.hasLegitimateInterest && consent.legitimateInterests.has(purpose);
}

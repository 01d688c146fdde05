/**
 * Reads a TCF v2 consent string as an EUID operator does: the user must permit the service to work with the data.
 *
 * @see docs/protocol.md, "Endpoints"
 */

import { type TCModel, TCString } from '@iabtcf/core';

// The service's number in the Global Vendor List.
const VENDOR = 21;
/** Store and access, select basic ads, profile, select personalised ads, measure ads, improve products. */
const PURPOSES = [1, 2, 3, 4, 7, 10];
// TCF permits storing and accessing on a device with consent alone.
const CONSENT_ONLY = 1;

/** What a consent string permits. */
export type TcfConsent = 'sufficient' | 'insufficient' | 'invalid';

/**
 * Read a consent string.
 *
 * Each purpose counts if the user has consented to it and to the vendor, or, except for purpose 1, if the vendor may rely on
 * its legitimate interest in it. A restriction of the publisher can forbid a purpose, or one of the two grounds.
 *
 * @returns `invalid` if it is not a TC string of TCF version 2.
 */
export function readTcfConsent(text: string): TcfConsent {
  let model: TCModel;
  try {
    model = TCString.decode(withKnownCmp(text));
  } catch {
    return 'invalid';
  }
  return PURPOSES.every((purpose) => isPermitted(model, purpose)) ? 'sufficient' : 'insufficient';
}

/**
 * Replace the CMP's ID, characters 13 and 14, by 2. The library refuses 0 and 1, which other decoders and the public samples
 * of consent strings permit, and the ID means nothing here.
 */
function withKnownCmp(text: string): string {
  return /^C[\w-]{14}/.test(text) ? `${text.slice(0, 13)}AC${text.slice(15)}` : text;
}

function isPermitted(model: TCModel, purpose: number): boolean {
  const restrictions = model.publisherRestrictions.getRestrictions(VENDOR).filter((one) => one.purposeId === purpose);
  // 0: not allowed, 1: consent required, 2: legitimate interest required.
  const mayUse = (ground: 1 | 2): boolean => restrictions.every(({ restrictionType }) => restrictionType === ground);
  const byConsent = mayUse(1) && model.vendorConsents.has(VENDOR) && model.purposeConsents.has(purpose);
  if (byConsent || purpose === CONSENT_ONLY) return byConsent;
  return mayUse(2) && model.vendorLegitimateInterests.has(VENDOR) && model.purposeLegitimateInterests.has(purpose);
}

/**
 * TCF 2.2 to 2.4: reads what a CMP says about GDPR.
 * @see https://github.com/InteractiveAdvertisingBureau/GDPR-Transparency-and-Consent-Framework/tree/master/TCFv2
 */

import { type CmpOptions, type CmpRules, checkCmpOptions, listenTo } from './cmp.ts';
import type { ConsentGate } from './gate.ts';

/** Indexed by the ID of a purpose or vendor. Only `true` is a yes. */
export type Flags = Readonly<Record<number, unknown>>;

interface LegalBases {
  readonly consents?: Flags;
  readonly legitimateInterests?: Flags;
}

export interface EuChoices {
  readonly purpose?: LegalBases;
  readonly vendor?: LegalBases & { readonly disclosedVendors?: Flags };
  /** By purpose, by vendor: 0 forbids the purpose, 1 requires consent, 2 requires legitimate interest. */
  readonly publisher?: { readonly restrictions?: Readonly<Record<number, Flags | undefined>> };
  readonly isServiceSpecific?: unknown;
}

interface TcData extends EuChoices {
  readonly gdprApplies?: unknown;
  readonly eventStatus?: unknown;
  readonly tcString?: unknown;
}

/** The purposes for which TCF 2.2 and later permit legitimate interest. Purposes 1 and 3 to 6 need consent. */
const LEGITIMATE_INTEREST_PURPOSES = [2, 7, 8, 9, 10, 11];

/** A creation time before TCF 2 is invalid: a zero, or seconds instead of milliseconds. */
const TCF_2_FROM = Date.UTC(2019, 7);

/** TC strings created from this day on (TCF 2.3) are valid only if they list the vendors that were disclosed to the user. */
const DISCLOSURE_REQUIRED_FROM = Date.UTC(2026, 1, 28);

/** Of version 2, which the `C` encodes. */
function isTcString(value: unknown): value is string {
  return typeof value === 'string' && /^C[\w-]{7}/.test(value);
}

/** In ms: after 6 bits of version, 36 bits of deciseconds. */
function createdAtOf(tcString: string): number {
  const bytes = atob(tcString.slice(0, 8).replace(/-/g, '+').replace(/_/g, '/'));
  const bits = [...bytes].reduce((sum, byte) => sum * 256 + byte.charCodeAt(0), 0);
  // The remainder, part of the next field, is less than a decisecond.
  return ((bits / 64) % 2 ** 36) * 100;
}

/**
 * @param createdAt  epoch ms; NaN if it cannot be read. Undefined if the CMP does not say: then its flags alone decide.
 * @param namesDisclosed  the choices list the vendors that were disclosed, even if `vendor.disclosedVendors` does not.
 */
export function hasEuConsent(
  { purpose, vendor, publisher, isServiceSpecific }: EuChoices,
  { name, purposes, vendorId }: CmpRules,
  createdAt: number | undefined,
  namesDisclosed: boolean,
): boolean {
  const disclosed = vendor?.disclosedVendors;
  // For a string without the list, a CMP returns an empty list or none.
  const isListed = disclosed && (namesDisclosed || Object.keys(disclosed).length > 0);
  const isDisclosed = isListed
    ? !vendorId || disclosed[vendorId] === true
    : namesDisclosed || createdAt === undefined || (TCF_2_FROM < createdAt && createdAt < DISCLOSURE_REQUIRED_FROM);
  const hasBasis = (id: number): boolean => {
    const restriction = publisher?.restrictions?.[id]?.[vendorId];
    const byConsent = restriction !== 2 && purpose?.consents?.[id] === true;
    const byInterest =
      restriction !== 1 &&
      LEGITIMATE_INTEREST_PURPOSES.includes(id) &&
      purpose?.legitimateInterests?.[id] === true &&
      (!vendorId || vendor?.legitimateInterests?.[vendorId] === true);
    return restriction !== 0 && (byConsent || byInterest);
  };
  return (
    name !== 'uid2' &&
    // False marks a string of global scope. Such strings have been invalid since September 2021.
    isServiceSpecific !== false &&
    isDisclosed &&
    (!vendorId || vendor?.consents?.[vendorId] === true) &&
    purposes.every(hasBasis)
  );
}

/**
 * Create a gate from the TCF API, `__tcfapi`. If GDPR does not apply, the answer is yes, or no for `euid`. If it applies, or the CMP does
 * not say, the answer is yes with the legal basis that {@link CmpOptions} describe, and always no for `uid2`. While the CMP shows its
 * dialog, the previous decision stands.
 *
 * @example createSession({ baseUrl, consent: tcfConsent({ name: 'euid' }) });
 */
export function tcfConsent(options: CmpOptions = {}): ConsentGate {
  if (typeof __TESSERA_PRODUCTION__ === 'undefined') checkCmpOptions('tcfConsent', options);
  return listenTo<TcData>('__tcfapi', [2], options, (data, rules) => {
    const { gdprApplies, eventStatus, tcString } = data;
    if (gdprApplies === false) return rules.name !== 'euid';
    if (eventStatus !== 'tcloaded' && eventStatus !== 'useractioncomplete') return undefined;
    if (tcString === undefined) return hasEuConsent(data, rules, undefined, false);
    // The first three bits of a segment are its type: 1 is the segment of disclosed vendors.
    return isTcString(tcString) && hasEuConsent(data, rules, createdAtOf(tcString), /\.[I-P]/.test(tcString));
  });
}

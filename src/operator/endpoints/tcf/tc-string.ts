/**
 * What a TC string of TCF version 2 says about one vendor. The work is proportional to its length: no range is ever expanded.
 *
 * @see https://github.com/InteractiveAdvertisingBureau/GDPR-Transparency-and-Consent-Framework, "TC String Format"
 */

export interface TcString {
  readonly hasConsent: boolean;
  readonly hasLegitimateInterest: boolean;
  /** Purposes that the user has consented to. */
  readonly consents: ReadonlySet<number>;
  /** Purposes for whose legitimate interest the user has been informed and has not objected. */
  readonly legitimateInterests: ReadonlySet<number>;
  readonly restrictions: readonly TcRestriction[];
}

export interface TcRestriction {
  readonly purpose: number;
  /** 0: not allowed, 1: consent required, 2: legitimate interest required. */
  readonly type: number;
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const DIGIT_BITS = 6;
/** By character code. */
const VALUES = new Uint8Array(128);
for (const [value, digit] of [...DIGITS].entries()) VALUES[digit.charCodeAt(0)] = value;
/** Base64url, in segments separated by dots. */
const SHAPE = /^[\w-]+(?:\.[\w-]+)*$/;

const VERSION = 2;
const PURPOSES = 24;
/** Lengths of the fields that are skipped, in bits. */
const BEFORE_PURPOSES = {
  created: 36,
  lastUpdated: 36,
  cmpId: 12,
  cmpVersion: 12,
  consentScreen: 6,
  consentLanguage: 12,
  vendorListVersion: 12,
  policyVersion: 6,
  isServiceSpecific: 1,
  useNonStandardTexts: 1,
  specialFeatureOptIns: 12,
};
const AFTER_PURPOSES = { purposeOneTreatment: 1, publisherCountry: 12 };
const LAST_RESTRICTION_TYPE = 2;

function invalid(expected: string): RangeError {
  return new RangeError(`TC string: expected ${expected}`);
}

function createBits(digits: string) {
  const end = digits.length * DIGIT_BITS;
  let at = 0;
  const skip = (count: number): void => {
    at += count;
    if (at > end) throw invalid('more characters');
  };
  // At most 24 bits.
  const read = (count: number): number => {
    const from = at;
    skip(count);
    let value = 0;
    for (let bit = from; bit < at; ) {
      // The remainder of this digit, or as many of its bits as requested.
      const left = DIGIT_BITS - (bit % DIGIT_BITS);
      const taken = Math.min(left, at - bit);
      const digit = VALUES[digits.charCodeAt(Math.floor(bit / DIGIT_BITS))]!;
      value = (value << taken) | ((digit >> (left - taken)) & ((1 << taken) - 1));
      bit += taken;
    }
    return value;
  };
  return { read, skip };
}

type Bits = ReturnType<typeof createBits>;

function skipAll({ skip }: Bits, lengths: Readonly<Record<string, number>>): void {
  for (const length of Object.values(lengths)) skip(length);
}

function readPurposes({ read }: Bits): ReadonlySet<number> {
  const bits = read(PURPOSES);
  const purposes = Array.from({ length: PURPOSES }, (_, index) => index + 1);
  // The first purpose is the highest bit.
  return new Set(purposes.filter((purpose) => (bits >> (PURPOSES - purpose)) & 1));
}

/** A list of vendors and ranges of vendors. All of it must be read, because the next field follows it. */
function isInEntries({ read }: Bits, vendor: number): boolean {
  let isFound = false;
  for (let left = read(12); left > 0; left--) {
    const isRange = read(1) === 1;
    const first = read(16);
    const last = isRange ? read(16) : first;
    if (first === 0 || last < first) throw invalid('vendors from 1, the first of a range before its last');
    isFound ||= first <= vendor && vendor <= last;
  }
  return isFound;
}

function isInVendors(bits: Bits, vendor: number): boolean {
  const lastVendor = bits.read(16);
  if (bits.read(1) === 1) return isInEntries(bits, vendor);
  if (vendor > lastVendor) {
    bits.skip(lastVendor);
    return false;
  }
  bits.skip(vendor - 1);
  const isSet = bits.read(1) === 1;
  bits.skip(lastVendor - vendor);
  return isSet;
}

function readRestrictions(bits: Bits, vendor: number): TcRestriction[] {
  const restrictions: TcRestriction[] = [];
  for (let left = bits.read(12); left > 0; left--) {
    const purpose = bits.read(6);
    const type = bits.read(2);
    if (purpose === 0 || type > LAST_RESTRICTION_TYPE) throw invalid('restrictions of the types 0 to 2');
    if (isInEntries(bits, vendor)) restrictions.push({ purpose, type });
  }
  return restrictions;
}

/**
 * Read a TC string. Only its first segment, the core, is used.
 *
 * @throws {RangeError}  if it is not a TC string of TCF version 2.
 */
export function readTcString(text: string, vendor: number): TcString {
  if (!SHAPE.test(text)) throw invalid('base64url');
  const bits = createBits(text.split('.', 1)[0]!);
  if (bits.read(6) !== VERSION) throw invalid(`version ${VERSION}`);
  skipAll(bits, BEFORE_PURPOSES);
  const consents = readPurposes(bits);
  const legitimateInterests = readPurposes(bits);
  skipAll(bits, AFTER_PURPOSES);
  const hasConsent = isInVendors(bits, vendor);
  const hasLegitimateInterest = isInVendors(bits, vendor);
  const restrictions = readRestrictions(bits, vendor);
  return { hasConsent, hasLegitimateInterest, consents, legitimateInterests, restrictions };
}

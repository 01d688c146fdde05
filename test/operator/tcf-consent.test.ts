import { GVL, PurposeRestriction, Segment, TCModel, TCString, type VendorList } from '@iabtcf/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readTcfConsent } from '../../src/operator/endpoints/tcf/tcf-consent.ts';

const VENDOR = 21;
const PURPOSES = [1, 2, 3, 4, 7, 10];
const LAST_VENDOR = 100;
const ALL_PURPOSES = Array.from({ length: 11 }, (_, index) => index + 1);

/** A list whose vendors may do everything on every ground, so that the encoder leaves out nothing. */
const vendorList = new GVL({
  gvlSpecificationVersion: 3,
  vendorListVersion: 100,
  tcfPolicyVersion: 5,
  lastUpdated: new Date(0).toISOString(),
  purposes: Object.fromEntries(ALL_PURPOSES.map((id) => [id, { id }])),
  specialPurposes: {},
  features: {},
  specialFeatures: {},
  stacks: {},
  vendors: Object.fromEntries(
    Array.from({ length: LAST_VENDOR }, (_, index) => [
      index + 1,
      {
        id: index + 1,
        name: `${index + 1}`,
        purposes: ALL_PURPOSES,
        legIntPurposes: ALL_PURPOSES,
        flexiblePurposes: ALL_PURPOSES,
        specialPurposes: [],
        features: [],
        specialFeatures: [],
      },
    ]),
  ),
} as unknown as VendorList);

const readByLibrary = (text: string): string => {
  let model: TCModel;
  try {
    model = TCString.decode(text);
  } catch {
    return 'invalid';
  }
  const isPermitted = (purpose: number): boolean => {
    const type = model.publisherRestrictions.getRestrictions(VENDOR).filter(({ purposeId }) => purposeId === purpose);
    const mayUse = (ground: number) => type.every(({ restrictionType }) => restrictionType === ground);
    const byConsent = mayUse(1) && model.vendorConsents.has(VENDOR) && model.purposeConsents.has(purpose);
    if (byConsent || purpose === 1) return byConsent;
    return mayUse(2) && model.vendorLegitimateInterests.has(VENDOR) && model.purposeLegitimateInterests.has(purpose);
  };
  return PURPOSES.every(isPermitted) ? 'sufficient' : 'insufficient';
};

/** Vendors in ranges and alone; every other time with vendor 21. */
const vendors = fc
  .tuple(
    fc.array(fc.tuple(fc.integer({ min: 1, max: LAST_VENDOR }), fc.integer({ min: 0, max: 40 })), { maxLength: 6 }),
    fc.boolean(),
  )
  .map(([ranges, isIncluded]) => {
    const ids = ranges.flatMap(([first, more]) => Array.from({ length: more + 1 }, (_, index) => first + index));
    return [...new Set([...ids, ...(isIncluded ? [VENDOR] : [])])].filter((id) => id <= LAST_VENDOR);
  });

/** All purposes that matter, and others, more often than a part of them. */
const purposes = fc.oneof(fc.constant(ALL_PURPOSES), fc.constant(PURPOSES), fc.subarray(ALL_PURPOSES));

const restrictions = fc.array(
  fc.record({ purpose: fc.constantFrom(...ALL_PURPOSES), type: fc.constantFrom(0, 1, 2), vendors }),
  { maxLength: 4 },
);

const text = fc
  .record({
    consents: purposes,
    interests: purposes,
    vendorConsents: vendors,
    vendorInterests: vendors,
    restrictions,
    isServiceSpecific: fc.boolean(),
    cmpId: fc.integer({ min: 2, max: 4095 }),
    segments: fc.boolean().map((isShort) => (isShort ? [Segment.CORE] : [Segment.CORE, Segment.VENDORS_DISCLOSED])),
  })
  .map(({ segments, ...given }) => {
    const model = new TCModel(vendorList);
    Object.assign(model, { cmpId: given.cmpId, cmpVersion: 1, isServiceSpecific: given.isServiceSpecific });
    model.purposeConsents.set(given.consents);
    model.purposeLegitimateInterests.set(given.interests);
    model.vendorConsents.set(given.vendorConsents);
    model.vendorLegitimateInterests.set(given.vendorInterests);
    for (const { purpose, type, vendors } of given.restrictions)
      for (const id of vendors) model.publisherRestrictions.add(id, new PurposeRestriction(purpose, type));
    return TCString.encode(model, { segments });
  });

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const bits = (value: number, length: number) => value.toString(2).padStart(length, '0');
const encodeBits = (all: string) =>
  all.replace(/.{1,6}/g, (digit) => DIGITS[Number.parseInt(digit.padEnd(6, '0'), 2)]!);
/** Everything before the vendors: consent to all purposes. */
const HEAD = (version = 2, cmpId = 31) =>
  bits(version, 6) + bits(0, 72) + bits(cmpId, 12) + bits(0, 62) + '1'.repeat(24) + '0'.repeat(24) + bits(0, 13);
const range = (first: number, last: number) => `1${bits(first, 16)}${bits(last, 16)}`;
const single = (id: number) => `0${bits(id, 16)}`;
const listOf = (entries: readonly string[]) => bits(entries.length, 12) + entries.join('');
const vendorRanges = (...entries: string[]) => bits(65_535, 16) + 1 + listOf(entries);
const NO_VENDORS = bits(0, 17);
const NO_RESTRICTIONS = bits(0, 12);
const restriction = (purpose: number, type: number, ...entries: string[]) =>
  bits(purpose, 6) + bits(type, 2) + listOf(entries);
const read = (...fields: string[]) => readTcfConsent(encodeBits(fields.join('')));

describe('a consent string', () => {
  test('is read as the library of the IAB reads it', () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(text, (given) => {
        const said = readByLibrary(given);
        seen.add(said);
        expect(readTcfConsent(given)).toBe(said);
      }),
      { numRuns: 200 },
    );
    expect([...seen].sort()).toEqual(['insufficient', 'sufficient']);
  });

  test('that is cut off anywhere is invalid where the library says so', () => {
    fc.assert(
      fc.property(text, fc.nat(), (given, cut) => {
        const part = given.split('.', 1)[0]!.slice(0, cut % given.length);
        expect(readTcfConsent(part)).toBe(readByLibrary(part));
      }),
      { numRuns: 200 },
    );
  });

  test('lists vendors as bits or as ranges', () => {
    expect(read(HEAD(), bits(21, 16), '0', bits(1, 21), NO_VENDORS, NO_RESTRICTIONS)).toBe('sufficient');
    expect(read(HEAD(), bits(20, 16), '0', bits(1, 20), NO_VENDORS, NO_RESTRICTIONS)).toBe('insufficient');
    expect(read(HEAD(), vendorRanges(single(21)), NO_VENDORS, NO_RESTRICTIONS)).toBe('sufficient');
    expect(read(HEAD(), vendorRanges(range(1, 20), range(22, 65_535)), NO_VENDORS, NO_RESTRICTIONS)).toBe(
      'insufficient',
    );
    expect(read(HEAD(), vendorRanges(range(21, 21)), NO_VENDORS, NO_RESTRICTIONS)).toBe('sufficient');
  });

  test.each([0, 1])('may come from the CMP %i, which the library refuses', (cmpId) => {
    const given = encodeBits(HEAD(2, cmpId) + vendorRanges(single(21)) + NO_VENDORS + NO_RESTRICTIONS);
    expect([readTcfConsent(given), readByLibrary(given)]).toEqual(['sufficient', 'invalid']);
  });

  test.each<[what: string, fields: string[]]>([
    ['version 1', [HEAD(1), NO_VENDORS, NO_VENDORS, NO_RESTRICTIONS]],
    ['version 3', [HEAD(3), NO_VENDORS, NO_VENDORS, NO_RESTRICTIONS]],
    ['a range that ends before its start', [HEAD(), vendorRanges(range(30, 21)), NO_VENDORS, NO_RESTRICTIONS]],
    [
      'a restricted range that ends before its start',
      [HEAD(), NO_VENDORS, NO_VENDORS, bits(1, 12), restriction(1, 0, range(30, 21))],
    ],
    ['vendor 0', [HEAD(), vendorRanges(range(0, 30)), NO_VENDORS, NO_RESTRICTIONS]],
    ['a restriction of an unknown type', [HEAD(), NO_VENDORS, NO_VENDORS, bits(1, 12), restriction(1, 3, single(5))]],
    ['fewer entries than announced', [HEAD(), bits(65_535, 16), '1', bits(2, 12), single(21)]],
    ['fewer vendors than announced', [HEAD(), bits(65_535, 16), '0', bits(1, 21)]],
  ])('with %s is invalid', (_, fields) => expect(read(...fields)).toBe('invalid'));

  test('whose core is cut off is not continued by its next segment', () => {
    const core = encodeBits(HEAD() + vendorRanges(single(21)) + NO_VENDORS + NO_RESTRICTIONS);
    expect(readTcfConsent(`${core.slice(0, 45)}.${core.slice(45)}`)).toBe('invalid');
  });

  test('with another character than those of base64url, in any segment, is invalid', () => {
    const given = encodeBits(HEAD() + vendorRanges(single(21)) + NO_VENDORS + NO_RESTRICTIONS);
    expect(readTcfConsent(given)).toBe('sufficient');
    for (const wrong of [`${given}=`, ` ${given}`, `${given}\n`, `${given}.`, `${given}.I+`, given.replace('A', 'é')])
      expect(readTcfConsent(wrong)).toBe('invalid');
  });
});

describe('a malicious consent string', () => {
  const answerInTime = (text: string): string => {
    // The time of this process on the processor: a busy machine does not add to it.
    const before = process.cpuUsage();
    const answer = readTcfConsent(text);
    expect(process.cpuUsage(before).user).toBeLessThan(1_000_000);
    return answer;
  };

  test('of 52 characters that restricts all vendors is answered without blocking', () => {
    const text = encodeBits(HEAD() + NO_VENDORS + NO_VENDORS + bits(1, 12) + restriction(1, 0, range(1, 65_535)));
    expect(text).toHaveLength(52);
    expect(answerInTime(text)).toBe('insufficient');
  });

  test('of thousands of ranges of all vendors is answered without blocking', () => {
    const all = Array.from({ length: 4095 }, () => range(1, 65_535));
    const restrictions = PURPOSES.map((purpose) => restriction(purpose, 1, ...all));
    const text = encodeBits(
      HEAD() + vendorRanges(...all) + vendorRanges(...all) + bits(restrictions.length, 12) + restrictions.join(''),
    );
    expect(text.length).toBeGreaterThan(150_000);
    expect(answerInTime(text)).toBe('sufficient');
    expect(answerInTime(text.slice(0, -10))).toBe('invalid');
  });
});

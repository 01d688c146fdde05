/**
 * Consent gates. The CMPs of these tests answer with strings of the official encoders, read by the official decoders; the last
 * tests run a real session and a real operator.
 */

import { CmpApi, CmpStatus, SignalStatus } from '@iabgpp/cmpapi';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  allOf,
  type CmpOptions,
  type ConsentGate,
  gpcConsent,
  gppConsent,
  tcfConsent,
} from '../../src/page/consent.ts';
import type { Store } from '../../src/session/index.ts';
import { memoryStore } from '../../src/session/index.ts';
import { restoreGlobals } from '../session/fixtures.ts';
import {
  encodeGppString,
  encodeTcString,
  euFields,
  installGpp,
  installTcf,
  NO_GDPR,
  pingDataOf,
  removeCmps,
  TCF,
  type TcChoices,
  tcDataOf,
} from '../support/cmp.ts';
import { createLifeFixture, MINUTE, names, until, useFakeClock } from '../support/fixtures.ts';

beforeEach(() => void useFakeClock());
afterEach(() => {
  restoreGlobals();
  removeCmps();
});

/** Call a gate and collect its answers in order: the first one, then each change. */
const ask = (gate: ConsentGate) => {
  const answers: boolean[] = [];
  const answer = gate((granted) => answers.push(granted));
  if (typeof answer === 'boolean') answers.push(answer);
  else answer.then((granted) => answers.push(granted));
  return answers;
};
const { rest } = createLifeFixture();

/** All purposes that an EUID operator asks for, each on the legal basis that vendor 21 declares. */
const ALL: TcChoices = {
  purposes: [1, 3, 4],
  purposeInterests: [2, 7, 10],
  vendors: [21],
  vendorInterests: [21],
};
const PURPOSES = [1, 2, 3, 4, 7, 10];
/** Consent to a purpose that the vendor may also base on legitimate interest. */
const FLEXIBLE: TcChoices = { purposes: [2], vendors: [7] };
const OLD = Date.UTC(2025, 5, 1);

/** Rules that hold for a TC string and for section 2 of a GPP string alike, if GDPR applies. */
const euRules: [what: string, options: CmpOptions, choices: TcChoices, granted: boolean][] = [
  ['purpose 1, no vendor required', {}, { vendors: [] }, true],
  ['no consent at all', {}, { purposes: [], vendors: [] }, false],
  ['another purpose than 1', {}, { purposes: [2] }, false],
  ['purpose 1 and the vendor', { vendorId: 7 }, { vendors: [7] }, true],
  ['purpose 1 and another vendor', { vendorId: 7 }, { vendors: [21] }, false],
  ['UID2 with every consent', { name: 'uid2' }, ALL, false],
  ['EUID with purpose 1 and vendor 21', { name: 'euid' }, {}, true],
  ['EUID with another vendor', { name: 'euid' }, { vendors: [7] }, false],
  ['EUID without purpose 1', { name: 'euid' }, { ...ALL, purposes: [3, 4] }, false],
  ['fewer purposes than required', { purposes: [1, 4] }, { purposes: [1, 3] }, false],
  ['all purposes that are required', { purposes: [1, 4] }, { purposes: [1, 4] }, true],
  ['all purposes by consent', { purposes: PURPOSES }, { purposes: PURPOSES }, true],
  ['2, 7 and 10 by legitimate interest', { name: 'euid', purposes: PURPOSES }, ALL, true],
  ['2 by neither', { name: 'euid', purposes: PURPOSES }, { ...ALL, purposeInterests: [7, 10] }, false],
  ['2 by interest, the vendor not', { name: 'euid', purposes: [1, 2] }, { ...ALL, vendorInterests: [] }, false],
  ['2 by interest, no vendor required', { purposes: [1, 2] }, { ...ALL, vendorInterests: [] }, true],
  ['the vendor by interest alone', { name: 'euid' }, { ...ALL, vendors: [] }, false],
  ['3 by legitimate interest', { purposes: [1, 3] }, { purposeInterests: [3] }, false],
  ['2 forbidden by the publisher', { name: 'euid', purposes: [2] }, { ...ALL, restrictions: [[2, 0, 21]] }, false],
  ['2 by interest, consent required', { name: 'euid', purposes: [2] }, { ...ALL, restrictions: [[2, 1, 21]] }, false],
  [
    '2 by consent, interest required',
    { vendorId: 7, purposes: [2] },
    { ...FLEXIBLE, restrictions: [[2, 2, 7]] },
    false,
  ],
  ['2 by consent, as the vendor declares', { vendorId: 7, purposes: [2] }, FLEXIBLE, true],
  ['2 forbidden to another vendor', { name: 'euid', purposes: [2] }, { ...ALL, restrictions: [[2, 0, 7]] }, true],
  ['TCF 2.3, no disclosed vendors named', {}, { disclosed: undefined }, false],
  ['the first day of TCF 2.3', {}, { disclosed: undefined, createdAt: Date.UTC(2026, 1, 28) }, false],
  ['the day before', {}, { disclosed: undefined, createdAt: Date.UTC(2026, 1, 27) }, true],
  ['TCF 2.2, no disclosed vendors named', { name: 'euid' }, { disclosed: undefined, createdAt: OLD }, true],
  ['the vendor not disclosed', { name: 'euid' }, { disclosed: [7] }, false],
  ['the vendor not disclosed, TCF 2.2', { name: 'euid' }, { disclosed: [7], createdAt: OLD }, false],
];

describe('TCF', () => {
  const { vendor, ...rest23 } = TCF.granted;
  const { disclosedVendors, ...vendor22 } = vendor;
  const { tcString, ...unsigned } = { ...rest23, vendor: vendor22 };
  const decisions: [what: string, options: CmpOptions, data: object, granted: boolean][] = [
    ...euRules.map(([what, options, choices, granted]): (typeof decisions)[number] => [
      what,
      options,
      tcDataOf(encodeTcString(choices)),
      granted,
    ]),
    ['a string of global scope', {}, tcDataOf(encodeTcString({ isServiceSpecific: false })), false],
    ['a CMP whose data does not list disclosed vendors', { name: 'euid' }, { ...unsigned, tcString }, true],
    ['a CMP that sends no string', { name: 'euid' }, unsigned, true],
    ['a string that cannot be read', {}, { ...TCF.granted, tcString: 'C%' }, false],
    ['flags other than true', {}, { ...TCF.granted, purpose: { consents: { 1: 1 } } }, false],
    ['nothing but the status', {}, { gdprApplies: true, eventStatus: 'tcloaded' }, false],
    ['GDPR does not apply', {}, NO_GDPR, true],
    ['GDPR does not apply, UID2', { name: 'uid2' }, NO_GDPR, true],
    ['GDPR does not apply, EUID', { name: 'euid' }, NO_GDPR, false],
    ['GDPR unknown, no consent', {}, { ...TCF.refused, gdprApplies: undefined }, false],
    ['GDPR unknown, consent', {}, { ...TCF.granted, gdprApplies: undefined }, true],
    ['GDPR unknown, UID2', { name: 'uid2' }, { ...TCF.granted, gdprApplies: undefined }, false],
    ['GDPR null', { name: 'uid2' }, { ...TCF.granted, gdprApplies: null }, false],
  ];

  test.each(decisions)('%s', async (_, options, data, granted) => {
    const cmp = installTcf();
    const answers = ask(tcfConsent(options));
    await rest();
    expect(answers).toEqual([]);
    cmp.publish(data);
    await rest();
    expect(answers).toEqual([granted]);
  });

  test.each(['cmpuishown', 'tcloaded2', undefined])('the status %s is no decision', async (eventStatus) => {
    installTcf({ ...TCF.granted, eventStatus });
    const answers = ask(tcfConsent());
    await rest();
    expect(answers).toEqual([]);
  });

  test('returns a choice of an earlier visit at once, without a promise', () => {
    installTcf({ ...TCF.granted, eventStatus: 'tcloaded' });
    expect(tcfConsent()(() => {})).toBe(true);
  });

  test('keeps its answer while the dialog is shown again', async () => {
    const cmp = installTcf();
    const answers = ask(tcfConsent());
    cmp.publish(TCF.granted);
    cmp.publish(TCF.shown);
    await rest();
    expect(answers).toEqual([true]);
    cmp.publish(TCF.refused);
    cmp.publish(TCF.refused);
    await rest();
    expect(answers).toEqual([true, false]);
  });

  test('reports a change that follows the first answer at once after that answer', async () => {
    const cmp = installTcf();
    const answers = ask(tcfConsent());
    cmp.publish(TCF.granted);
    cmp.publish(TCF.refused);
    await rest();
    expect(answers).toEqual([true, false]);
  });

  test('finds a CMP that comes late', async () => {
    const answers = ask(tcfConsent({ waitMs: 5000 }));
    await vi.advanceTimersByTimeAsync(4000);
    expect(answers).toEqual([]);
    installTcf(TCF.granted);
    await vi.advanceTimersByTimeAsync(200);
    expect(answers).toEqual([true]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('says no if no CMP comes within the time', async () => {
    const answers = ask(tcfConsent({ waitMs: 5000 }));
    await vi.advanceTimersByTimeAsync(4500);
    expect(answers).toEqual([]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(answers).toEqual([false]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('does not take an element with the name of the API for a CMP', async () => {
    Object.assign(window, { __tcfapi: document.createElement('a') });
    const answers = ask(tcfConsent({ waitMs: 200 }));
    await vi.advanceTimersByTimeAsync(500);
    expect(answers).toEqual([false]);
  });
});

describe('GPP', () => {
  /** The choices of a user who has refused nothing. */
  const US = {
    SaleOptOutNotice: 1,
    SaleOptOut: 2,
    TargetedAdvertisingOptOutNotice: 1,
    TargetedAdvertisingOptOut: 2,
    MspaCoveredTransaction: 2,
  };
  const CALIFORNIA = { SaleOptOutNotice: 1, SaleOptOut: 2, SharingOptOutNotice: 1, SharingOptOut: 2 };
  const NATIONAL = { ...US, ...CALIFORNIA, SharingNotice: 1 };
  const bits = (length: number, ...ones: number[]) => Array.from({ length }, (_, i) => (ones.includes(i) ? 1 : 0));

  type Sections = Parameters<typeof encodeGppString>[0];
  const ready = (applicable: unknown, sections: Sections, form?: 'flat' | 'segments') =>
    pingDataOf(encodeGppString(sections), applicable, form);

  const decisions: [what: string, options: CmpOptions, applicable: unknown, sections: Sections, granted: boolean][] = [
    ...euRules.map(([what, options, choices, granted]): (typeof decisions)[number] => [
      `EU: ${what}`,
      options,
      [2],
      { tcfeuv2: euFields(choices) },
      granted,
    ]),
    ['no section applies', {}, [-1], {}, true],
    ['no section applies, UID2', { name: 'uid2' }, [-1], {}, true],
    ['no section applies, EUID', { name: 'euid' }, [-1], {}, false],
    ['unknown which sections apply', {}, [0], { usnat: NATIONAL }, false],
    ['an empty list of applicable sections', {}, [], { usnat: NATIONAL }, false],
    ['an empty list, and no section', {}, [], {}, false],
    ['no list of applicable sections', {}, undefined, { usnat: NATIONAL }, false],
    ['no list of applicable sections, UID2', { name: 'uid2' }, null, {}, false],
    ['a string for a list', {}, '7', { usnat: NATIONAL }, false],
    ['the EU section applies and is missing', {}, [2], { usnat: NATIONAL }, false],
    ['a US section applies and is missing', {}, [7], {}, false],
    ['the EU section in place of a US one', {}, [7], { tcfeuv2: euFields() }, false],
    ['the national section in place of a state', {}, [8], { usnat: NATIONAL }, false],
    ['a state in place of the national section', {}, [7], { usca: CALIFORNIA }, false],
    ['one state in place of another', {}, [9], { usco: US }, false],
    ['one of two applicable sections is missing', {}, [7, 8], { usnat: NATIONAL }, false],
    ['both applicable sections grant', {}, [7, 8], { usnat: NATIONAL, usca: CALIFORNIA }, true],
    ['the second of two refuses', {}, [7, 8], { usnat: NATIONAL, usca: { ...CALIFORNIA, SaleOptOut: 1 } }, false],
    ['EU and US, both grant', {}, [2, 7], { tcfeuv2: euFields(), usnat: NATIONAL }, true],
    ['EU and US, the EU refuses', {}, [2, 7], { tcfeuv2: euFields({ purposes: [] }), usnat: NATIONAL }, false],
    ['EU and US, the US is missing', {}, [2, 7], { tcfeuv2: euFields() }, false],
    ['a section that does not apply refuses', {}, [7], { usnat: NATIONAL, usca: { SaleOptOut: 1 } }, false],
    ['US, EUID', { name: 'euid' }, [7], { usnat: NATIONAL }, false],
    ['US, UID2', { name: 'uid2' }, [7], { usnat: NATIONAL }, true],
    ['Canada', {}, [5], { tcfcav1: { CmpId: 31 } }, false],
    ['US Privacy, an old format', {}, [6], { uspv1: { OptOutSale: 'N' } }, false],
    ['an ID without a section', {}, [28], { usnat: NATIONAL }, false],
    ['national: sale', {}, [7], { usnat: { ...NATIONAL, SaleOptOut: 1 } }, false],
    ['national: sharing', {}, [7], { usnat: { ...NATIONAL, SharingOptOut: 1 } }, false],
    ['national: targeted advertising', {}, [7], { usnat: { ...NATIONAL, TargetedAdvertisingOptOut: 1 } }, false],
    ['national: Global Privacy Control', {}, [7], { usnat: { ...NATIONAL, Gpc: true } }, false],
    ['national: no consent to personal data', {}, [7], { usnat: { ...NATIONAL, PersonalDataConsents: 1 } }, false],
    ['national: consent to personal data', {}, [7], { usnat: { ...NATIONAL, PersonalDataConsents: 2 } }, true],
    ...[0, 1, 2].map((i): (typeof decisions)[number] => [
      `national: a child without consent (${i})`,
      {},
      [7],
      { usnat: { ...NATIONAL, KnownChildSensitiveDataConsents: bits(3, i) } },
      false,
    ]),
    [
      'national: children with consent',
      {},
      [7],
      { usnat: { ...NATIONAL, KnownChildSensitiveDataConsents: [2, 2, 0] } },
      true,
    ],
    ...[0, 7, 15].map((i): (typeof decisions)[number] => [
      `national: sensitive data refused (${i})`,
      {},
      [7],
      { usnat: { ...NATIONAL, SensitiveDataProcessing: bits(16, i) } },
      false,
    ]),
    [
      'national: sensitive data with consent',
      {},
      [7],
      { usnat: { ...NATIONAL, SensitiveDataProcessing: Array(16).fill(2) } },
      true,
    ],
    [
      'national: no notice of the opt-out',
      {},
      [7],
      { usnat: { ...NATIONAL, SaleOptOutNotice: 2, SaleOptOut: 0 } },
      false,
    ],
    ['national: nothing is applicable', {}, [7], { usnat: { SaleOptOut: 0 } }, true],
    ['California: sharing', {}, [8], { usca: { ...CALIFORNIA, SharingOptOut: 1 } }, false],
    ['California: sensitive data', {}, [8], { usca: { ...CALIFORNIA, SensitiveDataProcessing: bits(9, 2) } }, false],
    ['California: personal data', {}, [8], { usca: { ...CALIFORNIA, PersonalDataConsents: 1 } }, false],
    ['Virginia: a child', {}, [9], { usva: { ...US, KnownChildSensitiveDataConsents: 1 } }, false],
    ['Oregon: further processing', {}, [15], { usor: { ...US, AdditionalDataProcessingConsent: 1 } }, false],
    ['Oregon: further processing, consent', {}, [15], { usor: { ...US, AdditionalDataProcessingConsent: 2 } }, true],
    ['Kentucky: sensitive data', {}, [26], { usky: { ...US, SensitiveDataProcessing: bits(8, 7) } }, false],
  ];

  describe.each(['flat', 'segments'] as const)('sections as %s', (form) => {
    test.each(decisions)('%s', async (_, options, applicable, sections, granted) => {
      const cmp = installGpp();
      const answers = ask(gppConsent(options));
      await rest();
      expect(answers).toEqual([]);
      cmp.publish(ready(applicable, sections, form));
      await rest();
      expect(answers).toEqual([granted]);
    });
  });

  const states = 'ca va co ut ct fl mt or tx de ia ne nh nj tn mn md in ky ri'.split(' ');

  test.each(states.map((state, i) => [`us${state}`, i + 8] as const))('%s is section %i', (prefix, id) => {
    const fields = prefix === 'usca' ? CALIFORNIA : US;
    const answer = (applicable: number[], more: object = {}) => {
      installGpp(ready(applicable, { [prefix]: { ...fields, ...more } }));
      return gppConsent()(() => {});
    };
    expect(answer([id])).toBe(true);
    expect(answer([id === 9 ? 10 : 9])).toBe(false);
    for (const field of Object.keys(fields).filter((name) => name.endsWith('OptOut'))) {
      expect(answer([id], { [field]: 1 })).toBe(false);
    }
  });

  const ping = ready([7], { usnat: NATIONAL });
  const { usnat } = ping.parsedSections as { usnat: Record<string, unknown> };
  const without = (name: string) => Object.fromEntries(Object.entries(usnat).filter(([field]) => field !== name));

  test.each<[what: string, parsedSections: unknown, granted: boolean]>([
    ['the prefix of GPP 1.0', { usnatv1: usnat }, true],
    ['no sections', undefined, false],
    ['null for the sections', null, false],
    ['null for the section', { usnat: null }, false],
    ['an empty section', { usnat: [{}] }, false],
    ['no SaleOptOut', { usnat: without('SaleOptOut') }, false],
    ['no TargetedAdvertisingOptOut', { usnat: without('TargetedAdvertisingOptOut') }, false],
    ['null for an opt-out', { usnat: { ...usnat, SaleOptOut: null } }, false],
    ['the value 3, which has no meaning', { usnat: { ...usnat, SaleOptOut: 3 } }, false],
    ['true for an opt-out', { usnat: { ...usnat, SaleOptOut: true } }, false],
    ['IDs in place of flags for purposes', { usnat, tcfeuv2: [{ PurposeConsents: [1] }] }, true],
  ])('out of form: %s', (_, parsedSections, granted) => {
    installGpp({ ...ping, parsedSections });
    expect(gppConsent()(() => {})).toBe(granted);
  });

  test('does not take IDs of purposes for their flags', () => {
    installGpp({ ...ping, applicableSections: [2], parsedSections: { tcfeuv2: [{ PurposeConsents: [2, 3] }] } });
    expect(gppConsent()(() => {})).toBe(false);
  });

  test('follows readiness alone, whatever the events are called and in whichever order they come', async () => {
    const cmp = installGpp();
    const answers = ask(gppConsent());
    cmp.publish({ ...ping, signalStatus: 'not ready' }, 'signalStatus');
    await rest();
    expect(answers).toEqual([]);
    cmp.publish(ping, 'cmpDisplayStatus');
    await rest();
    expect(answers).toEqual([true]);
    cmp.publish({ ...ping, signalStatus: 'not ready' });
    cmp.publish(ready([7], { usnat: { ...NATIONAL, SaleOptOut: 1 } }), 'somethingElse');
    await rest();
    expect(answers).toEqual([true, false]);
  });

  test('takes consent back if a CMP that is ready no longer knows which sections apply', async () => {
    const cmp = installGpp(ping);
    const answers = ask(gppConsent());
    cmp.publish({ ...ping, applicableSections: [0] });
    await rest();
    expect(answers).toEqual([true, false]);
  });

  test('returns the answer of a CMP that is ready at once', () => {
    installGpp(ping);
    expect(gppConsent()(() => {})).toBe(true);
  });

  test("follows the IAB's own CMP API", async () => {
    // The library takes over the queues of the stub that it replaces.
    Object.assign(window, { __gpp: () => [] });
    const cmp = new CmpApi(31, 1);
    const answers = ask(gppConsent());
    cmp.setCmpStatus(CmpStatus.LOADED);
    cmp.setGppString(encodeGppString({ usnat: NATIONAL }));
    cmp.setApplicableSections([7]);
    cmp.fireSectionChange('usnat');
    await rest();
    expect(answers).toEqual([]);
    cmp.setSignalStatus(SignalStatus.READY);
    await rest();
    expect(answers).toEqual([true]);
    cmp.setSignalStatus(SignalStatus.NOT_READY);
    cmp.setFieldValue('usnat', 'TargetedAdvertisingOptOut', 1);
    cmp.setSignalStatus(SignalStatus.READY);
    await rest();
    expect(answers).toEqual([true, false]);
  });
});

describe.each([
  ['__tcfapi', tcfConsent, installTcf, TCF.granted],
  [
    '__gpp',
    gppConsent,
    (first?: object | null) => installGpp(first ?? undefined),
    pingDataOf(encodeGppString({ usca: { SharingOptOut: 2 } }), [8]),
  ],
] as const)('the listener of %s', (api, consent, installCmp, granted) => {
  /** Calls that a CMP makes when it failed, or before it has data. */
  const empty: unknown[][] = [[], [null], [null, false], [undefined, true], [false, false], [true], ['', true]];

  test('throws nothing into the CMP and decides nothing if it is called with nothing', async () => {
    const cmp = installCmp();
    const answers = ask(consent());
    for (const args of empty) expect(() => cmp.call(...args)).not.toThrow();
    await rest();
    expect(answers).toEqual([]);
    cmp.publish(granted);
    for (const args of empty) expect(() => cmp.call(...args)).not.toThrow();
    await rest();
    expect(answers).toEqual([true]);
  });

  test('ignores data that comes with success: false', async () => {
    const cmp = installCmp();
    const answers = ask(consent());
    cmp.call({ ...granted, pingData: granted, listenerId: 1 }, false);
    await rest();
    expect(answers).toEqual([]);
  });

  test('is removed on abort, and hears nothing after that', async () => {
    const cmp = installCmp();
    const controller = new AbortController();
    const answers = ask(consent({ signal: controller.signal }));
    cmp.call(null, false);
    expect(cmp.count()).toBe(1);
    controller.abort();
    expect(cmp.count()).toBe(0);
    cmp.publish(granted);
    await rest();
    expect(answers).toEqual([]);
  });

  test('is not added if the signal was aborted before', async () => {
    const cmp = installCmp(granted);
    const answers = ask(consent({ signal: AbortSignal.abort() }));
    await rest();
    expect([cmp.count(), answers]).toEqual([0, []]);
  });

  test('stops looking for a CMP on abort', async () => {
    const controller = new AbortController();
    const answers = ask(consent({ signal: controller.signal }));
    controller.abort();
    await vi.advanceTimersByTimeAsync(200);
    expect(vi.getTimerCount()).toBe(0);
    const cmp = installCmp(granted);
    await vi.advanceTimersByTimeAsync(20_000);
    expect([cmp.count(), answers]).toEqual([0, []]);
  });

  test('does not let errors of the CMP escape', async () => {
    Object.assign(window, {
      [api]: () => {
        throw new Error('broken CMP');
      },
    });
    const controller = new AbortController();
    const answers = ask(consent({ signal: controller.signal }));
    controller.abort();
    await rest();
    expect(answers).toEqual([]);
  });
});

test('a TCF listener is removed if the gate was aborted before the CMP named the listener', async () => {
  const cmp = installTcf(null);
  const controller = new AbortController();
  const answers = ask(tcfConsent({ signal: controller.signal }));
  controller.abort();
  expect(cmp.count()).toBe(1);
  cmp.publish(TCF.granted);
  await rest();
  expect([cmp.count(), answers]).toEqual([0, []]);
});

describe('Global Privacy Control', () => {
  test.each([
    [true, false],
    [false, true],
    [undefined, true],
  ])('%s in the navigator: %s', (control, granted) => {
    vi.stubGlobal('navigator', { globalPrivacyControl: control });
    expect(gpcConsent()(() => {})).toBe(granted);
  });
});

describe('allOf', () => {
  /** A gate that answers on command. */
  const createManualGate = () => {
    let resolve = (_: boolean) => {};
    let reject = (_: Error) => {};
    let change = (_: boolean) => {};
    const gate: ConsentGate = (onChange) => {
      change = onChange;
      return new Promise((...functions) => ([resolve, reject] = functions));
    };
    return {
      gate,
      resolve: (granted: boolean) => resolve(granted),
      reject: () => reject(new Error('broken')),
      change: (granted: boolean) => change(granted),
    };
  };
  const yes: ConsentGate = () => true;
  const no: ConsentGate = () => false;
  const foreign = (value: unknown) => value as boolean;
  /** A gate that calls `onChange` at once and never answers. */
  const changeTo =
    (granted: boolean): ConsentGate =>
    (onChange) => {
      onChange(granted);
      return new Promise(() => {});
    };

  test.each<[what: string, gates: ConsentGate[], granted: boolean]>([
    ['no gates', [], true],
    ['one yes', [yes], true],
    ['two yes', [yes, yes], true],
    ['yes and no', [yes, no], false],
    ['no and yes', [no, yes], false],
    ['no and a gate that never answers', [no, () => new Promise(() => {})], false],
    ['a gate that throws', [yes, () => expect.unreachable()], false],
    ['undefined', [yes, () => foreign(undefined)], false],
    ['null', [yes, () => foreign(null)], false],
    ['1', [yes, () => foreign(1)], false],
    ["'yes'", [yes, () => foreign('yes')], false],
    ['no gates, nested', [allOf(), yes], true],
  ])('answers at once: %s', (_, gates, granted) => {
    expect(allOf(...gates)(() => {})).toBe(granted);
  });

  test('says no as soon as one gate does, yes when all do, and follows every change', async () => {
    const one = createManualGate();
    const other = createManualGate();
    const answers = ask(allOf(yes, one.gate, other.gate));
    one.resolve(false);
    await rest();
    expect(answers).toEqual([false]);
    one.change(true);
    await rest();
    expect(answers).toEqual([false]);
    other.resolve(true);
    await rest();
    expect(answers).toEqual([false, true]);
    other.change(false);
    await rest();
    expect(answers).toEqual([false, true, false]);
  });

  test('ignores a first answer that comes after a withdrawal', async () => {
    const one = createManualGate();
    const answers = ask(allOf(yes, one.gate));
    one.change(false);
    one.resolve(true);
    await rest();
    expect(answers).toEqual([false]);
    one.change(true);
    await rest();
    expect(answers).toEqual([false, true]);
  });

  test('ignores a first refusal that comes after consent', async () => {
    const one = createManualGate();
    const answers = ask(allOf(yes, one.gate));
    one.change(true);
    one.resolve(false);
    await rest();
    expect(answers).toEqual([true]);
  });

  test('takes a gate that fails, or whose value is not true, for a no', async () => {
    for (const value of [undefined, null, 1, 'true', {}]) {
      expect(ask(allOf(yes, changeTo(foreign(value))))).toEqual([false]);
      const later = ask(allOf(yes, () => Promise.resolve(foreign(value))));
      await rest();
      expect(later).toEqual([false]);
    }
    const failing = createManualGate();
    const answers = ask(allOf(yes, failing.gate));
    failing.change(true);
    failing.reject();
    await rest();
    expect(answers.at(-1)).toBe(false);
  });
});

describe('a session behind a gate', () => {
  const watched = () => {
    const calls: string[] = [];
    const real = memoryStore();
    const store: Store = {
      kind: 'watched',
      read: () => {
        calls.push('read');
        return real.read();
      },
      update: (change) => {
        calls.push('update');
        return real.update(change);
      },
    };
    return { calls, store, real };
  };

  test('stores and sends nothing before the decision, and does both after it', async () => {
    const fixture = createLifeFixture();
    const cmp = installTcf();
    const { calls, store } = watched();
    const tokens = await fixture.answerFor('user@example.com');
    const { session, heard } = fixture.open({ store, tokens, consent: allOf(tcfConsent(), gpcConsent()) });
    await fixture.pass(60 * MINUTE);
    expect(session.state.waitingFor).toBe('consent');
    expect([calls, fixture.requests, names(heard)]).toEqual([[], [], []]);

    cmp.publish(TCF.granted);
    await until(() => session.advertisingToken);
    expect(calls).toContain('update');
    fixture.close();
  });

  test('aborts a refresh and erases the token on withdrawal; the late answer restores nothing', async () => {
    const fixture = createLifeFixture();
    const cmp = installTcf(TCF.granted);
    const { store, real } = watched();
    const tokens = await fixture.answerFor('user@example.com');
    const { session, heard } = fixture.open({ store, tokens, consent: tcfConsent() });
    await until(() => names(heard).includes('token set'));
    let release = () => {};
    fixture.network(async (_, go) => {
      await new Promise<void>((resolve) => (release = resolve));
      return go();
    });
    void session.refresh();
    await until(() => fixture.requests.length === 1);

    cmp.publish(TCF.refused);
    await until(() => session.state.waitingFor === 'consent');
    expect(session.advertisingToken).toBeUndefined();
    release();
    await fixture.pass(120 * MINUTE);
    expect(session.advertisingToken).toBeUndefined();
    expect(JSON.stringify(await real.read())).not.toContain('Token');
    expect(fixture.requests).toHaveLength(1);
    expect(names(heard)).toEqual(['token set']);

    cmp.publish(TCF.granted);
    await fixture.rest();
    expect(session.state).toMatchObject({ phase: 'empty' });
    fixture.close();
  });
});

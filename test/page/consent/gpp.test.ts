/** The GPP gate, with strings of the official encoder, read by the official decoder. */

import { CmpApi, CmpStatus, SignalStatus } from '@iabgpp/cmpapi';
import { describe, expect, test } from 'vitest';
import { type CmpOptions, gppConsent } from '../../../src/page/consent.ts';
import { encodeGppString, euFields, installGpp, pingDataOf } from '../../support/cmp.ts';
import { ask, euRules, isolateTests, settle } from './fixtures.ts';

isolateTests();

describe('GPP', () => {
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
    ['US Privacy: sale, no section applies', {}, [-1], { uspv1: { Notice: 'Y', OptOutSale: 'Y' } }, false],
    ['US Privacy: no notice, no section applies', {}, [-1], { uspv1: { Notice: 'N', OptOutSale: 'N' } }, false],
    ['US Privacy: no sale, no section applies', {}, [-1], { uspv1: { Notice: 'Y', OptOutSale: 'N' } }, true],
    ['US Privacy: not applicable', {}, [-1], { uspv1: { Notice: '-', OptOutSale: '-' } }, true],
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
      await settle();
      expect(answers).toEqual([]);
      cmp.publish(ready(applicable, sections, form));
      await settle();
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
    ['a string of US Privacy without an opt-out', { usnat, uspv1: '1YNN' }, true],
    ['a string of US Privacy with an opt-out', { usnat, uspv1: '1YYN' }, false],
    ['null for US Privacy', { usnat, uspv1: null }, true],
    ['a section of US Privacy without fields', { usnat, uspv1: {} }, false],
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
  ])('malformed: %s', (_, parsedSections, granted) => {
    installGpp({ ...ping, parsedSections });
    expect(gppConsent()(() => {})).toBe(granted);
  });

  test.each([null, 0, '', 'soon', Date.UTC(2025, 5) / 1000, {}])(
    'choices under GDPR with a time that cannot be read are not taken for old ones: %s',
    (created) => {
      const eu = (Created: unknown) => [{ PurposeConsents: [true], Created }];
      const answer = (Created: unknown) => {
        installGpp({ ...ping, applicableSections: [2], parsedSections: { tcfeuv2: eu(Created) } });
        return gppConsent()(() => {});
      };
      expect(answer(created)).toBe(false);
      const old = new Date(Date.UTC(2025, 5));
      for (const readable of [old, old.getTime(), old.toISOString(), undefined]) expect(answer(readable)).toBe(true);
    },
  );

  test('does not read IDs of purposes as their flags', () => {
    installGpp({ ...ping, applicableSections: [2], parsedSections: { tcfeuv2: [{ PurposeConsents: [2, 3] }] } });
    expect(gppConsent()(() => {})).toBe(false);
  });

  test('follows only readiness, whatever the names and the order of the events', async () => {
    const cmp = installGpp();
    const answers = ask(gppConsent());
    cmp.publish({ ...ping, signalStatus: 'not ready' }, 'signalStatus');
    await settle();
    expect(answers).toEqual([]);
    cmp.publish(ping, 'cmpDisplayStatus');
    await settle();
    expect(answers).toEqual([true]);
    cmp.publish({ ...ping, signalStatus: 'not ready' });
    cmp.publish(ready([7], { usnat: { ...NATIONAL, SaleOptOut: 1 } }), 'somethingElse');
    await settle();
    expect(answers).toEqual([true, false]);
  });

  test('withdraws consent if a CMP that is ready no longer knows which sections apply', async () => {
    const cmp = installGpp(ping);
    const answers = ask(gppConsent());
    cmp.publish({ ...ping, applicableSections: [0] });
    await settle();
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
    await settle();
    expect(answers).toEqual([]);
    cmp.setSignalStatus(SignalStatus.READY);
    await settle();
    expect(answers).toEqual([true]);
    cmp.setSignalStatus(SignalStatus.NOT_READY);
    cmp.setFieldValue('usnat', 'TargetedAdvertisingOptOut', 1);
    cmp.setSignalStatus(SignalStatus.READY);
    await settle();
    expect(answers).toEqual([true, false]);
  });
});

/**
 * What a gate of the production build, which checks no types, says to options that do not say what they ask for, and to data that
 * every object inherits. The development build throws (adapter-options.test.ts).
 */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { allOf, type CmpOptions, type ConsentGate, gppConsent, tcfConsent } from '../../../src/page/consent.ts';
import {
  encodeGppString,
  encodeTcString,
  euFields,
  installGpp,
  installTcf,
  pingDataOf,
  tcDataOf,
} from '../../support/cmp.ts';
import { isolateTests } from './fixtures.ts';

isolateTests();
beforeEach(() => void vi.stubGlobal('__TESSERA_PRODUCTION__', true));

/** Every object inherits these members while `work` runs. Before any assertion, they are removed. */
const inheriting = <T>(members: object, work: () => T): T => {
  Object.assign(Object.prototype, members);
  try {
    return work();
  } finally {
    for (const name of Object.keys(members)) Reflect.deleteProperty(Object.prototype, name);
  }
};
const answerOf = (gate: ConsentGate) => gate(() => {});

/** Purpose 1 and vendor 7: enough for a gate without options, and for nothing that the options below may have meant. */
const choices = { purposes: [1], vendors: [7] };
const GATES = {
  tcfConsent: [tcfConsent, () => installTcf(tcDataOf(encodeTcString(choices)))],
  gppConsent: [gppConsent, () => installGpp(pingDataOf(encodeGppString({ tcfeuv2: euFields(choices) }), [2]))],
} as const;

describe.each(Object.keys(GATES) as (keyof typeof GATES)[])('%s', (name) => {
  const [create, install] = GATES[name];
  beforeEach(() => void install());

  test.each<[what: string, options: CmpOptions | undefined]>([
    ['none', undefined],
    ['an empty object', {}],
    ['undefined members', { name: undefined, purposes: undefined, vendorId: undefined }],
    ['the purpose and the vendor', { purposes: [1], vendorId: 7, waitMs: 5, signal: new AbortController().signal }],
  ])('grants with correct options: %s', (_, options) => expect(answerOf(create(options))).toBe(true));

  test.each<unknown>([
    { name: 'UID2' },
    { name: 'EUID' },
    { name: 'uid' },
    { name: '' },
    { name: null },
    { name: ['uid2'] },
    { nam: 'uid2' },
    { Name: 'euid' },
    { vendorID: 21 },
    { vendor: 21 },
    { purpose: [4] },
    { vendorId: null },
    { vendorId: '' },
    { vendorId: '7' },
    { vendorId: 0 },
    { vendorId: -7 },
    { vendorId: 7.5 },
    { vendorId: Number.NaN },
    { name: 'euid', vendorId: null },
    { purposes: [] },
    { purposes: new Array(1) },
    { purposes: null },
    { purposes: '1' },
    { purposes: 1 },
    { purposes: new Set([1]) },
    { waitMs: null },
    { waitMs: -1 },
    { waitMs: '' },
    { waitMs: '5000' },
    { waitMs: Number.NaN },
    'uid2',
    'euid',
    '',
    null,
    7,
    true,
    ['uid2'],
    [],
    new Map([['name', 'uid2']]),
  ])('refuses wrong options, although the user has granted purpose 1: %j', (options) => {
    expect(answerOf(create(options as CmpOptions))).toBe(false);
  });

  test.each<[members: object, options: CmpOptions, granted: boolean]>([
    [{ vendorId: '' }, { name: 'euid' }, false],
    [{ vendorId: 7 }, { name: 'euid' }, false],
    [{ purposes: [1] }, { purposes: [4] }, false],
    [{ name: 'uid2' }, {}, true],
    [{ vendorId: 21 }, {}, true],
    [{ purposes: [] }, {}, true],
    [{ other: 1 }, {}, true],
    [{ gdprApplies: false }, { name: 'uid2' }, false],
    [{ 4: true }, { purposes: [4] }, false],
    [{ 21: true }, { name: 'euid' }, false],
    [{ legitimateInterests: { 2: true } }, { purposes: [2] }, false],
  ])('neither grants nor refuses by what every object inherits: %j with %j', (members, options, granted) => {
    expect(inheriting(members, () => answerOf(create(options)))).toBe(granted);
  });
});

test.each([{ applicableSections: [-1] }, { signalStatus: 'ready', applicableSections: [-1] }, { pingData: {} }])(
  'what every object inherits is not the data of a GPP platform: %j',
  async (members) => {
    installGpp({ signalStatus: 'ready', parsedSections: {} });
    expect(inheriting(members, () => answerOf(gppConsent()))).toBe(false);
  },
);

test('a US section without its fields does not inherit them', () => {
  installGpp({ signalStatus: 'ready', applicableSections: [7], parsedSections: { usnat: {} } });
  const members = { SaleOptOut: 2, TargetedAdvertisingOptOut: 2 };
  expect(inheriting(members, () => answerOf(gppConsent()))).toBe(false);
});

describe('allOf', () => {
  afterEach(() => void vi.restoreAllMocks());

  test('refuses without a gate', () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    expect(answerOf(allOf())).toBe(false);
  });
});

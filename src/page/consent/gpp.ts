/**
 * GPP CMP API 1.1: sections 2 (EU) and 7 to 27 (US), whose fields share names and values. What this file does not understand is no consent.
 * @see https://github.com/InteractiveAdvertisingBureau/Global-Privacy-Platform
 */

import { type CmpOptions, checkCmpOptions, listenTo, ownData } from './cmp.ts';
import type { ConsentGate } from './gate.ts';
import { type EuChoices, type Flags, hasEuConsent } from './tcf.ts';

type Fields = Readonly<Record<string, unknown>>;

interface GppEvent {
  readonly pingData?: {
    readonly signalStatus?: unknown;
    readonly applicableSections?: unknown;
    /** By API prefix: a list of segments, or, in some CMPs, one object with the fields of all segments. */
    readonly parsedSections?: Fields | null;
  };
}

/** Section 2. Lists of purposes start with purpose 1; lists of vendors contain IDs. */
interface EuSection {
  readonly Created?: string | number | Date;
  readonly IsServiceSpecific?: boolean;
  readonly PurposeConsents?: readonly unknown[];
  readonly PurposeLegitimateInterests?: readonly unknown[];
  readonly VendorConsents?: readonly number[];
  readonly VendorLegitimateInterests?: readonly number[];
  readonly VendorsDisclosed?: readonly number[];
  readonly PublisherRestrictions?: readonly { key: number; type: number; ids: readonly number[] }[];
}

const EU = 2;
const CALIFORNIA = 8;
/** In `applicableSections`: no section applies. */
const NONE = -1;
/** After `us`, the API prefixes of the sections from ID 7 on. */
const US_PREFIXES = 'nat ca va co ut ct fl mt or tx de ia ne nh nj tn mn md in ky ri'.split(' ');

function fieldsOf(section: unknown): Fields {
  return Object.assign({ __proto__: null }, ...[section].flat());
}

function flagsByIndex(list: readonly unknown[] = []): Flags {
  return Object.fromEntries(list.map((value, index) => [index + 1, value]));
}

function flagsById(ids: readonly number[] = []): Flags {
  return Object.fromEntries(ids.map((id) => [id, true]));
}

function euChoicesOf(section: EuSection): EuChoices {
  const restrictions: Record<number, Record<number, number>> = Object.create(null);
  for (const { key, type, ids } of section.PublisherRestrictions ?? []) {
    for (const id of ids) (restrictions[key] ??= {})[id] = type;
  }
  return ownData({
    purpose: {
      consents: flagsByIndex(section.PurposeConsents),
      legitimateInterests: flagsByIndex(section.PurposeLegitimateInterests),
    },
    vendor: {
      consents: flagsById(section.VendorConsents),
      legitimateInterests: flagsById(section.VendorLegitimateInterests),
      disclosedVendors: flagsById(section.VendorsDisclosed),
    },
    publisher: { restrictions },
    isServiceSpecific: section.IsServiceSpecific,
  });
}

/**
 * Choices are 0 (not applicable), 1 (opted out, or no consent) or 2 (did not opt out, or consent), or a list of these. Notices are 0,
 * 1 (given) or 2 (not given): a user who was not notified of a choice has not made it. `Gpc`: Global Privacy Control.
 */
function isRefusal([name, value]: [string, unknown]): boolean {
  const isChoice = /OptOut$|Consents?$|^SensitiveDataProcessing$|^Gpc$/.test(name);
  const allowed: unknown[] = isChoice ? [0, 2, false] : [0, 1];
  return (isChoice || /Notice$/.test(name)) && ![value].flat().every((item) => allowed.includes(item));
}

/** Whether a CMP reports this section, and in it the opt-outs that every US section has. */
function hasUsSection(id: number, sections: Fields): boolean {
  const prefix = `us${US_PREFIXES[id - 7]}`;
  // Before GPP 1.1, the prefixes ended with the version.
  const fields = fieldsOf(sections[prefix] ?? sections[`${prefix}v1`]);
  return 'SaleOptOut' in fields && (id === CALIFORNIA ? 'SharingOptOut' : 'TargetedAdvertisingOptOut') in fields;
}

/** US Privacy, the format before GPP: `Y`, `N` or `-`, in fields or as a string such as `1YNN`. */
function isUspRefusal({ 1: second, 2: third, Notice = second, OptOutSale = third }: Fields): boolean {
  return !['Y', '-'].includes(Notice as string) || !['N', '-'].includes(OptOutSale as string);
}

/** Whether any US section refuses, even one that does not apply. */
function hasUsRefusal(sections: Fields): boolean {
  return Object.entries(sections).some(([prefix, section]) => {
    const fields = fieldsOf(section);
    if (prefix === 'uspv1') return !!section && isUspRefusal(fields);
    return /^us/.test(prefix) && Object.entries(fields).some(isRefusal);
  });
}

/**
 * Create a gate from the GPP API, `__gpp`. Yes: no section applies, or every section that applies is reported and none refuses. Section 2
 * has the rule of {@link tcfConsent}; a US section refuses with an opt-out, a missing consent or notice, or Global Privacy Control. No:
 * another section applies, or the CMP is ready but does not say which. Until it is ready, the previous decision stands.
 *
 * @example createSession({ baseUrl, consent: gppConsent({ name: 'uid2' }) });
 */
export function gppConsent(options: CmpOptions = {}): ConsentGate {
  if (typeof __TESSERA_PRODUCTION__ === 'undefined') checkCmpOptions('gppConsent', options);
  return listenTo<GppEvent>('__gpp', [], options, ({ pingData }, rules) => {
    // CMPs disagree on the names and the order of events. They all report readiness.
    if (pingData?.signalStatus !== 'ready') return undefined;
    const { applicableSections: ids } = pingData;
    const sections = pingData.parsedSections ?? {};
    if (!Array.isArray(ids) || !ids.length || hasUsRefusal(sections)) return false;
    if (!ids.includes(EU) && rules.name === 'euid') return false;
    return ids.every((id) => {
      if (id === NONE) return true;
      if (id !== EU) return hasUsSection(id, sections);
      const section: EuSection = fieldsOf(sections['tcfeuv2']);
      const createdAt = section.Created === undefined ? undefined : new Date(section.Created).getTime();
      return hasEuConsent(euChoicesOf(section), rules, createdAt, false);
    });
  });
}

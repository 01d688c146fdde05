/**
 * Consent strings from the official encoders, and small CMPs that answer with the output of the official decoders, so that the
 * objects have a realistic shape.
 */

import { GppModel, RangeEntry } from '@iabgpp/cmpapi';
import { GVL, PurposeRestriction, Segment, TCModel, TCString, type Vector, type VendorList } from '@iabtcf/core';

/** Vendor 21 relies on consent and on legitimate interest, vendor 7 on consent, purpose 2 on either. */
const VENDORS: Record<number, object> = {
  7: { id: 7, name: 'Consent', purposes: [1, 2, 3, 4, 7, 10], legIntPurposes: [], flexiblePurposes: [2] },
  21: { id: 21, name: 'Both', purposes: [1, 3, 4], legIntPurposes: [2, 7, 10], flexiblePurposes: [2, 7, 10] },
};

const PURPOSES = Object.fromEntries(Array.from({ length: 11 }, (_, i) => [i + 1, { id: i + 1 }]));

const vendorList = (ids: readonly number[]): GVL =>
  new GVL({
    gvlSpecificationVersion: 3,
    vendorListVersion: 100,
    tcfPolicyVersion: 5,
    lastUpdated: new Date(0).toISOString(),
    purposes: PURPOSES,
    specialPurposes: {},
    features: {},
    specialFeatures: {},
    stacks: {},
    vendors: Object.fromEntries(
      ids.map((id) => [id, { specialPurposes: [], features: [], specialFeatures: [], ...VENDORS[id] }]),
    ),
  } as unknown as VendorList);

/** A user's choices under GDPR. Lists contain IDs. */
export interface TcChoices {
  purposes?: number[];
  purposeInterests?: number[];
  vendors?: number[];
  vendorInterests?: number[];
  /** Purpose, type (0 not allowed, 1 consent, 2 legitimate interest), vendor. */
  restrictions?: [purpose: number, type: number, vendor: number][];
  /** Epoch ms. */
  createdAt?: number;
  /** Vendors that the dialog disclosed. Undefined: a string without that segment, as before TCF 2.3. */
  disclosed?: number[] | undefined;
  isServiceSpecific?: boolean;
}

/** Consent to purpose 1 and vendor 21, in a valid string of TCF 2.3. */
const DEFAULT = {
  purposes: [1],
  purposeInterests: [],
  vendors: [21],
  vendorInterests: [],
  restrictions: [],
  createdAt: Date.UTC(2030, 0, 1),
  disclosed: [7, 21],
  isServiceSpecific: true,
} satisfies TcChoices;

export const encodeTcString = (choices: TcChoices = {}): string => {
  const all = { ...DEFAULT, ...choices };
  const encode = (vendors: readonly number[], segments: Segment[]): string => {
    const model = new TCModel(vendorList(vendors));
    Object.assign(model, { cmpId: 31, cmpVersion: 1, isServiceSpecific: all.isServiceSpecific });
    model.purposeConsents.set(all.purposes);
    model.purposeLegitimateInterests.set(all.purposeInterests);
    model.vendorConsents.set(all.vendors);
    model.vendorLegitimateInterests.set(all.vendorInterests);
    for (const [purpose, type, vendor] of all.restrictions) {
      model.publisherRestrictions.add(vendor, new PurposeRestriction(purpose, type));
    }
    model.created = new Date(all.createdAt);
    model.lastUpdated = new Date(all.createdAt);
    return TCString.encode(model, { segments });
  };
  const core = encode([7, 21], [Segment.CORE]);
  // The encoder treats all vendors of its list as disclosed.
  return all.disclosed ? `${core}.${encode(all.disclosed, [Segment.VENDORS_DISCLOSED])}` : core;
};

const flags = (vector: Vector) => {
  const all: Record<number, boolean> = {};
  vector.forEach((value, id) => {
    all[id] = value;
  });
  return all;
};

/** What `__tcfapi` passes to a listener, decoded from a TC string. */
export const tcDataOf = (tcString: string, eventStatus = 'useractioncomplete') => {
  const model = TCString.decode(tcString);
  const restrictions: Record<number, Record<number, number>> = {};
  for (const restriction of model.publisherRestrictions.getRestrictions()) {
    for (const vendor of model.publisherRestrictions.getVendors(restriction)) {
      (restrictions[restriction.purposeId] ??= {})[vendor] = restriction.restrictionType;
    }
  }
  return {
    tcString,
    tcfPolicyVersion: model.policyVersion,
    cmpId: model.cmpId,
    cmpVersion: model.cmpVersion,
    gdprApplies: true,
    eventStatus,
    cmpStatus: 'loaded',
    isServiceSpecific: model.isServiceSpecific,
    useNonStandardStacks: model.useNonStandardStacks,
    publisherCC: model.publisherCountryCode,
    purposeOneTreatment: model.purposeOneTreatment,
    purpose: {
      consents: flags(model.purposeConsents),
      legitimateInterests: flags(model.purposeLegitimateInterests),
    },
    vendor: {
      consents: flags(model.vendorConsents),
      legitimateInterests: flags(model.vendorLegitimateInterests),
      disclosedVendors: flags(model.vendorsDisclosed),
    },
    specialFeatureOptins: flags(model.specialFeatureOptins),
    publisher: { consents: {}, legitimateInterests: {}, customPurpose: {}, restrictions },
  };
};

/** What `__tcfapi` passes to a listener if GDPR does not apply. */
export const NO_GDPR = { gdprApplies: false, tcfPolicyVersion: 5, cmpId: 31, cmpVersion: 1, cmpStatus: 'loaded' };

/** The same for users who consent to purpose 1 and vendor 21, who refuse, and who have not answered yet. */
export const TCF = {
  granted: tcDataOf(encodeTcString()),
  refused: tcDataOf(encodeTcString({ purposes: [], vendors: [] })),
  shown: tcDataOf(encodeTcString({ purposes: [], vendors: [] }), 'cmpuishown'),
};

/** Encode a GPP string: section name -> field -> value. Omitted fields have the encoder's default. */
export const encodeGppString = (sections: Record<string, Record<string, unknown>>): string => {
  const model = new GppModel();
  for (const [section, fields] of Object.entries(sections)) {
    for (const [field, value] of Object.entries(fields)) model.setFieldValue(section, field, value);
  }
  return model.encode();
};

/** Fields of section 2 for {@link encodeGppString}. */
export const euFields = (choices: TcChoices = {}): Record<string, unknown> => {
  const all = { ...DEFAULT, ...choices };
  const bits = (ids: readonly number[]) => Array.from({ length: 24 }, (_, i) => ids.includes(i + 1));
  return {
    PurposeConsents: bits(all.purposes),
    PurposeLegitimateInterests: bits(all.purposeInterests),
    VendorConsents: all.vendors,
    VendorLegitimateInterests: all.vendorInterests,
    VendorsDisclosed: all.disclosed ?? [],
    PublisherRestrictions: all.restrictions.map(([purpose, type, vendor]) => new RangeEntry(purpose, type, [vendor])),
    // Setting any other field sets this one to the current time.
    Created: new Date(all.createdAt),
  };
};

type Section = Record<string, unknown>;

/** A list of segments, as the API requires: the official library returns the fields of all segments in one object. */
const segmentsOf = ({ GpcSegmentType, Gpc, ...core }: Section): Section[] =>
  Gpc === undefined ? [core] : [core, { SubsectionType: GpcSegmentType, Gpc }];

/** What `__gpp` reports when it is ready, decoded from a GPP string. */
export const pingDataOf = (gppString: string, applicableSections: unknown, form: 'flat' | 'segments' = 'flat') => {
  const model = new GppModel(gppString);
  const parsed: Record<string, Section> = model.toObject();
  return {
    gppVersion: '1.1',
    cmpStatus: 'loaded',
    cmpDisplayStatus: 'hidden',
    signalStatus: 'ready',
    supportedAPIs: ['2:tcfeuv2', '7:usnat', '8:usca'],
    cmpId: 31,
    sectionList: model.getSectionIds() as number[],
    applicableSections,
    gppString,
    parsedSections:
      form === 'flat'
        ? parsed
        : Object.fromEntries(Object.entries(parsed).map(([name, fields]) => [name, segmentsOf(fields)])),
  };
};

type Listener = (data?: unknown, success?: unknown) => void;

const install = (
  api: '__tcfapi' | '__gpp',
  handle: (command: string, listener: Listener, parameter: unknown) => void,
) =>
  Object.assign(window, {
    [api]: (command: string, ...rest: unknown[]) => {
      const [listener, parameter] = api === '__gpp' ? rest : rest.slice(1);
      handle(command, listener as Listener, parameter);
    },
  });

const createListeners = () => {
  const listeners = new Map<number, Listener>();
  let last = 0;
  return {
    count: () => listeners.size,
    add: (listener: Listener) => {
      listeners.set(++last, listener);
      return last;
    },
    remove: (id: unknown) => listeners.delete(id as number),
    each: (call: (listener: Listener, listenerId: number) => void) => {
      for (const [id, listener] of listeners) call(listener, id);
    },
  };
};

/** Install `__tcfapi` on the page. With `null`, it is a stub that registers listeners, and calls them when it has data. */
export const installTcf = (first: object | null = TCF.shown) => {
  const { add, remove, each, count } = createListeners();
  let latest = first;
  install('__tcfapi', (command, listener, parameter) => {
    if (command === 'addEventListener') {
      const listenerId = add(listener);
      if (latest) listener({ ...latest, listenerId }, true);
    } else if (command === 'removeEventListener') listener(remove(parameter));
    else listener(null, false);
  });
  return {
    count,
    publish: (data: object) => {
      latest = data;
      each((listener, listenerId) => listener({ ...data, listenerId }, true));
    },
    call: (...args: unknown[]) => each((listener) => listener(...args)),
  };
};

export const installGpp = (first: object = { signalStatus: 'not ready' }) => {
  const { add, remove, each, count } = createListeners();
  let pingData = first;
  install('__gpp', (command, listener, parameter) => {
    if (command === 'addEventListener') {
      listener({ eventName: 'listenerRegistered', listenerId: add(listener), data: true, pingData }, true);
    } else if (command === 'removeEventListener') listener(remove(parameter), true);
    else listener(null, false);
  });
  return {
    count,
    publish: (next: object, eventName = 'signalStatus') => {
      pingData = next;
      each((listener, listenerId) => listener({ eventName, listenerId, data: 'ready', pingData }, true));
    },
    call: (...args: unknown[]) => each((listener) => listener(...args)),
  };
};

export const removeCmps = () => {
  for (const api of ['__tcfapi', '__gpp']) Reflect.deleteProperty(window, api);
};

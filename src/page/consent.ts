/**
 * Consent gates: what a consent management platform (CMP) or the browser says, in the form of the session's `consent` option.
 *
 * A gate answers once it knows, and tells of later changes. Until then the session neither stores nor sends anything; no
 * decision is no consent. What is read here is the CMP's word; what it means in law is the publisher's to judge.
 */

/** Fits the session's option `consent`. */
export type ConsentGate = (onChange: (granted: boolean) => void) => boolean | Promise<boolean>;

export interface CmpOptions {
  /**
   * The rule of an identity: `uid2` is refused where GDPR applies; `euid` needs that it applies, and consent to vendor 21.
   * Default: neither; where GDPR applies, consent to the purposes and, if given, the vendor.
   */
  name?: 'uid2' | 'euid' | undefined;
  /** Purposes of the TCF that need consent where GDPR applies. Default `[1]`: storage on the device. */
  purposes?: readonly number[] | undefined;
  /** Vendor of the Global Vendor List that needs consent where GDPR applies. Default for `euid` 21, else none. */
  vendorId?: number | undefined;
  /** How long to look for a CMP, ms; then the answer is no. One that is there may take its time. Default 10,000. */
  waitMs?: number | undefined;
  /** Aborted: listen no more. */
  signal?: AbortSignal | undefined;
}

/** What `__tcfapi` tells. @see IAB TCF CMP API v2 */
interface TcData {
  readonly gdprApplies?: boolean;
  readonly eventStatus?: string;
  readonly purpose?: { readonly consents?: Record<string, boolean> };
  readonly vendor?: { readonly consents?: Record<string, boolean> };
  readonly listenerId?: number;
}

/** Where `__gpp` stands. Sections are lists of segments, or, of some CMPs, one flat object. @see IAB GPP CMP API 1.1 */
interface GppPing {
  readonly signalStatus?: string;
  readonly applicableSections?: readonly number[];
  readonly parsedSections?: Record<string, unknown>;
}

/** The fields of section 2 that matter here. Purpose 1 comes first. */
interface EuSection {
  readonly PurposeConsents?: readonly boolean[];
  readonly VendorConsents?: readonly number[];
}

interface GppEvent {
  readonly pingData?: GppPing;
  readonly listenerId?: number;
}

/** Make a gate of what tells decisions, sooner or later; undefined is none. */
const createGate =
  (start: (tell: (granted: boolean | undefined) => void) => void): ConsentGate =>
  (onChange) => {
    let latest: boolean | undefined;
    const first = new Promise<boolean>((settle) =>
      start((granted) => {
        if (granted === undefined) return;
        // Two steps later: a change that follows the first answer at once must not overtake it.
        if (latest === !granted)
          Promise.resolve()
            .then()
            .then(() => onChange(latest!));
        latest = granted;
        settle(granted);
      }),
    );
    return latest ?? first;
  };

/** What `read` gives, or undefined where it throws: at a window of another origin, or at what is no message of a CMP. */
const attempt = <T>(read: () => T): T | undefined => {
  try {
    return read();
  } catch {
    return undefined;
  }
};

type Send = (command: string, parameter?: unknown) => void;

/**
 * Listen to a CMP, once there is one: its function in this window or one above it; else, across origins, the window that
 * holds its locator frame.
 *
 * @param version  the argument after the command, where there is one.
 */
const listenTo = <T extends { readonly listenerId?: number }>(
  api: string,
  version: readonly number[],
  { waitMs = 10_000, signal }: CmpOptions,
  decide: (data: T) => boolean | undefined,
): ConsentGate =>
  createGate((tell) => {
    let leftMs = waitMs;
    let listenerId: number | undefined;
    const callId = Math.random();
    const hear = (data: T, success: boolean) => {
      if (success === false) return;
      listenerId = data.listenerId;
      tell(decide(data));
    };
    const find = (frame: Window & Record<string, unknown>): Send | undefined => {
      const cmp = attempt(() => frame[api] as (...args: unknown[]) => void);
      if (cmp) return (command, parameter) => cmp(command, ...version, hear, parameter);
      if (attempt(() => (frame.frames as never)[`${api}Locator`])) {
        const read = ({ source, data }: MessageEvent) =>
          attempt(() => {
            const answer = (typeof data === 'string' ? JSON.parse(data) : data)[`${api}Return`];
            if (source === frame && answer.callId === callId) hear(answer.returnValue, answer.success);
          });
        addEventListener('message', read, { signal } as AddEventListenerOptions);
        return (command, parameter) =>
          frame.postMessage({ [`${api}Call`]: { command, version: version[0], parameter, callId } }, '*');
      }
      return frame === window.top ? undefined : find(frame.parent as never);
    };
    const look = () => {
      const send = find(window as never);
      if (send) {
        signal?.addEventListener('abort', () => send('removeEventListener', listenerId));
        send('addEventListener');
      } else if ((leftMs -= 100) < 0) tell(false);
      else if (!signal?.aborted) setTimeout(look, 100);
    };
    look();
  });

/** The rule for GDPR. */
const underGdpr = (
  { name, purposes = [1], vendorId = name === 'euid' ? 21 : 0 }: CmpOptions,
  applies: boolean,
  purpose: (id: number) => unknown,
  vendor: (id: number) => unknown,
): boolean =>
  applies ? name !== 'uid2' && purposes.every(purpose) && !(vendorId && !vendor(vendorId)) : name !== 'euid';

/** TCF v2: `__tcfapi`. Where the CMP does not know whether GDPR applies, it is taken to. */
export function tcfConsent(options: CmpOptions = {}): ConsentGate {
  return listenTo<TcData>('__tcfapi', [2], options, ({ gdprApplies, eventStatus, purpose, vendor }) =>
    // While its dialog is shown, what was said before stands.
    gdprApplies === false || /^tcloaded|complete$/.test(eventStatus!)
      ? underGdpr(
          options,
          gdprApplies !== false,
          (id) => purpose?.consents?.[id],
          (id) => vendor?.consents?.[id],
        )
      : undefined,
  );
}

/** In the JSON of all sections: a US one; and a field of theirs that says no, itself or an item of its list being 1 or true. */
const US = /"us[^p]/;
const REFUSAL = /"(Gpc|KnownChild\w+|\w+OptOut)":(1|true|\[[\d,]*1)/;

/**
 * GPP 1.1: `__gpp`, with the section for the EU (2) as in {@link tcfConsent} and the US ones (from 7 on): refused by an opt-out
 * of sale, sharing or targeted advertising, a child without consent, or Global Privacy Control. A section that is neither, or
 * that the CMP does not show, is a no. No section that applies is a yes.
 */
export function gppConsent(options: CmpOptions = {}): ConsentGate {
  return listenTo<GppEvent>('__gpp', [], options, ({ pingData }) => {
    const { signalStatus, applicableSections = [], parsedSections = {} } = pingData ?? {};
    // CMPs keep no order of events: what counts is whether it is ready. Section 0: it does not know yet which apply.
    if (signalStatus !== 'ready' || applicableSections.includes(0)) return undefined;
    const { PurposeConsents = [], VendorConsents = [] }: EuSection = Object.assign(
      {},
      ...[parsedSections['tcfeuv2']].flat(),
    );
    const sections = JSON.stringify(parsedSections);
    return (
      underGdpr(
        options,
        applicableSections.includes(2),
        (id) => PurposeConsents[id - 1],
        (id) => VendorConsents.includes(id),
      ) &&
      applicableSections.every((id) => id < 0 || id === 2 || (id > 6 && US.test(sections))) &&
      !REFUSAL.test(sections)
    );
  });
}

/** Global Privacy Control: the browser's own no to sale and sharing. Known at once, and for the life of the page. */
export function gpcConsent(): ConsentGate {
  return () => (navigator as { globalPrivacyControl?: unknown }).globalPrivacyControl !== true;
}

/** All of these gates: yes where all say yes, no as soon as one says no (or fails), until then no decision. */
export function allOf(...gates: readonly ConsentGate[]): ConsentGate {
  return createGate((tell) => {
    const answers: (boolean | undefined)[] = gates.map(() => undefined);
    gates.forEach((gate, i) => {
      const take = (granted: boolean) => {
        answers[i] = granted;
        tell(!answers.includes(false) && (answers.includes(undefined) ? undefined : true));
      };
      const answer = gate(take);
      if (typeof answer === 'boolean') take(answer);
      else answer.then(take, () => take(false));
    });
  });
}

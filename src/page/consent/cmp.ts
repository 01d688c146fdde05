/** The connection to a consent management platform (CMP): a function, or messages to the window that holds its locator frame. */

import { expectedGot } from '../../token/errors.ts';
import { checkAdapterOptions, warnOfNoCmp } from '../adapter-options.ts';
import { type ConsentGate, createGate } from './gate.ts';

/** Options of {@link tcfConsent} and {@link gppConsent}. */
export interface CmpOptions {
  /** `uid2`: no consent if GDPR applies. `euid`: GDPR must apply, and vendor 21 needs consent. Default: neither rule. */
  name?: 'uid2' | 'euid' | undefined;
  /** TCF purposes that need a legal basis if GDPR applies: consent or, for 2 and 7 to 11, legitimate interest. Default `[1]`: storage. */
  purposes?: readonly number[] | undefined;
  /** Vendor of the Global Vendor List, from 1, that needs consent if GDPR applies. Default: 21 for `euid`, else none. */
  vendorId?: number | undefined;
  /** After how long without a CMP the answer is no, ms; a later CMP counts too, and only then one of another origin. Default 10,000. */
  waitMs?: number | undefined;
  /** The gate then removes its listener and makes no further decision. */
  signal?: AbortSignal | undefined;
}

const OPTIONS = {
  name: ['uid2', 'euid'],
  purposes: 'array',
  vendorId: 'number',
  waitMs: 'number',
  signal: 'object',
} as const;

/** With every default. */
export interface CmpRules {
  readonly name: CmpOptions['name'];
  readonly purposes: readonly number[];
  /** 0: none. */
  readonly vendorId: number;
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
}

function isPlain(value: unknown): value is object {
  return {}.toString.call(value) === '[object Object]';
}

/** Copy own members, at any depth. A link may have set members of `Object.prototype`, which are neither options nor choices. */
export function ownData<T>(data: T): T;
export function ownData(data: unknown): unknown {
  if (Array.isArray(data)) return data.map(ownData);
  if (!isPlain(data)) return data;
  return {
    __proto__: null,
    ...Object.fromEntries(Object.entries(data).map(([name, value]) => [name, ownData(value)])),
  };
}

/** Undefined for options that do not say what they ask for. They must not count as left out: that would grant more. */
function rulesOf(given: CmpOptions): CmpRules | undefined {
  if (!isPlain(given)) return undefined;
  const options = { __proto__: null, ...given } as CmpOptions;
  const { name, purposes = [1], vendorId = name === 'euid' ? 21 : 0, waitMs = 10_000, signal, ...others } = options;
  const isKnown =
    !Object.keys(others).length &&
    [undefined, 'uid2', 'euid'].includes(name) &&
    Array.isArray(purposes) &&
    purposes.length > 0 &&
    Number.isInteger(vendorId) &&
    vendorId >= (options.vendorId === undefined ? 0 : 1) &&
    typeof waitMs === 'number' &&
    waitMs >= 0;
  return isKnown ? { name, purposes: [...purposes], vendorId, waitMs, signal } : undefined;
}

/** For the development build. @throws {TypeError} that names the called function and the option. */
export function checkCmpOptions(call: string, options: CmpOptions): void {
  checkAdapterOptions(call, OPTIONS, options);
  if (rulesOf(options)) return;
  if (options.purposes?.length === 0)
    throw new TypeError(expectedGot(`${call}: options.purposes`, 'a purpose', 'none'));
  throw new TypeError(expectedGot(`${call}: options.vendorId`, 'a whole number from 1', options.vendorId));
}

type Receive = (data: unknown, success?: unknown) => void;

interface Connection {
  send(command: string, parameter?: unknown): void;
  close(): void;
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function connectByMessage(frame: Window, api: string, version: readonly number[], receive: Receive): Connection {
  const callId = Math.random();
  const listener = ({ source, data }: MessageEvent) =>
    // Messages of other scripts can have any shape, so reading them can throw.
    attempt(() => {
      if (source !== frame) return;
      const { [`${api}Return`]: answer } = ownData(typeof data === 'string' ? JSON.parse(data) : data);
      if (answer.callId === callId) receive(answer.returnValue, answer.success);
    });
  addEventListener('message', listener);
  return {
    send: (command, parameter) =>
      frame.postMessage({ [`${api}Call`]: { command, version: version[0], parameter, callId } }, '*'),
    close: () => removeEventListener('message', listener),
  };
}

/** Find the CMP, starting at `frame` and going up. `admitsOthers`: it may be that of a window of another origin. */
function connect(
  frame: Window & Record<string, unknown>,
  api: string,
  version: readonly number[],
  receive: Receive,
  admitsOthers: boolean,
): Connection | undefined {
  // That of another origin refuses to tell its address. A frame in it may have any name, also that of the CMP.
  const own = attempt(() => frame.location.href && [frame[api]]);
  const call = own?.[0];
  if (typeof call === 'function')
    return { send: (command, parameter) => call(command, ...version, receive, parameter), close: () => {} };
  // In the page's own window only the function will do: a CMP that loads later would not receive the message.
  const isPossible = frame !== (window as unknown) && (own || admitsOthers);
  const isLocated = isPossible && attempt(() => (frame.frames as never)[`${api}Locator`]);
  if (isLocated) return connectByMessage(frame, api, version, receive);
  // A page may have a variable named `parent`. It may be a window without a CMP or, in the topmost window, the window itself.
  const parent = attempt(() => frame.parent as never);
  return parent && parent !== frame ? connect(parent, api, version, receive, admitsOthers) : undefined;
}

/** Says no, in every build, if an option is wrong. `version`: follows the command. `read`: undefined is no decision. If it throws: no. */
export function listenTo<T>(
  api: string,
  version: readonly number[],
  options: CmpOptions,
  read: (data: T, rules: CmpRules) => boolean | undefined,
): ConsentGate {
  const rules = rulesOf(options);
  return createGate((decide) => {
    // On a server there is no CMP, and no user who has given consent.
    if (typeof window === 'undefined' || !rules) return decide(false);
    const { waitMs, signal } = rules;
    let waitedMs = 0;
    let listenerId: unknown;
    let connection: Connection | undefined;

    const disconnect = () => {
      // A CMP names the listener in its first event. If the signal aborts before that, the event removes the listener.
      if (!connection || listenerId === undefined) return;
      const { send, close } = connection;
      connection = undefined;
      attempt(() => send('removeEventListener', listenerId));
      close();
    };
    const receive: Receive = (data, success) => {
      // CMPs call back with null if they failed, and without arguments before they have loaded.
      if (!data || success === false) return;
      listenerId ??= ({ __proto__: null, ...data } as { listenerId?: unknown }).listenerId;
      if (signal?.aborted) return disconnect();
      try {
        decide(read(ownData(data as T), rules));
      } catch {
        decide(false);
      }
    };
    const look = () => {
      if (signal?.aborted) return;
      // A page that embeds this one counts only later: any page can, and would answer before a CMP of this page has loaded.
      connection = connect(window as never, api, version, receive, waitedMs >= waitMs);
      if (connection) {
        signal?.addEventListener('abort', disconnect);
        attempt(() => connection!.send('addEventListener'));
        return;
      }
      if (waitedMs >= waitMs) {
        if (typeof __TESSERA_PRODUCTION__ === 'undefined') warnOfNoCmp(api, rules);
        decide(false);
      }
      const nextMs = waitedMs < 10_000 ? 100 : 1_000;
      waitedMs += nextMs;
      setTimeout(look, nextMs);
    };
    look();
  });
}

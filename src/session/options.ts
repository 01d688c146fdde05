/**
 * What a page may say when it creates a session, checked before anything happens.
 *
 * A wrong option is a programmer's mistake: it throws a TypeError at creation, naming option, expected and got.
 */

import { typeFault } from '../token/checks.ts';
import { expectedGot } from '../token/errors.ts';
import type { NeedReason } from './events.ts';
import type { Store } from './store.ts';

/** What `provide` is told. */
export interface ProvideRequest {
  /** Aborted when the answer is not wanted any more: it has come or is late, a set came another way, the session was closed. */
  readonly signal: AbortSignal;
  /** Why a set is needed. */
  readonly reason: NeedReason;
}

export interface SessionOptions {
  /** The operator: https; loopback http is allowed, other http only with `allowInsecure`. */
  baseUrl: string;
  /** One identity per name: database, lock and channel carry it. Default `tessera`. */
  name?: string | undefined;
  /** A set that the page was rendered with: what `setTokens` takes. It outranks a stored one that is not made from it. */
  tokens?: unknown;
  /** Ask the publisher's server for a set: what `setTokens` takes; null, undefined or a 204 response: nobody is signed in. */
  provide?: ((request: ProvideRequest) => Promise<unknown>) | undefined;
  /** Whether storage and network are allowed; `onChange(granted)` tells of later changes. Until true, neither is used. */
  consent?: ((onChange: (granted: boolean) => void) => boolean | Promise<boolean>) | undefined;
  /**
   * `off`: a native host or another owner refreshes, this page only adopts; a set that comes behind an opt-out stays held
   * back, as nobody here asks the service. Default `auto`.
   */
  refresh?: 'auto' | 'off' | undefined;
  /** Default: the global `fetch`, looked up at each call. */
  fetch?: typeof globalThis.fetch | undefined;
  /** Default: IndexedDB. */
  store?: Store | undefined;
  /** Local clock, epoch ms, taken at its word. Default: `Date.now`; where that is set back, what was measured before is put right. */
  now?: (() => number) | undefined;
  /** Deadline of a refresh, of `provide` and of `getToken`, ms. Default 10,000. */
  timeoutMs?: number | undefined;
  /** Back-off after failures of network or service, ms: the span doubles from `firstMs` (5,000) to `maxMs` (120,000). */
  retry?: { firstMs?: number | undefined; maxMs?: number | undefined } | undefined;
  /** Told what happens; fits `console`. Never told a token, key or DII. */
  logger?: { debug(message: string, ...more: unknown[]): void } | undefined;
  /** Allow http to a host that is not this machine. */
  allowInsecure?: boolean | undefined;
}

/** The options with every default in its place. */
export interface Settings extends SessionOptions {
  name: string;
  refresh: 'auto' | 'off';
  now: () => number;
  timeoutMs: number;
  firstMs: number;
  maxMs: number;
}

/** Option: its type, and its value where it is left out. */
const DEFAULTS = {
  name: 'tessera',
  refresh: 'auto',
  timeoutMs: 10_000,
  firstMs: 5_000,
  maxMs: 120_000,
};
/** Options that are functions, or have them. Whatever is false-like leaves an option out. */
const FUNCTIONS = 'provide consent fetch now store.read store.update logger.debug';

/** Scheme and host of an operator that needs no leave: https, or this machine. */
const SAFE = /^https:|^http:(localhost|127[\d.]+|\[::1])$/;

const throwIf = (fault: unknown) => {
  if (fault) throw new TypeError(fault as string);
};

/**
 * Check and complete the options. Touches nothing.
 *
 * @throws {TypeError} naming option, expected and got.
 */
export function parseOptions(options: SessionOptions): Settings {
  const given = { ...options, ...options?.retry } as Settings & Record<string, never>;
  for (const [option, standard] of Object.entries(DEFAULTS))
    throwIf(typeFault(option, typeof standard, (given[option] ??= standard as never)));
  for (const path of FUNCTIONS.split(' ')) {
    const [option, method] = path.split('.');
    const value = given[option!] as Record<string, unknown> | undefined;
    throwIf(value && typeFault(path, 'function', method ? value[method] : value));
  }
  throwIf(given.retry && typeFault('retry', 'object', given.retry));
  throwIf(!/^(auto|off)$/.test(given.refresh) && expectedGot('refresh', 'auto or off', 'another'));
  let got: string = typeof given.baseUrl;
  try {
    const { protocol, hostname, href, username, password } = new URL(given.baseUrl);
    // What stands before the host is no business of an operator's address, and is not quoted.
    got = username + password ? 'user' : protocol;
    if (SAFE.test(got + hostname) || (given.allowInsecure === true && got === 'http:')) {
      given.baseUrl = href.replace(/\/*([?#].*)?$/, '');
      return given;
    }
  } catch {}
  throw new TypeError(expectedGot('baseUrl', 'https address', got));
}

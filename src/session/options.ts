/**
 * The options of a session: types, defaults, and checks before anything happens.
 *
 * An invalid option is a programmer's mistake: a TypeError at creation names the option, what was expected and what was passed.
 */

import { addressFault, choiceFault, nameFault, ownMembers, parseBaseUrl, throwIf, typeFault } from '../token/checks.ts';
import { isDevelopment } from '../token/development.ts';
import type { TokenAnswer } from '../token/token-set.ts';
import type { Store } from './browser/store.ts';
import type { NeedReason } from './rules/attempt-plan.ts';

/** What `provide` receives. */
export interface ProvideRequest {
  /** Aborted once the answer is no longer needed: it is late, another set has arrived, or the session was closed. */
  readonly signal: AbortSignal;
  /** Why a set is needed. */
  readonly reason: NeedReason;
}

/**
 * Asks the publisher's server for a set. null or undefined: nobody is signed in.
 *
 * @example
 * const provide: ProvideOption = async ({ signal }) => {
 *   const response = await fetch('/token', { method: 'POST', signal });
 *   if (!response.ok) throw response; // the error reports the HTTP status
 *   return response.status === 204 ? null : response.json();
 * };
 */
export type ProvideOption = (request: ProvideRequest) => Promise<TokenAnswer | null | undefined>;

/** Options of `createSession`. Only `baseUrl` is required. */
export interface SessionOptions {
  /** The operator: https; http for localhost, or for every host with `allowInsecure`. */
  baseUrl: string;
  /** One identity per name: the names of the database, lock and channel contain it. Default `tessera`. */
  name?: string | undefined;
  /**
   * A set that was rendered into the page, in the forms that `setTokens` accepts. It replaces the stored set, unless this browser has
   * had it before: then the stored set is newer, from a refresh or a later login.
   */
  tokens?: TokenAnswer | null | undefined;
  /**
   * The user for whom the page was rendered: an opaque label, for example an account ID; null if nobody is signed in. A stored set with
   * another label, or without one, is ended at once, in all tabs. With null, a stored set that has a label is ended. Only a short hash
   * of the label is stored. Default: no label, and no such check.
   */
  user?: string | null | undefined;
  /**
   * Asks the publisher's server for a set, in the forms that `setTokens` accepts. null, undefined or a 204 response: nobody is
   * signed in.
   */
  provide?: ProvideOption | undefined;
  /**
   * Whether storage and network are allowed; `onChange(granted)` reports later changes. Until the answer is true, neither is used. If
   * it throws, rejects, or returns anything but a boolean, there is no consent, and the session emits `error` (`no_consent`).
   */
  consent?: ((onChange: (granted: boolean) => void) => boolean | Promise<boolean>) | undefined;
  /**
   * `off`: a native host or another owner refreshes, and this page adopts its sets. The session relies on that owner: a set passed to
   * `setTokens` lifts an opt-out. Default `auto`.
   */
  refresh?: 'auto' | 'off' | undefined;
  /** Default: the global `fetch`, looked up at each call. */
  fetch?: typeof globalThis.fetch | undefined;
  /** Default: IndexedDB. */
  store?: Store | undefined;
  /** The local clock, epoch ms, used as it is. Default: `Date.now`, corrected if it is set back. */
  now?: (() => number) | undefined;
  /** Time limit of a refresh, of `provide` and of `getToken`, ms. Default 10,000. */
  timeoutMs?: number | undefined;
  /** Back-off after failures of the network or the service: its range doubles from `firstMs` (5,000) to `maxMs` (120,000), ms. */
  retry?: { firstMs?: number | undefined; maxMs?: number | undefined } | undefined;
  /**
   * `debug('tessera', what)` receives every value of `state.next` (an object), each background failure (a TokenError), and every
   * exception thrown by a listener. You can pass `console`. What the session itself passes contains no token, key or DII. Default: none.
   */
  logger?: { debug(message: string, ...more: unknown[]): void } | undefined;
  /** Without `logger`: print with `console.log` what a logger would receive, including every change of `state.next`. */
  debug?: boolean | undefined;
  /** Allow http to any host. */
  allowInsecure?: boolean | undefined;
}

/** The options, with every default filled in. */
export interface Settings extends SessionOptions {
  name: string;
  refresh: 'auto' | 'off';
  timeoutMs: number;
  firstMs: number;
  maxMs: number;
}

/** All options, each with its required type; `any` means that it is checked elsewhere. */
const TYPES: Record<keyof SessionOptions, string> = {
  baseUrl: 'any',
  name: 'string',
  tokens: 'any',
  user: 'any',
  provide: 'function',
  consent: 'function',
  refresh: 'any',
  fetch: 'function',
  store: 'any',
  now: 'function',
  timeoutMs: 'number',
  retry: 'object',
  logger: 'any',
  debug: 'any',
  allowInsecure: 'any',
};

/** `console.debug` is hidden by default in Chromium. */
const CONSOLE = { debug: (...said: unknown[]) => console.log(...said) };

/** Check the names of all members, and the types of those that are present. */
function checkMembers(path: string, types: Readonly<Record<string, string>>, given: object): void {
  throwIf(nameFault(path, Object.keys(types), given));
  for (const [name, type] of Object.entries(types)) {
    const value = (given as Record<string, unknown>)[name];
    if (type !== 'any' && value !== undefined) throwIf(typeFault(path + name, type, value));
  }
}

/** Check an optional object of methods. */
function checkMethods(name: string, value: object | undefined, methods: readonly string[]): void {
  if (value === undefined) return;
  for (const method of methods)
    throwIf(typeFault(`${name}.${method}`, 'function', (Object(value) as Record<string, unknown>)[method]));
}

/**
 * Check the options and fill in the defaults, except `user`, which `userHashOf` checks. No side effects.
 *
 * @throws {TypeError} for an invalid option; the message names the option, what was expected and what was passed.
 */
export function parseOptions(given: SessionOptions): Settings {
  throwIf(typeFault('options', 'object', given));
  const options = ownMembers<SessionOptions>(given);
  checkMembers('', TYPES, options);
  const { name = 'tessera', refresh = 'auto', timeoutMs = 10_000, retry = {}, store, debug } = options;
  const { firstMs = 5_000, maxMs = 120_000 } = retry;
  checkMembers('retry.', { firstMs: 'number', maxMs: 'number' }, retry);
  checkMethods('store', store, ['read', 'update']);
  checkMethods('logger', options.logger, ['debug']);
  throwIf(choiceFault('refresh', ['auto', 'off'], refresh));
  const baseUrl = parseBaseUrl(options.baseUrl, options.allowInsecure, isDevelopment ? addressFault : undefined);
  const logger = options.logger ?? (debug === true ? CONSOLE : undefined);
  return Object.assign(options, { baseUrl, name, refresh, timeoutMs, firstMs, maxMs, logger });
}

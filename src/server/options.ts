/**
 * What a client is made from: the options, their defaults, and the refusal of wrong ones at creation.
 *
 * Next: `client.ts` hands the checked settings to `call.ts`.
 */

import { type Bytes, fromB64 } from '../token/bytes.ts';
import type { HashLocally } from './dii.ts';

/** The part of `fetch` that is used. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/**
 * How failed attempts of the bulk methods are tried again (429, 408, 425, 5xx, network, time-out).
 *
 * A `Retry-After` is waited for up to five minutes. A longer one is not: the error goes to the caller at once, with the
 * time as its `retryAfterMs`.
 */
export interface RetryOptions {
  /** Attempts in all, the first included; 1: never again. Default 6. */
  readonly tries?: number | undefined;
  /** Upper end of the first wait, ms; doubled for each further one. The wait is random below it. Default 500. */
  readonly firstMs?: number | undefined;
  /** Upper end that no wait exceeds, but for a longer `Retry-After`, ms. Default 30,000. */
  readonly maxMs?: number | undefined;
}

export interface ClientOptions {
  /** Where the service is: https; http only on loopback, or with `allowInsecure`. A path is kept. */
  readonly baseUrl: string;
  /** The API key of this environment. */
  readonly apiKey: string;
  /** The client secret of this environment: base64 of 32 bytes. */
  readonly clientSecret: string;
  /** Which DII is hashed before it leaves this process. Default `emails`. */
  readonly hashLocally?: HashLocally | undefined;
  /** Time for one `generate`, `validate` or `refresh`, ms, from connecting to the opened answer. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /** Time for one attempt of a bulk method (mapping, buckets, opt-out status), ms. Default 60,000. */
  readonly bulkTimeoutMs?: number | undefined;
  /** Mapping batches in flight, 1 to 20, over all runs of this client. Default 20; halved under 429, raised again. */
  readonly concurrency?: number | undefined;
  readonly retry?: RetryOptions | undefined;
  /**
   * How sealed bytes travel. Default `binary`; `text` (base64, a third longer) for a service or a proxy that
   * does not let `application/octet-stream` through.
   */
  readonly envelope?: 'binary' | 'text' | undefined;
  /** Used in place of the global `fetch`. */
  readonly fetch?: Fetch | undefined;
  /** The clock, epoch ms; the service refuses requests that are about two minutes off. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
  /** Allow plain http to another machine: for tests in a closed network. Default false. */
  readonly allowInsecure?: boolean | undefined;
}

/** Checked options, every default filled in. */
export interface Settings {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly secret: Bytes;
  readonly hashLocally: HashLocally;
  readonly timeoutMs: number;
  readonly bulkTimeoutMs: number;
  readonly concurrency: number;
  readonly retry: { readonly tries: number; readonly firstMs: number; readonly maxMs: number };
  readonly binary: boolean;
  readonly fetch: Fetch;
  readonly now: () => number;
}

/** The longest span that a timer takes, ms; a longer one would fire at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** Parallel mapping batches that the service recommends at most. */
export const MOST_PARALLEL = 20;

/** What came, in words that show nothing of it. */
export function kindOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : value === '' ? 'empty text' : typeof value;
}

/** Throw a TypeError that names the option. */
export function refuse(option: string, expected: string, got: string): never {
  throw new TypeError(`${option}: expected ${expected}, got ${got}`);
}

const oneOf = <T extends string>(option: string, choices: readonly T[], value: T): T =>
  choices.includes(value)
    ? value
    : refuse(option, choices.join(', '), typeof value === 'string' ? `'${value}'` : kindOf(value));

/** A whole number from `least` to `most`, or a TypeError that names the option. */
export function wholeNumber(option: string, value: number, least: number, most: number): number {
  return Number.isInteger(value) && value >= least && value <= most
    ? value
    : refuse(option, `a whole number from ${least} to ${most}`, typeof value === 'number' ? `${value}` : kindOf(value));
}

const aFunction = <T>(option: string, value: T): T =>
  typeof value === 'function' ? value : refuse(option, 'function', kindOf(value));

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(\.\d+){3}$/.test(host);

const checkBaseUrl = (value: unknown, allowInsecure: boolean): string => {
  if (typeof value !== 'string' || !value) return refuse('baseUrl', 'absolute URL', kindOf(value));
  let url: URL;
  try {
    url = new URL(value);
  } catch {
    return refuse('baseUrl', 'absolute URL', 'text that is none');
  }
  if (url.username || url.password || url.search || url.hash)
    refuse('baseUrl', 'URL without user, query or fragment', 'one with them');
  const secure = url.protocol === 'https:' || (url.protocol === 'http:' && (allowInsecure || isLoopback(url.hostname)));
  if (!secure) refuse('baseUrl', 'https (http on loopback, or with allowInsecure: true)', url.protocol);
  return url.href.replace(/\/+$/, '');
};

// Printable ASCII: anything else would make `fetch` throw an error that shows the header, and so the key.
const checkApiKey = (value: unknown): string =>
  typeof value !== 'string' || !value
    ? refuse('apiKey', 'text', kindOf(value))
    : /^[\x21-\x7e]+$/.test(value)
      ? value
      : refuse('apiKey', 'printable ASCII without spaces', 'other characters in it');

const checkSecret = (value: unknown): Bytes => {
  if (typeof value !== 'string' || !value) return refuse('clientSecret', 'base64 of 32 bytes', kindOf(value));
  let bytes: Bytes;
  try {
    bytes = fromB64(value);
  } catch {
    return refuse('clientSecret', 'base64 of 32 bytes', 'text that is no base64');
  }
  return bytes.length === 32 ? bytes : refuse('clientSecret', 'base64 of 32 bytes', `${bytes.length} bytes`);
};

/**
 * Check options and fill in defaults.
 *
 * @throws {TypeError} naming the option, what was expected and what came; never showing key or secret.
 */
export function settingsOf(options: ClientOptions): Settings {
  if (typeof options !== 'object' || options === null) refuse('options', 'object', kindOf(options));
  const { tries = 6, firstMs = 500, maxMs = 30_000 } = options.retry ?? {};
  return {
    baseUrl: checkBaseUrl(options.baseUrl, options.allowInsecure === true),
    apiKey: checkApiKey(options.apiKey),
    secret: checkSecret(options.clientSecret),
    hashLocally: oneOf('hashLocally', ['emails', 'all', 'none'], options.hashLocally ?? 'emails'),
    timeoutMs: wholeNumber('timeoutMs', options.timeoutMs ?? 10_000, 1, LONGEST_TIMER_MS),
    bulkTimeoutMs: wholeNumber('bulkTimeoutMs', options.bulkTimeoutMs ?? 60_000, 1, LONGEST_TIMER_MS),
    concurrency: wholeNumber('concurrency', options.concurrency ?? MOST_PARALLEL, 1, MOST_PARALLEL),
    retry: {
      tries: wholeNumber('retry.tries', tries, 1, 100),
      firstMs: wholeNumber('retry.firstMs', firstMs, 0, LONGEST_TIMER_MS),
      maxMs: wholeNumber('retry.maxMs', maxMs, 0, LONGEST_TIMER_MS),
    },
    binary: oneOf('envelope', ['binary', 'text'], options.envelope ?? 'binary') === 'binary',
    // Looked up at each call, and called without `this`: Workers refuse any other.
    fetch: options.fetch ? aFunction('fetch', options.fetch) : (url, init) => fetch(url, init),
    now: options.now ? aFunction('now', options.now) : Date.now,
  };
}

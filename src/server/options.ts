/** Options of a client and of its calls: their types, their defaults and their checks. */

import { type Bytes, fromB64 } from '../token/bytes.ts';
import { addressFault, kindOf, MAX_TIMER_MS, ownMembers, parseBaseUrl, throwIf, typeFault } from '../token/checks.ts';
import { expectedGot } from '../token/errors.ts';
import {
  checkChoice,
  checkConcurrency,
  checkFunction,
  checkInteger,
  checkOptionNames,
  MAX_CONCURRENCY,
} from './checks.ts';
import type { HashLocally } from './dii.ts';

/** The part of `fetch` that the client uses. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/**
 * How the bulk methods retry a failed request (network failure, time-out, 408, 425, 429, 5xx). A `Retry-After` of up to five
 * minutes is added to the wait. A longer one fails at once; the error contains it as `retryAfterMs`.
 */
export interface RetryOptions {
  /** Total number of attempts, 1 to 100; 1 disables retries. Default 6. */
  readonly tries?: number | undefined;
  /** Upper limit of the first wait, ms; it doubles with each attempt. The wait is random below the limit. Default 500. */
  readonly firstMs?: number | undefined;
  /** Upper limit of every wait, ms, not counting `Retry-After`. Default 30,000. */
  readonly maxMs?: number | undefined;
}

/** Options of `createClient`. */
export interface ClientOptions {
  /** Address of the service: https; http only for this machine, or with `allowInsecure`. A path is kept. */
  readonly baseUrl: string;
  /** API key of the participant, for the environment at `baseUrl`. */
  readonly apiKey: string;
  /** Client secret that belongs to the API key: base64 of 32 bytes. */
  readonly clientSecret: string;
  /** Which DII is hashed before it leaves this process. Default `emails`. */
  readonly hashLocally?: HashLocally | undefined;
  /** Time limit of one `generate`, `validate`, `refresh` or `optOut`, ms. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /** Time limit of one attempt of a bulk method (mapping, buckets, opt-out status), ms. Default 60,000. */
  readonly bulkTimeoutMs?: number | undefined;
  /** Highest number of mapping requests in flight, 1 to 20, shared by all calls; a 429 halves it for a while. Default 20. */
  readonly concurrency?: number | undefined;
  readonly retry?: RetryOptions | undefined;
  /** Encoding of bodies. Default `binary`; `text` (base64, a third longer) if something rejects `application/octet-stream`. */
  readonly envelope?: 'binary' | 'text' | undefined;
  /**
   * Replaces the global `fetch`. The client cancels an answer that is too long (64 KiB for one user) only if its `body` is a
   * `ReadableStream`. For any other body it calls `arrayBuffer()`, so the function itself must limit the length.
   */
  readonly fetch?: Fetch | undefined;
  /** The clock, epoch ms. The service rejects requests whose time is about two minutes off. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
  /** Allow plain http to another machine, for tests in a closed network. Default false. */
  readonly allowInsecure?: boolean | undefined;
}

/** Options of every method of the client. */
export interface CallOptions {
  /** Cancels the call: it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Replaces the time limit of the client, ms. */
  readonly timeoutMs?: number | undefined;
}

/** Options of `generate`. */
export interface GenerateOptions extends CallOptions {
  /**
   * The user's TCF consent string, as the CMP of the page returns it. An EUID operator generates no token without sufficient
   * consent; a UID2 operator ignores it. Default: none is sent.
   */
  readonly tcfConsent?: string | undefined;
}

/** {@link CallOptions} with the time limit filled in. */
export interface CallLimits {
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number;
  /** Highest number of bytes in a 200 answer. Default: 64 KiB. */
  readonly maxBytes?: number | undefined;
}

export type ClientSettings = Readonly<ReturnType<typeof settingsOf>>;

/** Every option, and the other members of a participant, which callers spread into the options. */
const NAMES: Record<keyof ClientOptions, true> & Record<string, true> = {
  baseUrl: true,
  apiKey: true,
  clientSecret: true,
  hashLocally: true,
  timeoutMs: true,
  bulkTimeoutMs: true,
  concurrency: true,
  retry: true,
  envelope: true,
  fetch: true,
  now: true,
  allowInsecure: true,
  siteId: true,
  roles: true,
  keepStored: true,
};

const RETRY_NAMES: Record<keyof RetryOptions, true> = { tries: true, firstMs: true, maxMs: true };

/** `fetch` rejects other characters with an error that quotes the header, and thus the key. */
function checkApiKey(value: unknown): string {
  throwIf(typeFault('apiKey', 'string', value));
  if (/^[\x21-\x7e]+$/.test(value as string)) return value as string;
  throw new TypeError(expectedGot('apiKey', 'printable ASCII without spaces', 'a string with other characters'));
}

/** @param apiKey  looks like a secret if the two are swapped. */
function checkSecret(value: unknown, apiKey: string): Bytes {
  const remedy = /^[\w+/-]{43}=$/.test(apiKey) ? '; are apiKey and clientSecret swapped?' : '';
  const refuse = (got: string) => new TypeError(expectedGot('clientSecret', 'base64 of 32 bytes', got + remedy));
  if (typeof value !== 'string' || !value) throw refuse(kindOf(value));
  let bytes: Bytes;
  try {
    bytes = fromB64(value);
  } catch {
    throw refuse('a string that is not base64');
  }
  if (bytes.length !== 32) throw refuse(`${bytes.length} bytes`);
  return bytes;
}

/** @throws {TypeError} that names the option, what was expected and what was passed, and never quotes the key or the secret. */
export function settingsOf(given: ClientOptions) {
  const options = checkOptionNames('options', NAMES, given);
  const retry = checkOptionNames<RetryOptions>('retry', RETRY_NAMES, options.retry ?? {}, 'retry.');
  const { tries = 6, firstMs = 500, maxMs = 30_000 } = retry;
  throwIf(addressFault(options.baseUrl, options.allowInsecure));
  const apiKey = checkApiKey(options.apiKey);
  return {
    /** Without a trailing slash. */
    baseUrl: parseBaseUrl(options.baseUrl, options.allowInsecure),
    apiKey,
    secret: checkSecret(options.clientSecret, apiKey),
    hashLocally: checkChoice('hashLocally', ['emails', 'all', 'none'], options.hashLocally ?? 'emails'),
    timeoutMs: checkInteger('timeoutMs', options.timeoutMs ?? 10_000, 1, MAX_TIMER_MS),
    bulkTimeoutMs: checkInteger('bulkTimeoutMs', options.bulkTimeoutMs ?? 60_000, 1, MAX_TIMER_MS),
    concurrency: checkConcurrency('concurrency', options.concurrency ?? MAX_CONCURRENCY),
    retry: {
      tries: checkInteger('retry.tries', tries, 1, 100),
      firstMs: checkInteger('retry.firstMs', firstMs, 0, MAX_TIMER_MS),
      maxMs: checkInteger('retry.maxMs', maxMs, 0, MAX_TIMER_MS),
    },
    binary: checkChoice('envelope', ['binary', 'text'], options.envelope ?? 'binary') === 'binary',
    // Read the global at each call: a test may replace it. Cloudflare Workers reject a `fetch` that is called on an object.
    fetch: options.fetch ? checkFunction('fetch', options.fetch) : (url: string, init: RequestInit) => fetch(url, init),
    now: options.now ? checkFunction('now', options.now) : Date.now,
  };
}

const CALL_OPTIONS: Record<keyof CallOptions, true> = { signal: true, timeoutMs: true };
export const GENERATE_OPTIONS: Record<keyof GenerateOptions, true> = { ...CALL_OPTIONS, tcfConsent: true };

export function callOptions(
  given: CallOptions | undefined,
  timeoutMs: number,
  names: Readonly<Record<string, true>> = CALL_OPTIONS,
): CallLimits {
  const options = checkOptionNames<CallOptions>('options', names, given ?? {}, 'options.');
  return ownMembers<CallLimits>({
    signal: options.signal,
    timeoutMs: checkInteger('timeoutMs', options.timeoutMs ?? timeoutMs, 1, MAX_TIMER_MS),
  });
}

/**
 * Google Secure Signals. Google calls a provider once and caches the result. So a provider is pushed once per page, its promise stays
 * pending until there is a token, and Google's cache is cleared when the user changes, never on a refresh. The user may also change on a
 * page without this adapter or without Google's tags: local storage remembers for which generation of the session the cache was filled,
 * or that a clearing is due.
 */

import type { Phase, Session } from '../session/index.ts';
import type { PhaseWithUser } from '../token/phase.ts';
import { checkAdapterOptions, checkSession } from './adapter-options.ts';

/** Options of `connectSecureSignals`. */
export interface SecureSignalsOptions {
  /** `uid2`: provider `uidapi.com`; `euid`: provider `euid.eu`. Default `uid2`. */
  name?: 'uid2' | 'euid' | undefined;
  /** Push the publisher's own provider, under its Ad Manager network code, instead. */
  networkCode?: string | undefined;
  /** False if Google's hosted script registers the provider; it calls the global function. Default true. */
  register?: boolean | undefined;
}

interface SharedProvider {
  readonly pageId: number;
  /** Google calls it: resolves once there is a token, and never rejects. */
  collect(): Promise<string>;
  readonly waiting: ((token: string) => void)[];
  /** Undefined while no session is connected. */
  read?: (() => string | undefined) | undefined;
  isPushed?: boolean;
  /** Google's cache may hold a former user's signal, and has not been cleared since. */
  isDue?: boolean;
  /** What local storage held when this page last wrote. */
  stored?: string | null | undefined;
  /** GPT's queue in which a clearing waits. */
  queue?: object | undefined;
}

interface Provider {
  id?: string;
  networkCode?: string;
  collectorFunction(): Promise<string>;
}

interface Google {
  cmd?: { push(call: () => void): unknown };
  secureSignalProviders?: { push(provider: Provider): unknown; clearAllCache?(): void };
}

/** The members that are used here. Before GPT loads, queue and providers are plain arrays. */
interface Page {
  googletag?: Google;
  google?: { ima?: { secureSignals?: { clearAllCache?(): void } } };
  [SHARED]?: Record<string, SharedProvider>;
}

/** For all copies of this file. A symbol, because an element's `id` or `name` cannot take its place. */
const SHARED = Symbol.for('tesseraSignals');

const page = globalThis as Page;

function createProvider(): SharedProvider {
  const provider: SharedProvider = {
    pageId: Math.random(),
    waiting: [],
    collect: async () => provider.read?.() || new Promise((resolve) => provider.waiting.push(resolve)),
  };
  return provider;
}

/** If it throws, a content blocker or an element has replaced Google's global, or the browser denies local storage: it counts as absent. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** GPT's global, with a queue: the page's own snippet, which may run later, creates the queue only together with the global. */
function googletag(): Google {
  // Like `ownGlobal` of clobbering.ts, which is not imported because each adapter is built as one file.
  const own = Object.getOwnPropertyDescriptor(page, 'googletag') && page.googletag;
  const google = own ?? (page.googletag = {});
  google.cmd ??= [] as (() => void)[];
  return google;
}

/** Clear the cache that GPT and IMA share, now and once GPT has loaded. `onCleared`: called whenever a tag on the page has done it. */
function clearCache(provider: SharedProvider, onCleared: () => void) {
  const clear = (tag: { clearAllCache?(): void } | undefined) => {
    if (!tag?.clearAllCache) return;
    tag.clearAllCache();
    onCleared();
  };
  attempt(() => clear(page.google?.ima?.secureSignals));
  attempt(() => {
    const google = googletag();
    const queue = google.cmd!;
    if (provider.queue === queue) return;
    provider.queue = queue;
    queue.push(() => {
      provider.queue = undefined;
      clear(google.secureSignalProviders);
    });
  });
}

function pushOnce(provider: SharedProvider, id: string, idName: keyof Provider) {
  if (provider.isPushed) return;
  provider.isPushed = true;
  attempt(() => {
    const google = googletag();
    const providers = (google.secureSignalProviders ??= [] as Provider[]);
    // Visible only until GPT replaces the array with an object.
    const known = ([providers] as unknown[]).flat() as Partial<Provider>[];
    const isTaken = known.some((other) => id === (other.networkCode ?? other.id));
    if (!isTaken) providers.push({ [idName]: id, collectorFunction: provider.collect });
  });
}

function hasUser(phase: Phase): boolean {
  if (phase === 'empty' || phase === 'optedOut') return false;
  phase satisfies PhaseWithUser;
  return true;
}

const DUE = 'due';

const OPTIONS = { name: ['uid2', 'euid'], networkCode: 'string', register: 'boolean' } as const;

/** By product: the ID in Google's list of providers, and the global that Google's hosted script calls. */
const NAMES = {
  uid2: { standard: 'uidapi.com', hosted: 'getUid2AdvertisingToken' },
  euid: { standard: 'euid.eu', hosted: 'getEuidAdvertisingToken' },
} as const;

/**
 * Offer the session's token to Google's ad tags (GPT, IMA), before or after they load: push a provider, and set
 * `window.getUid2AdvertisingToken` (`getEuidAdvertisingToken`), which Google's hosted script calls. A login, logout, change of user or
 * opt-out clears Google's whole cache of signals: Google offers no narrower way. Do not use Prebid's `encryptedSignalSources` for the same
 * provider. On a server it does nothing.
 *
 * @returns a function that disconnects; later calls of the provider wait for the next connection.
 * @example const disconnect = connectSecureSignals(session);
 */
export function connectSecureSignals(session: Session, options: SecureSignalsOptions = {}): () => void {
  if (typeof __TESSERA_PRODUCTION__ === 'undefined') checkAdapterOptions('connectSecureSignals', OPTIONS, options);
  if (typeof window === 'undefined') return () => {}; // on a server
  if (typeof __TESSERA_PRODUCTION__ === 'undefined') checkSession('connectSecureSignals', session);
  const { name = 'uid2', networkCode, register = true } = { __proto__: null, ...options } as SecureSignalsOptions;
  const { standard, hosted } = NAMES[name];
  const id = networkCode ?? standard;
  const shared = (page[SHARED] ??= { __proto__: null } as unknown as Record<string, SharedProvider>);
  const provider = (shared[id] ??= createProvider());

  const read = () => session.advertisingToken;
  const key = `tessera-signals ${id}`;
  /** The generation at the last check, kept under `key` while there is a token; another one may mean another user. */
  let seen: string | undefined;

  const stored = () => attempt(() => localStorage.getItem(key));
  /** `isEmpty`: the cache holds no signal of this user. */
  const save = (isEmpty: boolean) => {
    attempt(() => {
      const text = provider.isDue ? DUE : read() && seen;
      if (text) localStorage.setItem(key, text);
      else if (isEmpty && stored()) localStorage.removeItem(key);
    });
    // Storage that is full keeps what it held.
    provider.stored = stored();
  };
  const clearIfDue = () => {
    if (provider.isDue)
      clearCache(provider, () => {
        provider.isDue = false;
        save(true);
      });
  };
  const check = () => {
    const { generation, persistence, phase, waitingFor } = session.state;
    const found = stored();
    const former = seen ?? found;
    // Another page has cleared the cache, or left that to the next one.
    if (found !== provider.stored) provider.isDue = found === DUE;
    // Before consent, and while a page is loaded, left or restored, nobody knows who is signed in. A withdrawal is a logout, and
    // without consent, the page knows a generation if it has erased the record: a logout, a sign-in or an opt-out.
    const isKnown = waitingFor !== 'storage' && (waitingFor !== 'consent' || seen || generation);
    if (isKnown) {
      // A session in memory starts at 0 on every page, so its number means nothing on another page.
      seen = persistence === 'memory' ? `${generation} ${provider.pageId}` : `${generation}`;
      if (former && former !== seen) provider.isDue = true;
      save(!hasUser(phase));
    }
    // Erasing needs no consent.
    clearIfDue();
    if (!isKnown || waitingFor === 'consent') return;
    const token = read();
    if (token) for (const resolve of provider.waiting.splice(0)) resolve(token);
    // Google calls a provider at once, and may use its cache, which is cleared by now.
    if (register) pushOnce(provider, id, networkCode ? 'networkCode' : 'id');
  };
  provider.read = read;
  (page as Record<string, unknown>)[hosted] = provider.collect;
  check();
  const stop = session.subscribe(check);
  // IMA has no queue. This runs after any script of the page has loaded, before the page's own listener for that.
  attempt(() => document.addEventListener('load', clearIfDue, true));
  return () => {
    stop();
    attempt(() => document.removeEventListener('load', clearIfDue, true));
    if (provider.read === read) provider.read = undefined;
  };
}

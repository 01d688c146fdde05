/**
 * Drop-in for pages written for the ecosystem's own browser SDK, version 4: `__uid2` and `__euid` with its public
 * surface, and a session underneath.
 *
 * An identity that the former SDK left in local storage or in its cookie is taken over; from then on the session's
 * record is the truth. Where the page asks for a cookie, that is kept in step for the servers that read it.
 */

import { createSession, indexedDbStore, memoryStore, type Phase, type Session, type Store } from '../session/index.ts';
import { typeFault } from '../token/checks.ts';
import { expectedGot } from '../token/errors.ts';
import { parseAnswer, parseTokenSet, type TokenSet, toWire } from '../token/token-set.ts';
import type { Callback, EventType, Identity, InitOptions, Uid2 } from './uid2-contract.ts';
import {
  attempt,
  type CookieOptions,
  PRODUCTS,
  type Product,
  readCookies,
  readLocal,
  writeCookie,
  writeLocal,
} from './uid2-places.ts';

export type { Callback, EventType, Identity, InitOptions, LegacyPayload, Uid2 } from './uid2-contract.ts';
export type { Product } from './uid2-places.ts';

/** What a status means, from -4 on; all others are 100. */
const TEXTS = ['opted out', 'refresh expired', 'invalid', 'missing', 'established', 'refreshed'];

type Times = { identity_expires: number };

/** How long a mark stays in its place; the session's own of an opt-out never goes by itself. */
const MARK_MS = 365 * 86_400_000;

const report = (work: () => unknown) => {
  (async () => work())().catch(globalThis.reportError);
};

/** Phases without a set that is in force or can be refreshed: empty, ended, optedOut. */
const GONE = /^[eo]/;

/**
 * Put the drop-in in its place, tell `SdkLoaded`, and start by the options of an earlier page where there are any.
 *
 * @returns the global: the one that is already there where it has an `init`.
 */
export function installUid2(product: Product = 'uid2'): Uid2 {
  const global = `__${product}` as const;
  const [baseUrl, cookie] = PRODUCTS[product];
  const key = `${product.toUpperCase()}-sdk-identity`;
  const stub = window[global];
  if (stub && 'init' in stub) return stub;
  const callbacks = stub?.callbacks ?? [];
  const optionsKey = `${key}_config`;
  let options: InitOptions = {};
  /** Where a cookie of ours may be, of this page and of the one before. */
  const cookiePlaces: CookieOptions[] = [{}];
  let session: Session | undefined;
  /** The session's record, as its store saw it last, if only of a logout. */
  let record: { set?: TokenSet; clearedAt?: number } | undefined;
  /** Stored state is known and `InitCompleted` has been told. */
  let isComplete = false;
  /** Until it is known: the identity that was given or found, */
  let early: Identity | undefined;
  /** and what forbids to give it out: the mark of an opt-out or a logout. */
  let mark: Identity | undefined;
  /** What callbacks know: the token, 0: opted out, undefined: none. */
  let told: string | 0 | undefined;
  let begun!: () => void;
  const started = new Promise<void>((resolve) => (begun = resolve));

  const tell = (event: EventType, to: readonly Callback[] = callbacks) => {
    const payload = event === 'SdkLoaded' ? {} : { identity: sdk.getIdentity() };
    // Those that a callback pushes hear it by their push.
    for (const callback of [...to]) report(() => callback(event, payload));
  };
  const tellLegacy = (status: number) => {
    const { callback } = options;
    const token = told || undefined;
    const statusText = TEXTS[status + 4] ?? 'expired';
    if (callback) report(() => callback({ advertisingToken: token, advertising_token: token, status, statusText }));
  };

  /** Remove what is in either place, under every path and domain that may have been used. */
  const erase = () => {
    writeLocal(key);
    for (const where of cookiePlaces) writeCookie(cookie, 0, 0, where);
  };
  const phase = () => session?.state.phase as Phase;
  /** Keep the places in step with the session. */
  const copy = () => {
    const at = Date.now() + MARK_MS;
    const set = !GONE.test(phase()) && record?.set;
    const status = phase() === 'optedOut' ? 'optout' : record?.clearedAt && 'logout';
    erase();
    if (!set && !status) return;
    // A mark is there for the first moments of the next page, before its record has been read. What bears our name is a
    // copy, and never outranks the record.
    const value = { ...(set ? toWire(set) : { status, identity_expires: at, refresh_expires: at }), tessera: 1 };
    if (options.useCookie && status !== 'logout') writeCookie(cookie, value, set ? set.endsAt : at, options);
    else if (status) writeLocal(key, value);
  };

  const current = () => (phase() === 'optedOut' ? 0 : session?.advertisingToken);
  /** Tell what is so now. */
  const tellAll = (isInvalid?: unknown) => {
    const isUpdate = isComplete;
    const before = told;
    isComplete = true;
    told = current();
    copy();
    if (!isUpdate) tell('InitCompleted');
    if (told === 0 && before !== 0) tell('OptoutReceived');
    if (isUpdate) tell('IdentityUpdated');
    tellLegacy(
      isInvalid ? -2 : told === 0 ? -4 : told ? +!!before : phase() === 'stale' ? 100 : phase() === 'ended' ? -3 : -1,
    );
  };
  /** Tell what is new: a token, another, none. */
  const look = () => {
    // A page that comes back from the back/forward cache has yet to read what happened meanwhile.
    if (isComplete && session!.state.waitingFor !== 'storage' && told !== current()) tellAll();
  };

  /** The session's store, watched: the session itself shows no more than the advertising token. */
  const watched = (): Store => {
    // No IndexedDB at all (some webviews) is no failure.
    const store = 'indexedDB' in globalThis ? indexedDbStore(`tessera-${product}`) : memoryStore();
    const see = (stored: unknown) => (record = stored as typeof record);
    return {
      ...store,
      read: async () => see(await store.read()),
      update: async (change) => see(await store.update(change)),
    };
  };

  /** What the former SDK, a server or this file has left: a mark, and a set. */
  const sift = () => {
    const all = readCookies(cookie).concat(readLocal(key) ?? []);
    const rank = ({ tessera, identity_expires: at }: Identity) => (at as number) * (tessera ? 1 : 2);
    // No copy where there is another; of two, the one that lasts longer.
    const [set] = all.filter((value) => attempt(() => parseTokenSet(value))).sort((a, b) => rank(b) - rank(a));
    return [all.find(({ status }) => /out$/.test(status as string)), set] as const;
  };

  /** Start a session, or another one by other options, from `given` or from what is found. */
  const begin = (given: unknown, isAgain?: boolean) => {
    const [left, set] = isAgain ? [] : sift();
    const isInvalid = given && !attempt(() => parseAnswer(given));
    const identity = isInvalid ? undefined : ((given || set) as Identity | undefined);
    const isCopy = identity?.['tessera'];
    mark = left;
    // Behind a mark, the record has to accept it first.
    early = isAgain || (isCopy && mark) ? undefined : identity;
    const mine = createSession({
      baseUrl: options.baseUrl ?? baseUrl,
      name: `tessera-${product}`,
      store: watched(),
      tokens: isCopy || mark ? undefined : identity,
      retry: { firstMs: options.refreshRetryPeriod },
    });
    session?.close();
    session = mine;
    mine.ready.then(async () => {
      if (session !== mine) return;
      // The record knows better than a copy of it; where it is gone, the copy is all that is left. After a logout there is
      // no identity any more.
      if (mark?.['tessera'] && record) {
        if (early) return begin(early, true);
      } else if (mark || (isCopy && !record)) {
        // At once, so that no logout gets in between. What is not there is refused, and changes nothing.
        mine.setTokens(mark);
        await mine.setTokens(early).catch(() => {});
        if (session !== mine) return;
      }
      early = mark = undefined;
      begun();
      tellAll(isInvalid);
    });
    mine.on('token', look);
    mine.on('expired', ({ token }) => token === 'refresh' && tellLegacy(-3));
    // Expired, opted out, logged out, here or in another tab.
    mine.subscribe(() => mine.advertisingToken ?? look());
  };

  /** An earlier page has said how to start. */
  const config = () => readLocal(optionsKey) ?? readCookies(`${cookie}_config`)[0];
  let bootstrap = () => {
    const before = config();
    if (!session && before) report(() => sdk.init(before));
  };

  const unless = (value: boolean) => (isComplete ? value : undefined);
  const refuse = () => Promise.reject(new TypeError('generate on your server, then call setIdentity'));

  const sdk: Uid2 = {
    callbacks,
    init: (given) => {
      const { callback, refreshRetryPeriod: period = 1000 } = Object(given) as InitOptions;
      const fault =
        typeFault('init', 'object', given) ||
        (callback && typeFault('callback', 'function', callback)) ||
        typeFault('refreshRetryPeriod', 'number', period);
      if (fault) throw new TypeError(fault);
      if (period < 1000) throw new RangeError(expectedGot('refreshRetryPeriod', '1000 or more', period));
      const { identity, ...more } = given;
      const before = options;
      options = { ...options, ...more };
      cookiePlaces.push(config() ?? {}, options);
      // Against nothing, no number is less.
      const isNewer = identity && !((identity as Times).identity_expires < (session?.state.expiresAt as number));
      const isOther =
        before.baseUrl !== options.baseUrl || before.refreshRetryPeriod !== options.refreshRetryPeriod || !session;
      if (isNewer || isOther) begin(identity);
      else if (isComplete) copy();
      // JSON leaves out the callback.
      writeLocal(optionsKey, options);
    },
    getAdvertisingToken: () => sdk.getIdentity()?.['advertising_token'] as string | undefined,
    getAdvertisingTokenAsync: () => started.then(() => session!.getToken()),
    setIdentity: (identity) => {
      if (!session) throw new Error('call init first');
      // After a mark that has yet to be told.
      early = mark && (identity as Identity);
      if (!mark) session.setTokens(identity).then(look, () => tellLegacy(-2));
    },
    getIdentity: () => {
      const token = session?.advertisingToken;
      const set = record?.set;
      const [left, identity] = session ? [mark, early] : sift();
      if (left) return null;
      // Where the record is in memory alone, this file has not seen it.
      if (token) return set?.advertisingToken === token ? toWire(set) : { advertising_token: token };
      return identity && (identity as Times).identity_expires > Date.now() ? identity : null;
    },
    isLoginRequired: () => unless(!sdk.isIdentityAvailable()),
    isIdentityAvailable: () => unless(!!early || !GONE.test(phase())),
    hasOptedOut: () => unless(current() === 0),
    isInitComplete: () => isComplete,
    disconnect: () => {
      bootstrap();
      if (!session) begin(undefined);
      early = undefined;
      erase();
      void session!.clear().then(copy, copy);
    },
    abort: () => {
      session?.close();
      session = undefined;
      isComplete = false;
      bootstrap = begun;
      begun();
    },
    setIdentityFromEmail: refuse,
    setIdentityFromEmailHash: refuse,
    setIdentityFromPhone: refuse,
    setIdentityFromPhoneHash: refuse,
  };

  callbacks.push = (...more) => {
    tell('SdkLoaded', more);
    if (isComplete) tell('InitCompleted', more);
    return ([] as Callback[]).push.apply(callbacks, more);
  };
  window[global] = sdk;
  tell('SdkLoaded');
  queueMicrotask(() => bootstrap());
  return sdk;
}

/**
 * Drop-in for pages written for the ecosystem's own browser SDK, version 4: `__uid2` and `__euid` with its public
 * surface, and a session underneath.
 *
 * An identity that the former SDK left in local storage or in its cookie is taken over; from then on the session's
 * record is the truth. Where the page asks for a cookie, that is kept in step for the servers that read it.
 */

import { createSession, indexedDbStore, type Session, type Store } from '../session/index.ts';
import { misfit, mismatch } from '../token/errors.ts';
import { parseAnswer, type TokenSet, toWire } from '../token/token-set.ts';
import type { Callback, EventType, Identity, InitOptions, Uid2 } from './uid2-contract.ts';
import { PRODUCTS, type Product, readCookie, readLocal, writeCookie, writeLocal } from './uid2-places.ts';

export type { Callback, EventType, Identity, InitOptions, LegacyPayload, Uid2 } from './uid2-contract.ts';
export type { Product } from './uid2-places.ts';

/** What a status means, from -4 on; all others are 100. */
const TEXTS = ['opted out', 'refresh expired', 'not valid', 'not available', 'established', 'refreshed'];

/** Marks what this file has put into a place: it is a copy, and never outranks the session's record. */
const COPY = { tessera: 1 };
/** How long the mark of an opt-out stays in its place; the session's own never goes by itself. */
const OPT_OUT_MS = 365 * 86_400_000;

const report = (work: () => unknown) => {
  (async () => work())().catch(globalThis.reportError);
};

/** Phases of a set that is in force or can be refreshed. */
const LIVE = /^(fresh|due|stale)$/;

const isIdentity = (value: unknown) => {
  try {
    return !!parseAnswer(value);
  } catch {
    return false;
  }
};

/**
 * Create the object behind a global. {@link installUid2} puts it there.
 *
 * @param callbacks  what the page has pushed before; the very array is kept.
 */
export const createUid2 = (product: Product, callbacks: Callback[] = []): Uid2 => {
  const { baseUrl, key, cookie } = PRODUCTS[product];
  const optionsKey = `${key}_config`;
  let options: InitOptions = {};
  let session: Session | undefined;
  /** The set in the session's record, as its store saw it last. */
  let stored: TokenSet | undefined;
  /** There is a record, if only of a logout. */
  let isKnown: unknown;
  /** Stored state is known and `InitCompleted` has been told. */
  let isComplete = false;
  let isAborted = false;
  /** What stands for the token until then. */
  let early: Identity | undefined;
  let toldToken: string | undefined;
  let toldOptOut = false;
  /** What to do once the record is known; undefined after a logout. */
  let seed: (() => unknown) | undefined;
  let begun = () => {};
  const started = new Promise<void>((resolve) => (begun = resolve));

  const tell = (event: EventType, to: readonly Callback[] = callbacks) => {
    const payload = event === 'SdkLoaded' ? {} : { identity: sdk.getIdentity() };
    for (const callback of to) report(() => callback(event, payload));
  };
  const tellLegacy = (status: number) => {
    const { callback } = options;
    const token = sdk.getAdvertisingToken();
    const statusText = `identity ${TEXTS[status + 4] ?? 'expired'}`;
    if (callback) report(() => callback({ advertisingToken: token, advertising_token: token, status, statusText }));
  };

  /** Remove what is in either place, under every path and domain that may have been used. */
  const erase = () => {
    writeLocal(key);
    for (const where of [options, {}]) writeCookie(cookie, 0, 0, where);
  };
  /** Keep the places in step with the session. */
  const copy = () => {
    const expiry = Date.now() + OPT_OUT_MS;
    const { phase } = session!.state;
    // The mark of an opt-out is there for the first moments of the next page, before its record has been read.
    const value: Identity | undefined =
      phase === 'optedOut'
        ? { status: 'optout', identity_expires: expiry, refresh_expires: expiry, ...COPY }
        : stored && LIVE.test(phase)
          ? { ...toWire(stored), ...COPY }
          : undefined;
    erase();
    if (options.useCookie && value) writeCookie(cookie, value, value['refresh_expires'] as number, options);
    else if (value?.['status']) writeLocal(key, value);
  };

  /** Tell what is new: a token, another, none. */
  const look = () => {
    if (!session || !isComplete || isAborted) return;
    const token = session.advertisingToken;
    const { phase, waitingFor } = session.state;
    const optedOut = phase === 'optedOut';
    // A page that comes back from the back/forward cache has yet to read what happened meanwhile.
    if (waitingFor === 'storage' || (token === toldToken && optedOut === toldOptOut)) return;
    const before = toldToken;
    copy();
    if (optedOut && !toldOptOut) tell('OptoutReceived');
    toldToken = token;
    toldOptOut = optedOut;
    tell('IdentityUpdated');
    tellLegacy(optedOut ? -4 : token ? +!!before : phase === 'stale' ? 100 : -1);
  };

  /** IndexedDB, watched: the session itself shows no more than the advertising token. */
  const watched = (): Store => {
    const store = indexedDbStore(`tessera-${product}`);
    const see = (record: unknown) => {
      isKnown = record;
      stored = (record as { set?: TokenSet } | undefined)?.set;
      return record;
    };
    return {
      kind: store.kind as string,
      read: async () => see(await store.read()),
      update: async (change) => see(await store.update(change)),
      close: () => store.close?.(),
    };
  };

  /** What the former SDK, or a server, has left: the one that lasts longer. */
  const found = (): Identity | undefined =>
    [readCookie(cookie), readLocal(key)]
      .filter(isIdentity)
      .sort((a, b) => (b!['identity_expires'] as number) - (a!['identity_expires'] as number))[0];

  /** Start a session, or another one by other options, from `given` or from what is found. */
  const begin = (given: unknown, isAgain = false) => {
    const left = isAgain ? undefined : found();
    const isOptOut = left?.['status'] === 'optout';
    const isCopy = !!left && 'tessera' in left;
    const isValid = !given || isIdentity(given);
    const mine = createSession({
      baseUrl: options.baseUrl ?? baseUrl,
      name: `tessera-${product}`,
      // No IndexedDB at all (some webviews) is no failure: the session knows what to do.
      store: 'indexedDB' in globalThis ? watched() : undefined,
      tokens: isOptOut || !isValid ? undefined : (given ?? (isCopy ? undefined : left)),
      retry: { firstMs: options.refreshRetryPeriod },
    });
    session?.close();
    session = mine;
    early = isOptOut || !isValid ? undefined : ((given ?? left) as Identity | undefined);
    // The record knows better than a copy of it; where it is gone, the copy is all that is left.
    seed = async () => {
      if (isOptOut && isCopy && isKnown) return given ? begin(given, true) : undefined;
      if (isOptOut || (isCopy && !isKnown && !given)) await mine.setTokens(left);
      if (isOptOut && given && isValid) await mine.setTokens(given);
    };
    mine.ready
      .then(() => seed?.())
      .catch(() => {})
      .then(() => {
        if (session !== mine) return;
        const { phase } = mine.state;
        const wasComplete = isComplete;
        early = undefined;
        isComplete = true;
        copy();
        toldToken = mine.advertisingToken;
        toldOptOut = phase === 'optedOut';
        begun();
        tell(wasComplete ? 'IdentityUpdated' : 'InitCompleted');
        if (toldOptOut && !wasComplete) tell('OptoutReceived');
        tellLegacy(
          !isValid ? -2 : toldOptOut ? -4 : toldToken ? 0 : phase === 'stale' ? 100 : phase === 'ended' ? -3 : -1,
        );
      });
    for (const event of ['token', 'optout'] as const) mine.on(event, look);
    mine.on('expired', ({ token }) => {
      look();
      if (token === 'refresh') tellLegacy(-3);
    });
    // Logged out, here or in another tab: there is no event for that.
    mine.subscribe(() => mine.advertisingToken ?? look());
  };

  const unless = (value: boolean) => (isComplete ? value : undefined);
  const refuse = () =>
    Promise.reject(
      new TypeError('client-side generation is not supported: generate on your server, then call setIdentity'),
    );

  const sdk: Uid2 = {
    callbacks,
    init: (given) => {
      const { callback, refreshRetryPeriod: period = 1000 } = Object(given) as InitOptions;
      const fault =
        misfit('init', 'object', given) ||
        (callback && misfit('callback', 'function', callback)) ||
        misfit('refreshRetryPeriod', 'number', period);
      if (fault) throw new TypeError(fault);
      if (period < 1000) throw new RangeError(mismatch('refreshRetryPeriod', '1000 or more', period));
      const { identity, ...more } = given;
      const before = options;
      options = { ...options, ...more };
      const { expiresAt = 0 } = session?.state ?? {};
      const isNewer = identity && !(Number((identity as Identity)['identity_expires']) < expiresAt);
      const isOther =
        before.baseUrl !== options.baseUrl || before.refreshRetryPeriod !== options.refreshRetryPeriod || !session;
      if (isNewer || isOther) begin(identity);
      else if (isComplete) copy();
      const { callback: _, ...kept } = options;
      writeLocal(optionsKey, kept);
    },
    getAdvertisingToken: () =>
      session?.advertisingToken ?? (sdk.getIdentity()?.['advertising_token'] as string | undefined),
    getAdvertisingTokenAsync: () => started.then(() => session!.getToken()),
    setIdentity: (identity) => {
      if (!session) throw new Error('setIdentity: call init first');
      early = undefined;
      session.setTokens(identity).then(look, () => tellLegacy(-2));
    },
    getIdentity: () => {
      const token = session?.advertisingToken;
      // Where the record is in memory alone, this file has not seen it.
      if (token) return stored?.advertisingToken === token ? toWire(stored) : { advertising_token: token };
      const identity = session ? early : found();
      return identity && !isComplete && Number(identity['identity_expires']) > Date.now() && !identity['status']
        ? identity
        : null;
    },
    isLoginRequired: () => unless(!sdk.isIdentityAvailable()),
    isIdentityAvailable: () => unless(LIVE.test(session!.state.phase)),
    hasOptedOut: () => unless(session?.state.phase === 'optedOut'),
    isInitComplete: () => isComplete,
    disconnect: () => {
      early = seed = stored = undefined;
      erase();
      if (!session) begin(undefined);
      void session!.clear();
    },
    abort: () => {
      isAborted = true;
      session?.close();
    },
    setIdentityFromEmail: refuse,
    setIdentityFromEmailHash: refuse,
    setIdentityFromPhone: refuse,
    setIdentityFromPhoneHash: refuse,
  };

  callbacks.push = (...more) => {
    tell('SdkLoaded', more);
    if (isComplete) tell('InitCompleted', more);
    return Array.prototype.push.apply(callbacks, more);
  };
  // An earlier page has said how to start.
  queueMicrotask(() => {
    const config = readLocal(optionsKey) ?? readCookie(`${cookie}_config`);
    if (!session && config) report(() => sdk.init(config));
  });
  return sdk;
};

/**
 * Put the drop-in in its place, tell `SdkLoaded`, and start by the options of an earlier page where there are any.
 *
 * @returns the global: the one that is already there where it has an `init`.
 */
export const installUid2 = (product: Product = 'uid2'): Uid2 => {
  const { global } = PRODUCTS[product];
  const before = window[global];
  if (before && 'init' in before) return before;
  const callbacks = before?.callbacks ?? [];
  const sdk = createUid2(product, callbacks);
  window[global] = sdk;
  for (const callback of callbacks) report(() => callback('SdkLoaded', {}));
  return sdk;
};

/** The global `__uid2` or `__euid`: its methods, and how it replaces an existing global. */

import { choiceFault, ownMembers, throwIf, typeFault } from '../../token/checks.ts';
import { isDevelopment } from '../../token/development.ts';
import { expectedGot, ignoreFailure } from '../../token/errors.ts';
import type { WireTokenSet } from '../../token/token-set.ts';
import { ownGlobal } from '../clobbering.ts';
import { createCallbacks } from './callbacks.ts';
import { abort, allowRefresh, disconnect, follow, setIdentity, start, update } from './drop-in.ts';
import { createPlaces } from './places.ts';
import { type DropIn, identityOf, isRefreshing, knownNow, type Started } from './state.ts';
import { type Known, needsLogin } from './status.ts';
import type { Callback, InitOptions, LegacyCallback, Product, Uid2 } from './types.ts';
import { warnOfUnsupported, watchForInit } from './warnings.ts';

const SHORTEST_RETRY_MS = 1_000;

/** Returns the page's own options: not those that a link has put on `Object.prototype`. */
function checkOptions(given: InitOptions): InitOptions {
  const own = ownMembers<InitOptions>(given);
  const { callback, refreshRetryPeriod: period = SHORTEST_RETRY_MS } = own;
  const fault =
    typeFault('init', 'object', given) ||
    (callback && typeFault('callback', 'function', callback)) ||
    typeFault('refreshRetryPeriod', 'positive', period);
  if (fault) throw new TypeError(fault);
  if (period < SHORTEST_RETRY_MS)
    throw new RangeError(expectedGot('refreshRetryPeriod', `${SHORTEST_RETRY_MS} or more`, period));
  return own;
}

/** Nothing changes if an option is invalid. `base`: the options of this page so far; undefined if an earlier page has left the given ones. */
function configure(dropIn: DropIn, given: InitOptions, base?: InitOptions): LegacyCallback | undefined {
  const { identity, callback, ...more } = checkOptions(given);
  const { state, options: before } = dropIn;
  const options = ownMembers<InitOptions>({ ...base, ...more });
  const needsStart =
    !state ||
    (['baseUrl', 'refreshRetryPeriod', 'useCookie'] as const).some((name) => before[name] !== options[name]) ||
    // A malformed identity too: the legacy callbacks must receive its status.
    (identity && !((identity as WireTokenSet).identity_expires < state.session.state.expiresAt!));
  if (needsStart) start(dropIn, options, identity);
  // Not before: an `init` that throws permits nothing.
  if (base) {
    dropIn.hasInit = true;
    allowRefresh((dropIn.state as Started).core);
  }
  dropIn.options = options;
  dropIn.places.writeOptions(options);
  return callback;
}

function refusal(product: Product, method: string): () => Promise<never> {
  return () => {
    if (isDevelopment) warnOfUnsupported(product, method);
    return Promise.reject(new TypeError('generate on your server, then call setIdentity'));
  };
}

/** What the page may know, after a look at the places: a server may have set the cookie. */
function lookAt(dropIn: DropIn): Known {
  follow(dropIn);
  return knownNow(dropIn);
}

function createMethods(dropIn: DropIn): Uid2 {
  /** The options of this page. Options of an earlier page end with the first `init`. */
  let options: InitOptions = {};
  const hasOptedOut = () => (dropIn.state ? lookAt(dropIn).condition === 'optedOut' : undefined);
  return {
    get callbacks() {
      return dropIn.callbacks.list;
    },
    set callbacks(list) {
      if (Array.isArray(list)) dropIn.callbacks.list = list;
    },
    init: (given) => {
      const { reported, callbacks } = dropIn;
      const callback = configure(dropIn, given, options);
      // Before the callbacks, one of which may call `init` with more options.
      options = dropIn.options;
      update(dropIn);
      // As in the UID2 SDK, each call emits `InitCompleted`; the first call does so once the record is known.
      if (reported && dropIn.reported) callbacks.emit('InitCompleted', identityOf(dropIn));
      if (callback) callbacks.addLegacy(callback);
    },
    getAdvertisingToken: () => lookAt(dropIn).token,
    getAdvertisingTokenAsync: async () => {
      for (;;) {
        const token = dropIn.state && lookAt(dropIn).token;
        if (token) return token;
        await dropIn.firstRead;
        const { state } = dropIn;
        if (!state) throw new Error('aborted');
        try {
          return await state.session.getToken();
        } catch (error) {
          // If a later `init` has replaced the session, its token counts.
          if (dropIn.state === state) throw error;
        }
      }
    },
    setIdentity: (identity) => setIdentity(dropIn, identity),
    getIdentity: () => {
      follow(dropIn);
      return identityOf(dropIn);
    },
    isLoginRequired: () => needsLogin(lookAt(dropIn)),
    // As in the UID2 SDK, undefined before `init`, unless a valid identity or an opt-out is stored.
    isIdentityAvailable: () => {
      const known = lookAt(dropIn);
      return (known.condition === 'expired' ? isRefreshing(dropIn.state) : !needsLogin(known)) || hasOptedOut();
    },
    hasOptedOut,
    isInitComplete: () => !!dropIn.reported,
    get session() {
      return dropIn.state?.session;
    },
    disconnect: () => disconnect(dropIn),
    abort: () => abort(dropIn),
    setIdentityFromEmail: refusal(dropIn.product, 'setIdentityFromEmail'),
    setIdentityFromEmailHash: refusal(dropIn.product, 'setIdentityFromEmailHash'),
    setIdentityFromPhone: refusal(dropIn.product, 'setIdentityFromPhone'),
    setIdentityFromPhoneHash: refusal(dropIn.product, 'setIdentityFromPhoneHash'),
  };
}

function createDropIn(product: Product, list: Callback[]): DropIn {
  let endFirstRead!: () => void;
  const firstRead = new Promise<void>((resolve) => {
    endFirstRead = resolve;
  });
  const places = createPlaces(product);
  const dropIn: DropIn = {
    product,
    places,
    callbacks: createCallbacks(list, () => dropIn.reported && identityOf(dropIn)),
    options: ownMembers(places.earlier),
    state: undefined,
    hasInit: false,
    candidates: [],
    reported: undefined,
    considered: new Set(),
    firstRead,
    endFirstRead,
  };
  return dropIn;
}

export function installOnPage(product: Product): Uid2 {
  const name = `__${product}` as const;
  const stub = ownGlobal(name) as Partial<Uid2> | undefined;
  if (typeof stub?.init === 'function') return stub as Uid2;
  const list = Array.isArray(stub?.callbacks) ? stub.callbacks : [];
  const dropIn = createDropIn(product, list);
  const sdk = createMethods(dropIn);
  window[name] = sdk;
  dropIn.callbacks.emit('SdkLoaded', identityOf(dropIn));
  // The response to a sign-in, or a page on another host, may have changed the cookie meanwhile.
  for (const event of ['focus', 'pageshow']) addEventListener(event, () => void follow(dropIn));
  if (isDevelopment) watchForInit(dropIn);
  const { earlier } = dropIn.places;
  // Start as an earlier page did, but without refreshes, unless this page has called `init`. Ignore damaged options.
  queueMicrotask(() => {
    if (earlier && dropIn.state === undefined) ignoreFailure(() => configure(dropIn, earlier));
  });
  return sdk;
}

function doNothing(): void {}

/** Those of a drop-in that never starts: nobody is signed in. */
function createMethodsOnServer(product: Product): Uid2 {
  return {
    ...createMethods(createDropIn(product, [])),
    callbacks: [],
    init: doNothing,
    setIdentity: doNothing,
    disconnect: doNothing,
  };
}

/**
 * Install the drop-in for pages that are written for the UID2 JavaScript SDK: set the global, emit `SdkLoaded`, and start with the
 * options that an earlier page has left. On a server neither this function nor the methods do anything: nobody is signed in.
 *
 * @param product  default `uid2`: the global `__uid2`.
 * @throws {TypeError} in the development build, for another product.
 * @returns the global, or the existing one if it has an `init`.
 * @example installUid2().init({ baseUrl: 'https://operator.example' });
 */
export function installUid2(product: Product = 'uid2'): Uid2 {
  if (isDevelopment) throwIf(choiceFault('installUid2: product', ['uid2', 'euid'], product));
  return typeof window === 'undefined' ? createMethodsOnServer(product) : installOnPage(product);
}

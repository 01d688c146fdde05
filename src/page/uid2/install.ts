/** The global `__uid2` or `__euid`: its methods, and how it takes its place on the page. */

import { typeFault } from '../../token/checks.ts';
import { expectedGot } from '../../token/errors.ts';
import { ownGlobal } from '../clobbering.ts';
import { createCallbacks } from './callbacks.ts';
import { abort, disconnect, keep, look, setIdentity, start } from './drop-in.ts';
import { createPlaces } from './places.ts';
import { type DropIn, identityOf, knownNow } from './state.ts';
import { isAvailable, needsLogin } from './status.ts';
import type { Callback, Identity, InitOptions, Product, Uid2 } from './types.ts';

/** Shortest delay that `refreshRetryPeriod` accepts, ms. */
const SHORTEST_RETRY_MS = 1_000;

const checkOptions = (given: unknown): void => {
  const { callback, refreshRetryPeriod: period = SHORTEST_RETRY_MS } = Object(given) as InitOptions;
  const fault =
    typeFault('init', 'object', given) ||
    (callback && typeFault('callback', 'function', callback)) ||
    typeFault('refreshRetryPeriod', 'number', period);
  if (fault) throw new TypeError(fault);
  if (period < SHORTEST_RETRY_MS)
    throw new RangeError(expectedGot('refreshRetryPeriod', `${SHORTEST_RETRY_MS} or more`, period));
};

/** Start, or continue, with these options added to `base`. */
const init = (dropIn: DropIn, given: InitOptions, base: InitOptions): void => {
  checkOptions(given);
  const { identity, callback, ...more } = given;
  const before = dropIn.options;
  const { state } = dropIn;
  const session = 'session' in state ? state.session : undefined;
  const options = { ...base, ...more };
  dropIn.options = options;
  // No number is less than NaN.
  const isNewer = identity && !(Number((identity as Identity)['identity_expires']) < Number(session?.state.expiresAt));
  const isOther =
    !session ||
    (['baseUrl', 'refreshRetryPeriod', 'useCookie'] as const).some((name) => before[name] !== options[name]);
  dropIn.places.moveTo(options);
  try {
    if (isNewer || isOther) start(dropIn, identity);
    else if (!look(dropIn)) keep(dropIn);
  } catch (fault) {
    dropIn.options = before;
    throw fault;
  }
  if (callback) dropIn.callbacks.addLegacy(callback);
  dropIn.places.writeOptions(options);
};

const refuse = (): Promise<never> =>
  Promise.reject(
    new TypeError('identities are not generated in the page: generate on your server, then call setIdentity'),
  );

/** Make the methods of the global. */
const createMethods = (dropIn: DropIn, bootstrap: () => void): Uid2 => {
  const whenStarted = (read: () => boolean) => (dropIn.told || dropIn.state.name === 'reading' ? read() : undefined);
  /** Options of an earlier page end with the first `init` of this one. */
  let isBootstrapped = true;
  const sdk: Uid2 = {
    callbacks: dropIn.callbacks.list,
    init: (given) => {
      init(dropIn, given, isBootstrapped ? {} : dropIn.options);
      isBootstrapped = false;
    },
    getAdvertisingToken: () => sdk.getIdentity()?.['advertising_token'] as string | undefined,
    getAdvertisingTokenAsync: async () => {
      await dropIn.started;
      if (!('session' in dropIn.state))
        throw new Error('getAdvertisingTokenAsync: expected a started SDK, got an aborted one');
      return dropIn.state.session.getToken();
    },
    setIdentity: (identity) => setIdentity(dropIn, identity),
    getIdentity: () => {
      look(dropIn);
      return identityOf(dropIn);
    },
    isLoginRequired: () => whenStarted(() => needsLogin(knownNow(dropIn))),
    isIdentityAvailable: () => whenStarted(() => isAvailable(knownNow(dropIn))),
    hasOptedOut: () => whenStarted(() => knownNow(dropIn).condition === 'optedOut'),
    isInitComplete: () => dropIn.told !== undefined,
    disconnect: () => {
      bootstrap();
      disconnect(dropIn);
    },
    abort: () => abort(dropIn),
    setIdentityFromEmail: refuse,
    setIdentityFromEmailHash: refuse,
    setIdentityFromPhone: refuse,
    setIdentityFromPhoneHash: refuse,
  };
  return sdk;
};

const createDropIn = (product: Product, list: Callback[]): DropIn => {
  let resolve!: () => void;
  const started = new Promise<void>((done) => (resolve = done));
  const dropIn: DropIn = {
    product,
    places: createPlaces(product),
    callbacks: createCallbacks(list, () => [
      dropIn.told ? ['SdkLoaded', 'InitCompleted'] : ['SdkLoaded'],
      identityOf(dropIn),
    ]),
    options: {},
    state: { name: 'idle' },
    told: undefined,
    considered: new Set(),
    start: resolve,
    started,
  };
  return dropIn;
};

/**
 * Install the drop-in for pages that are written for the ecosystem's own browser SDK: set the global, emit `SdkLoaded`, and
 * start with the options of an earlier page if there are any.
 *
 * @param product  default `uid2`: the global `__uid2`.
 * @returns the global: the one that is already there if it has an `init`.
 * @example
 * import { installUid2 } from 'tessera-id/uid2';
 *
 * const uid2 = installUid2();
 * uid2.init({ baseUrl: 'https://operator.example' });
 */
export function installUid2(product: Product = 'uid2'): Uid2 {
  const name = `__${product}` as const;
  const stub = ownGlobal(name);
  if (stub && 'init' in stub && typeof stub.init === 'function') return stub;
  const list = Array.isArray(stub?.callbacks) ? stub.callbacks : [];
  const dropIn = createDropIn(product, list);
  /** Start as an earlier page did, unless this page has started by itself. */
  const bootstrap = () => {
    const options = dropIn.state.name === 'idle' && dropIn.places.readOptions();
    if (!options) return;
    try {
      init(dropIn, options, {});
    } catch (fault) {
      globalThis.reportError?.(fault);
    }
  };
  const sdk = createMethods(dropIn, bootstrap);
  window[name] = sdk;
  dropIn.callbacks.emit('SdkLoaded', null);
  // A server's answer to a sign-in, or a page of another host, may have changed the cookie meanwhile.
  for (const event of ['focus', 'pageshow']) addEventListener(event, () => void look(dropIn));
  queueMicrotask(bootstrap);
  return sdk;
}

/** The development build's warnings about what the drop-in does unlike the UID2 SDK, and without an error. */

import { warn } from '../../session/explain/warnings.ts';
import { cookieNameOf, readCookies } from './places.ts';
import { choose } from './precedence.ts';
import { type DropIn, readCandidates, recordOf } from './state.ts';
import type { Product } from './types.ts';

/** How long a page may take to call `init`, ms. */
const INIT_MS = 5_000;

function say({ product }: { readonly product: Product }, text: string): void {
  warn(`__${product}: ${text}; see docs/migration.md`);
}

export function watchForInit(dropIn: DropIn): void {
  setTimeout(() => {
    if (!dropIn.state && readCookies(`${cookieNameOf(dropIn.product)}_config`).length > 0)
      say(
        dropIn,
        'init was not called, and the configuration cookie of the UID2 SDK starts nothing: call init on this page',
      );
  }, INIT_MS);
}

/** Call it before the drop-in writes the cookie. Returns a function to call once the record is known. */
export function watchCookie(dropIn: DropIn, isNothingKnown: boolean): () => void {
  const { useCookie } = dropIn.options;
  if (!useCookie && readCookies(cookieNameOf(dropIn.product)).length > 0)
    say(dropIn, 'the cookie with an identity is ignored: pass useCookie: true to init');
  return () => {
    if (useCookie && isNothingKnown && recordOf(dropIn.state).set)
      say(dropIn, 'the cookie was deleted, and the user stays signed in: to log out, call disconnect()');
  };
}

export function warnOfForeignCookie(dropIn: DropIn): void {
  if (dropIn.options.useCookie && choose(readCandidates(dropIn)).supplied)
    say(
      dropIn,
      'disconnect could not erase the cookie, so the next page signs the user in again: ' +
        'pass the cookieDomain and cookiePath with which your server sets it',
    );
}

export function warnOfUnsupported(product: Product, method: string): void {
  say({ product }, `${method} is not supported: generate on your server (tokenHandler), then call setIdentity`);
}

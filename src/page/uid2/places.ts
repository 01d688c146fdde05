/** Local storage, and a first-party cookie that servers read. Nothing throws: what is blocked, full or damaged is read as empty. */

import { ignoreFailure } from '../../token/errors.ts';
import { readDocumentCookie, writeDocumentCookie } from '../clobbering.ts';
import type { CookieOptions, Identity, InitOptions, Product } from './types.ts';

/** Stored for a later page. A page may pass more to `init`, such as an email address. */
const OPTION_NAMES = [
  'baseUrl',
  'refreshRetryPeriod',
  'useCookie',
  'cookieDomain',
  'cookiePath',
] satisfies (keyof InitOptions)[];

export interface Found {
  readonly from: 'local' | 'cookie';
  readonly value: unknown;
}

/** Undefined erases a value. */
export interface Kept {
  /** Kept until its `refresh_expires`. */
  readonly cookie: Identity | undefined;
  readonly local: Identity | undefined;
}

function parseLocal(key: string): unknown {
  return ignoreFailure(() => JSON.parse(localStorage.getItem(key)!));
}

/** If a value cannot be written, erase the former one, which may belong to another user. `names`: the members to keep; default all. */
function writeLocal(key: string, value: unknown, names?: string[]): void {
  ignoreFailure(() => {
    const text = JSON.stringify(value, names) ?? null;
    if (text && text !== localStorage.getItem(key)) ignoreFailure(() => localStorage.setItem(key, text));
    // A script of the page may have replaced `setItem`, so read the value back instead of relying on an exception.
    if (text !== localStorage.getItem(key)) localStorage.removeItem(key);
  });
}

/** The attributes that distinguish cookies of the same name. */
function attributesOf({ cookieDomain, cookiePath }: CookieOptions): string {
  return `;path=${cookiePath ?? '/'}${cookieDomain ? `;domain=${cookieDomain}` : ''}`;
}

export function cookieNameOf(product: Product): string {
  return product === 'uid2' ? '__uid_2' : '__euid';
}

/** The encoded values of a cookie: one for each domain and path that has it. */
export function readCookies(name: string): string[] {
  return (ignoreFailure(readDocumentCookie) ?? '')
    .split('; ')
    .filter((row) => row.startsWith(`${name}=`))
    .map((row) => row.slice(name.length + 1));
}

export interface Places {
  /** What an earlier page left in local storage, unchecked. */
  readonly earlier: InitOptions | undefined;
  writeOptions(options: InitOptions): void;
  read(): Found[];
  /**
   * Keep these values, and erase all others. `options` identify the cookie; one that earlier options identify is erased. Unless
   * `ownsCookie`, a cookie that a server may have set is left alone.
   */
  write(kept: Kept, options: CookieOptions, ownsCookie: boolean | undefined): void;
}

export function createPlaces(product: Product): Places {
  const cookieName = cookieNameOf(product);
  const localKey = `${product.toUpperCase()}-sdk-identity`;
  const optionsKey = `${localKey}_config`;
  // A key of its own: scripts that only look for the UID2 SDK's key would take a logout for an identity.
  const logoutKey = `tessera-${product}-logout`;

  /** `expiresAt`: epoch ms; 0 removes the cookie. */
  const setCookie = (text: string, expiresAt: unknown, attributes: string): void => {
    const expires = new Date(expiresAt as number).toUTCString();
    const secure = location.protocol === 'https:' ? ';secure' : '';
    // The Cookie Store API is asynchronous, and some supported browsers lack it.
    ignoreFailure(() =>
      writeDocumentCookie(`${cookieName}=${text}${attributes};expires=${expires};samesite=lax${secure}`),
    );
  };

  const earlier = parseLocal(optionsKey) as InitOptions | undefined;
  const cookiePlaceOf = (options: InitOptions | undefined) => (options?.useCookie ? attributesOf(options) : undefined);

  /** The attributes with which this page, or an earlier one, set the cookie. */
  let cookiePlace = cookiePlaceOf(earlier);

  return {
    earlier,
    writeOptions: (options) => writeLocal(optionsKey, options, OPTION_NAMES),
    read: () => [
      ...readCookies(cookieName).map((text) => ({
        from: 'cookie' as const,
        value: ignoreFailure(() => JSON.parse(decodeURIComponent(text))),
      })),
      ...[localKey, logoutKey].map((key) => ({ from: 'local' as const, value: parseLocal(key) })),
    ],
    write: ({ cookie, local }, options, ownsCookie) => {
      const text = cookie ? encodeURIComponent(JSON.stringify(cookie)) : '';
      const former = cookiePlace;
      cookiePlace = cookiePlaceOf(options);
      // This page cannot see a cookie with another path.
      const isStale = readCookies(cookieName).join() !== text || (!text && options.cookiePath);
      if ((former && former !== cookiePlace) || (ownsCookie && isStale)) {
        const place = attributesOf(options);
        for (const each of new Set([attributesOf({}), former ?? place, place])) {
          // A cookie that is replaced is not erased before: a request in between would not have it.
          if (!cookie || each !== place) setCookie('', 0, each);
        }
        if (cookie) setCookie(text, cookie['refresh_expires'], place);
      }
      // A cookie that the browser refuses, or that a cookie with another path hides, is no copy for this page.
      const kept = local ?? (readCookies(cookieName).includes(text) ? undefined : cookie);
      const isLogout = kept?.['status'] === 'logout';
      writeLocal(localKey, isLogout ? undefined : kept);
      writeLocal(logoutKey, isLogout ? kept : undefined);
    },
  };
}

/**
 * The places outside the session's own database where an identity lies: local storage, or a first-party cookie that
 * servers read. The only file that knows keys, cookie names, domains and paths.
 *
 * It must not know what a value means. Nothing here throws: storage that is refused, full or damaged reads as empty.
 */

import { readDocument, writeDocumentCookie } from '../clobbering.ts';
import type { CookieOptions, Identity, InitOptions, Product } from './types.ts';

/** A value, and where it was found. `page`: the page itself supplied it. */
export interface Found {
  readonly from: 'local' | 'cookie' | 'page';
  readonly value: Identity;
}

/** A value to keep, and until when, epoch ms. */
export interface Kept {
  readonly value: Identity;
  readonly expiresAt: number;
  /** `shared`: in the cookie, for servers and other hosts, if the page has asked for it; else in local storage. */
  readonly place: 'shared' | 'local' | 'both';
}

/** The service in production, and the cookie in which the former SDK keeps the identity. */
const PRODUCTS = {
  uid2: { baseUrl: 'https://prod.uidapi.com', cookieName: '__uid_2' },
  euid: { baseUrl: 'https://prod.euid.eu', cookieName: '__euid' },
} as const;

/** Call a function; undefined if it throws. */
export function tryTo<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** Parse JSON; anything but an object is undefined. */
const parse = (text: string | null): Identity | undefined => {
  const value: unknown = JSON.parse(text!);
  return Object(value) === value ? (value as Identity) : undefined;
};

const readLocal = (key: string): string | null | undefined => tryTo(() => localStorage.getItem(key));

const writeLocal = (key: string, value: unknown): void => {
  const text = value === undefined ? null : JSON.stringify(value);
  if (text === readLocal(key)) return;
  tryTo(() => (text === null ? localStorage.removeItem(key) : localStorage.setItem(key, text)));
};

/** The encoded values of the cookies of one name: one for each domain and path that has it. */
const readCookies = (name: string): string[] =>
  tryTo(() =>
    (readDocument('cookie') as string)
      .split('; ')
      .filter((row) => row.startsWith(`${name}=`))
      .map((row) => row.slice(name.length + 1)),
  ) ?? [];

/** Set a cookie. `expiresAt`: epoch ms; 0 removes it. */
const writeCookie = (name: string, text: string, expiresAt: number, { cookieDomain, cookiePath }: CookieOptions) => {
  const domain = cookieDomain ? `;domain=${cookieDomain}` : '';
  const secure = location.protocol === 'https:' ? ';secure' : '';
  const expires = new Date(expiresAt).toUTCString();
  // The Cookie Store API is missing in supported browsers, and asynchronous.
  const row = `${name}=${text};path=${cookiePath ?? '/'};expires=${expires}${domain};samesite=lax${secure}`;
  tryTo(() => writeDocumentCookie(row));
};

const decode = (text: string): Identity | undefined => tryTo(() => parse(decodeURIComponent(text)));

/**
 * The domain and path that a configuration cookie of the former SDK names. A sibling subdomain can set that cookie, so it
 * only says which cookie to erase, and only if this page could have set it.
 */
const cookiePlaceOf = ({ cookieDomain, cookiePath }: InitOptions): CookieOptions[] => {
  const isDomain = typeof cookieDomain === 'string' && /^\.?[a-z\d.-]+$/i.test(cookieDomain);
  const isOwn = isDomain && `.${location.hostname}`.endsWith(`.${cookieDomain.replace(/^\./, '')}`);
  const isPath = typeof cookiePath === 'string' && /^\/[\w./~%-]*$/.test(cookiePath);
  if ((cookieDomain && !isOwn) || (cookiePath && !isPath)) return [];
  return [{ cookieDomain, cookiePath }];
};

const isSamePlace = (one: CookieOptions, other: CookieOptions) =>
  one.cookieDomain === other.cookieDomain && (one.cookiePath ?? '/') === (other.cookiePath ?? '/');

/** The places of one product. */
export interface Places {
  /** The production service of the product. */
  readonly defaultBaseUrl: string;
  /** Read the options that an earlier page has left in local storage. */
  readOptions(): InitOptions | undefined;
  /** Leave the options for a later page. */
  writeOptions(options: InitOptions): void;
  /** Use the cookie that these options name; the next write erases the cookie of earlier options. */
  moveTo(options: InitOptions): void;
  /** Read every value. */
  read(): Found[];
  /** Tell whether a value is there that was not there at the last read or write. */
  hasChanged(includesLocal: boolean): boolean;
  /**
   * Keep one value and erase all others; undefined erases all. An unchanged value is not written again.
   *
   * @param isTheirs  tells a value of somebody else: no cookie is erased while one with such a value is visible.
   */
  write(kept: Kept | undefined, isTheirs?: (value: Identity) => boolean): void;
}

/** Open the places of a product. */
export function createPlaces(product: Product): Places {
  const { baseUrl: defaultBaseUrl, cookieName } = PRODUCTS[product];
  const localKey = `${product.toUpperCase()}-sdk-identity`;
  const optionsKey = `${localKey}_config`;
  let options: InitOptions = {};
  /** Where a cookie of this or an earlier page may be. */
  let cookiePlaces: CookieOptions[] = [{}];
  /** The options name another cookie than before: the text of the visible one does not tell where it is. */
  let hasMoved = false;
  let seen = { cookie: '', local: readLocal(localKey) };

  const look = () => {
    seen = { cookie: readCookies(cookieName).join('; '), local: readLocal(localKey) };
  };
  const eraseCookies = (isVisible: boolean) => {
    for (const place of cookiePlaces) {
      // A cookie of another path is invisible from here.
      const isHidden = (place.cookiePath ?? '/') !== '/';
      if (isVisible || isHidden || hasMoved) writeCookie(cookieName, '', 0, place);
    }
  };
  const readOptions = () => tryTo(() => parse(readLocal(optionsKey) ?? null)) as InitOptions | undefined;

  return {
    defaultBaseUrl,
    readOptions,
    writeOptions: ({ useCookie, cookieDomain, cookiePath, baseUrl, refreshRetryPeriod }) =>
      writeLocal(optionsKey, { useCookie, cookieDomain, cookiePath, baseUrl, refreshRetryPeriod }),
    moveTo: (next) => {
      const earlier = [
        readOptions(),
        ...readCookies(`${cookieName}_config`).flatMap((text) => cookiePlaceOf(decode(text) ?? {})),
      ];
      for (const place of [...earlier, options, next]) {
        if (place && !cookiePlaces.some((known) => isSamePlace(known, place))) cookiePlaces = [...cookiePlaces, place];
      }
      hasMoved ||= [...earlier, options].some((place) => place?.useCookie && !isSamePlace(place, next));
      options = next;
    },
    read: () => {
      look();
      const local = tryTo(() => parse(readLocal(localKey) ?? null));
      const cookies = readCookies(cookieName).flatMap((text): Identity[] => (decode(text) ? [decode(text)!] : []));
      return [
        ...cookies.map((value): Found => ({ from: 'cookie', value })),
        ...(local ? [{ from: 'local', value: local } as const] : []),
      ];
    },
    hasChanged: (includesLocal) => {
      const before = seen;
      look();
      return (options.useCookie && before.cookie !== seen.cookie) || (includesLocal && before.local !== seen.local);
    },
    write: (kept, isTheirs) => {
      const inCookie = kept && kept.place !== 'local' && options.useCookie;
      const visible = readCookies(cookieName);
      const text = inCookie ? encodeURIComponent(JSON.stringify(kept.value)) : '';
      const isUnchanged = inCookie && !hasMoved && visible.length === 1 && visible[0] === text;
      const hasTheirs = isTheirs && visible.some((row) => isTheirs(decode(row) ?? {}));
      if (!isUnchanged && !hasTheirs) {
        eraseCookies(visible.length > 0);
        if (inCookie) writeCookie(cookieName, text, kept.expiresAt, options);
      }
      hasMoved = false;
      writeLocal(localKey, inCookie && kept.place === 'shared' ? undefined : kept?.value);
      look();
    },
  };
}

/**
 * Where pages and servers written for the ecosystem's own browser SDK look for an identity: local storage, or a
 * first-party cookie. Read once, and kept in step where the page asks for a cookie.
 *
 * Nothing here throws: storage that is refused, full or damaged reads as nothing and takes nothing.
 */

/** The two products of one protocol. */
export type Product = 'uid2' | 'euid';

/** The service in production, and the cookie in which the former SDK keeps the identity. */
export const PRODUCTS = {
  uid2: ['https://prod.uidapi.com', '__uid_2'],
  euid: ['https://prod.euid.eu', '__euid'],
} as const;

/** How and where the cookie is set, as `init` takes it. */
export interface CookieOptions {
  useCookie?: boolean | undefined;
  cookieDomain?: string | undefined;
  cookiePath?: string | undefined;
}

/** A value of JSON, as it stood in a place. */
export type Stored = Readonly<Record<string, unknown>>;

/** What `work` gives, undefined where it throws. */
export function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** Parse JSON; whatever is no object reads as nothing. */
const parse = (text: string | null): Stored | undefined => {
  const value = JSON.parse(text!);
  return Object(value) === value ? value : undefined;
};

/** The value in local storage. */
export function readLocal(key: string): Stored | undefined {
  return attempt(() => parse(localStorage.getItem(key)));
}

/** Put a value into local storage; undefined: remove it. */
export function writeLocal(key: string, value?: unknown): void {
  attempt(() => (value ? localStorage.setItem(key, JSON.stringify(value)) : localStorage.removeItem(key)));
}

/** The values in the cookies of a name, one for each domain and path: URI-encoded JSON. */
export function readCookies(name: string): Stored[] {
  return (
    attempt(() =>
      document.cookie
        .split('; ')
        .filter((row) => row.startsWith(`${name}=`))
        .flatMap<Stored>((row) => attempt(() => parse(decodeURIComponent(row.slice(name.length + 1)))) ?? []),
    ) ?? []
  );
}

/**
 * Put a value into a cookie.
 *
 * @param expiresAt  epoch ms; 0: remove the cookie.
 */
export function writeCookie(
  name: string,
  value: unknown,
  expiresAt: number,
  { cookieDomain, cookiePath = '/' }: CookieOptions,
): void {
  attempt(() => {
    const secure = location.protocol === 'https:' ? ';secure' : '';
    const text = expiresAt ? encodeURIComponent(JSON.stringify(value)) : '';
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing in browsers that are supported, and answers late.
    document.cookie = `${name}=${text};path=${cookiePath};expires=${new Date(expiresAt).toUTCString()}${cookieDomain ? `;domain=${cookieDomain}` : ''};samesite=lax${secure}`;
  });
}

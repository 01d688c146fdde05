/** The places of the drop-in, as tests read and fill them: cookies and local storage. */

import { vi } from 'vitest';
import { wireSet } from '../../session/fixtures.ts';

export const KEY = 'UID2-sdk-identity';

const cookies = () => new Map(document.cookie.split('; ').map((row) => row.split('=') as [string, string]));
export const cookie = (name = '__uid_2') => {
  const text = cookies().get(name);
  return text ? JSON.parse(decodeURIComponent(text)) : undefined;
};
export const setCookie = (text: string, path = '/') => {
  // biome-ignore lint/suspicious/noDocumentCookie: what servers and other scripts leave; there is no other way here.
  document.cookie = `${text};path=${path}`;
};
export const putCookie = (value: unknown, name = '__uid_2') =>
  setCookie(`${name}=${encodeURIComponent(JSON.stringify(value))}`);
/** A set that the host has got anew: sets of the fixture that follow each other end alike, as refreshed ones need not. */
export const newSet = (n: number, at = Date.now()) => ({
  ...wireSet(n, at),
  refresh_token: `refresh-${n}-of-a-new-login-number-${n}`,
});
export const local = () => JSON.parse(localStorage.getItem(KEY) ?? 'null');
export const logoutMark = () => JSON.parse(localStorage.getItem('tessera-uid2-logout') ?? 'null');
export const putLocal = (value: unknown, key = KEY) => localStorage.setItem(key, JSON.stringify(value));

/**
 * Replace `setItem` of local storage; the one passed on writes. A spy on `Storage.prototype` is not called: happy-dom keeps the first
 * `setItem` that it has returned.
 *
 * @returns a function that ends this.
 */
export const replaceSetItem = (setItem: (key: string, value: string, write: () => void) => void) => {
  const real = localStorage;
  const replaced = (key: string, value: string) => setItem(key, value, () => real.setItem(key, value));
  const get = (_: Storage, name: 'setItem') => (name === 'setItem' ? replaced : real[name].bind(real));
  vi.stubGlobal('localStorage', new Proxy(real, { get }));
  return () => vi.stubGlobal('localStorage', real);
};

export const clearPlaces = () => {
  localStorage.clear();
  for (const name of cookies().keys()) setCookie(`${name}=;expires=${new Date(0).toUTCString()}`);
};

/** Reads that survive DOM clobbering: in user content, an element may become `window.tessera` or hide `document.currentScript`. */

import { readDocument } from '../session/browser/lifecycle.ts';

/** What a script has assigned to `window`. Named elements and frames are in its prototype chain, never own properties. */
export function ownGlobal<K extends keyof Window>(name: K): Window[K] | undefined {
  return Object.getOwnPropertyDescriptor(window, name) && window[name];
}

/** The prototype if an element named `cookie` hides the property; else `document`, whose property a consent script may have replaced. */
function cookieOwner() {
  return Object(document.cookie) === document.cookie ? Object.getPrototypeOf(document) : document;
}

/** A property that a script has replaced may hold any value. */
export function readDocumentCookie(): string {
  return `${Reflect.get(cookieOwner(), 'cookie', document)}`;
}

export function writeDocumentCookie(row: string): void {
  Reflect.set(cookieOwner(), 'cookie', row, document);
}

/** What relative addresses of the page refer to, as long as no script adds a `<base>`. */
export const pageUrl = /* @__PURE__ */ readDocument('baseURI') as string;

const running = readDocument('currentScript');

/** The classic `<script>` tag that runs this file, if any. Read while the file first runs: `currentScript` is null afterwards. */
export const scriptTag = running && running instanceof HTMLScriptElement ? running : undefined;

/** Not by `dataset`, which a library that runs scripts in a worker may not list. */
export function dataOf(name: string): string | undefined {
  return scriptTag?.getAttribute(`data-${name}`) ?? undefined;
}

/**
 * Reads of globals that survive DOM clobbering: an element with `id="tessera"` becomes `window.tessera`, and one with
 * `name="currentScript"` hides `document.currentScript`. User content can contain such elements.
 */

import { readDocument } from '../session/browser/lifecycle.ts';

/**
 * Read a property that a script has assigned to `window`; undefined if none has. Named elements and frames are properties of an object
 * in the prototype chain of `window`, never own properties.
 */
export function ownGlobal<K extends keyof Window>(name: K): Window[K] | undefined {
  return Object.getOwnPropertyDescriptor(window, name) && window[name];
}

/**
 * Return the object whose `cookie` property to use. Usually that is `document`, because a script on the page may have replaced
 * the property, for example to block cookies before consent. It is the prototype of the document if an element or a frame named `cookie`
 * hides the property.
 */
function cookieOwner() {
  return Object(document.cookie) === document.cookie ? Object.getPrototypeOf(document) : document;
}

/** Read the cookies as the page's other scripts do. A replaced property may hold any value. */
export function readDocumentCookie(): string {
  return `${Reflect.get(cookieOwner(), 'cookie', document)}`;
}

export function writeDocumentCookie(row: string): void {
  Reflect.set(cookieOwner(), 'cookie', row, document);
}

/** What relative addresses of the page refer to, as long as no script adds a `<base>`. */
export const pageUrl = /* @__PURE__ */ readDocument('baseURI') as string;

const running = readDocument('currentScript');

/**
 * The `<script>` tag that runs this file; undefined if a classic script tag did not load it. Read while the file runs for the
 * first time, because `currentScript` is null afterwards.
 */
export const scriptTag = running && running instanceof HTMLScriptElement ? running : undefined;

/** Read an attribute `data-...` of the tag. Not by `dataset`, which a library that runs scripts in a worker may not list. */
export function dataOf(name: string): string | undefined {
  return scriptTag?.getAttribute(`data-${name}`) ?? undefined;
}

/** The development build's warnings about the script tag: mistakes that cause neither an effect nor an error. */

import { OPTIONS } from '../../session/explain/options.ts';
import { warn } from '../../session/explain/warnings.ts';
import type { Session } from '../../session/index.ts';
import { kindOf, ownMembers } from '../../token/checks.ts';
import { expectedGot } from '../../token/errors.ts';
import { lettersOf, nearest } from '../../token/nearest.ts';

/** Without `data-`. */
const ATTRIBUTES = ['base-url', 'name', 'user', 'provide', 'debug'];

/** Attributes of loaders, frameworks, consent managers and test tools on script tags, or prefixes of them. */
const FOREIGN =
  /^(cfasync|rocket|nscript|nimg|no-|minify|wp-|pagespeed|turbo|turbolinks|pjax|astro|n-head|hid|vmid|rh$|react|v-|svelte|href|precedence|vite|cookie|category|categories|consent-|ot-|optanon|cmp-|usercentrics|uc-|borlabs|src$|type$|service$|purposes$|test|cy$|qa$|gtm|ga-)/;

let hasWarned = false;

function say(text: string): void {
  hasWarned = true;
  warn(`script tag: ${text}`);
}

/** Whether `document` is a proxy: the accessors of its prototype refuse it. */
function isDocumentProxy(): boolean {
  try {
    if (globalThis.document) Reflect.get(Object.getPrototypeOf(document), 'currentScript', document);
    return false;
  } catch {
    return true;
  }
}

function warnOfNoTag(): void {
  if (globalThis.document?.querySelector('script[type="module"][src*="tessera"]'))
    say('type="module" hides the tag from the script, so its attributes are ignored: remove it');
  else if (isDocumentProxy())
    say(
      'a micro frontend runs this file in a sandbox that hides the tag, so its attributes are ignored: call tessera.createSession',
    );
}

export function checkTag(tag: HTMLScriptElement | undefined): void {
  if (!tag) {
    warnOfNoTag();
    return;
  }
  const given = tag.getAttributeNames().flatMap((name) => (name.startsWith('data-') ? name.slice(5) : []));
  for (const name of given) {
    const fault = attributeFault(name);
    if (fault) say(`data-${name} is unknown${fault}`);
  }
  const needing = given.find((name) => ATTRIBUTES.includes(name));
  if (given.includes('base-url') && !tag.dataset['baseUrl'])
    say('data-base-url is empty, so there is no session: expected the https URL of the operator');
  else if (needing && !tag.dataset['baseUrl']) say(`data-${needing} has no effect without data-base-url`);
}

/** `user`: the `data-user` of a page that a router has loaded into the document. */
export function warnOfSecondTag(user: string | undefined): void {
  if (user === undefined)
    say(
      'Tessera has already been loaded on this page: calls go to the first file, and the attributes of this tag, except data-user, are ignored; remove one of the tags',
    );
}

/** @throws {TypeError} in a worker. */
export function checkWindow(): void {
  if (typeof window === 'undefined')
    throw new TypeError(expectedGot('script tag', 'a page', 'a worker: there, import createSession from tessera-id'));
}

export function checkCalls(calls: readonly unknown[]): void {
  for (const call of calls)
    if (typeof call !== 'function') say(`${expectedGot('push', 'function', kindOf(call))}: push((tessera) => ...)`);
}

export function warnOfNoQueue(before: unknown): void {
  if (before !== undefined)
    say(
      `window.tessera: expected an array, got ${kindOf(before)}; calls before this file: (window.tessera = window.tessera || []).push(...)`,
    );
}

/** How long a pushed function may wait, for example for a consent platform, before it creates a session, ms. */
const PATIENCE_MS = 10_000;

/** Warn of a page without a session, unless another warning has named a reason. */
export function checkPage(tag: HTMLScriptElement | undefined, session: () => Session | undefined): void {
  if (!tag) return;
  const check = () => {
    if (!hasWarned && !session())
      say(
        'there is no session after 10 s: add data-base-url, or push a function that calls createSession; a tag manager may have removed the attributes',
      );
  };
  if (document.readyState === 'complete') setTimeout(check, PATIENCE_MS);
  else addEventListener('load', () => setTimeout(check, PATIENCE_MS), ownMembers({ once: true }));
}

export function warnOfNoSession(tag: HTMLScriptElement | undefined): void {
  const remedy =
    tag?.dataset['baseUrl'] === undefined
      ? 'add data-base-url to the tag, or call createSession first'
      : 'the attributes of the tag are wrong, as another message says';
  say(`a pushed function threw, and there is no tessera.session: ${remedy}`);
}

/** Undefined if an attribute is known or belongs to another tool. */
function attributeFault(name: string): string | undefined {
  if (ATTRIBUTES.includes(name)) return undefined;
  const isOf = (known: string) => lettersOf(known) === lettersOf(name);
  if (Object.keys(OPTIONS).some(isOf) && !ATTRIBUTES.some(isOf))
    return ': this option has no attribute; leave out data-base-url and pass it to tessera.createSession';
  const near = nearest(name, ATTRIBUTES);
  if (near) return `; did you mean data-${near}?`;
  if (FOREIGN.test(name)) return undefined;
  return `, expected one of ${ATTRIBUTES.map((known) => `data-${known}`).join(', ')}`;
}

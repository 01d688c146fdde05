/** The development build's warnings about the script tag, for mistakes that would otherwise cause neither an effect nor an error. */

import { lettersOf, nearest } from '../session/explain/nearest.ts';
import { warn } from '../session/explain/warnings.ts';
import type { Session, SessionOptions } from '../session/index.ts';
import { kindOf, ownMembers } from '../token/checks.ts';

/** Every option of `createSession`, with its attribute of the tag, without `data-`, if there is one. */
const OPTIONS: Readonly<Record<keyof SessionOptions, string | undefined>> = {
  baseUrl: 'base-url',
  name: 'name',
  user: 'user',
  provide: 'provide',
  debug: 'debug',
  tokens: undefined,
  consent: undefined,
  refresh: undefined,
  fetch: undefined,
  store: undefined,
  now: undefined,
  timeoutMs: undefined,
  retry: undefined,
  logger: undefined,
  allowInsecure: undefined,
};

/** A function, because the bundler of the production build could not drop a call that runs when this file loads. */
function attributes() {
  return Object.values(OPTIONS).filter((attribute) => attribute !== undefined);
}

/**
 * Attributes that other tools put on script tags, or prefixes of them: loaders (Cloudflare, Next.js, WordPress), frameworks (Turbo,
 * Astro, Nuxt, React, Vue, Svelte), consent managers (Cookiebot, OneTrust, consentmanager, Usercentrics, Klaro) and test tools.
 */
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
  const needing = given.find((name) => attributes().includes(name));
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

export function warnOfNoQueue(before: unknown): void {
  if (before !== undefined)
    say(
      `window.tessera: expected an array, got ${kindOf(before)}; calls before this file: (window.tessera = window.tessera || []).push(...)`,
    );
}

/**
 * Warn, once the page has loaded, that it has no session: a tag manager may have removed the attributes. Says nothing if another
 * warning has named a reason.
 */
export function checkPage(tag: HTMLScriptElement | undefined, session: () => Session | undefined): void {
  if (!tag) return;
  const check = () => {
    if (!hasWarned && !session())
      say(
        'there is no session yet: add data-base-url, or push a function that calls createSession; a tag manager may have removed the attributes',
      );
  };
  if (document.readyState === 'complete') setTimeout(check);
  else addEventListener('load', () => setTimeout(check), ownMembers({ once: true }));
}

export function warnOfNoSession(tag: HTMLScriptElement | undefined): void {
  const remedy =
    tag?.dataset['baseUrl'] === undefined
      ? 'add data-base-url to the tag, or call createSession first'
      : 'the attributes of the tag are wrong, as another message says';
  say(`a pushed function threw, and there is no tessera.session: ${remedy}`);
}

/** Return what to do about an attribute; undefined if it is known or belongs to another tool. */
function attributeFault(name: string): string | undefined {
  if (attributes().includes(name)) return undefined;
  if (Object.entries(OPTIONS).some(([option, attribute]) => !attribute && option.toLowerCase() === lettersOf(name)))
    return ': this option has no attribute; leave out data-base-url and pass it to tessera.createSession';
  const near = nearest(name, attributes());
  if (near) return `; did you mean data-${near}?`;
  if (FOREIGN.test(name)) return undefined;
  return `, expected one of ${attributes()
    .map((known) => `data-${known}`)
    .join(', ')}`;
}

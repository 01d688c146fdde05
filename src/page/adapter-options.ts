/** The development build's checks of what a page passes to adapters. This file knows no adapter. */

import { noteName, type OpenNames, warn } from '../session/explain/warnings.ts';
import type { Session } from '../session/index.ts';
import { choiceFault, kindOf, nameFault, type TypeName, throwIf, typeFault } from '../token/checks.ts';
import { expectedGot } from '../token/errors.ts';

type Expected = readonly string[] | TypeName;

declare global {
  /** Adapters read it instead of `isDevelopment`: the bundler then drops their import of this file, so each is one file in production. */
  const __TESSERA_PRODUCTION__: true | undefined;
}

/** `known`: `{ pbjs: 'object', name: ['uid2', 'euid'] }`. @throws {TypeError} that names the function and the option. */
export function checkAdapterOptions(call: string, known: Readonly<Record<string, Expected>>, options: object): void {
  const path = `${call}: options`;
  throwIf(typeFault(path, 'object', options) ?? nameFault(`${path}.`, Object.keys(known), options));
  for (const [name, value] of Object.entries(options)) {
    const [at, expected] = [`${path}.${name}`, known[name]!];
    const check = typeof expected === 'string' ? typeFault(at, expected, value) : choiceFault(at, expected, value);
    throwIf(value !== undefined && check);
  }
}

/** A page may call an adapter before it has created a session. @throws {TypeError} that names the function. */
export function checkSession(call: string, session: unknown): void {
  if (typeof (session as Partial<Session> | undefined | null)?.subscribe === 'function') return;
  throw new TypeError(expectedGot(`${call}: session`, 'what createSession returns', kindOf(session)));
}

const missed = new WeakSet<object>();

/** Warn, once for the rules of a gate. `api`: such as `__tcfapi`. */
export function warnOfNoCmp(api: string, rules: { readonly waitMs: number }): void {
  if (!missed.has(rules))
    warn(
      `consent: ${api} was not found within ${rules.waitMs} ms: until a consent platform has loaded, this counts as a refusal`,
    );
  missed.add(rules);
}

/** The open connections, by the page's object that they write to. */
const connections = new WeakMap<object, OpenNames>();

/** Warn if `to` has a connection of this name already. Returns a function that ends the new one. */
export function noteConnection(call: string, to: object, name: string): () => void {
  const open = connections.get(to) ?? new Set();
  connections.set(to, open);
  return noteName(
    open,
    name,
    `${call}: ${name} is connected already, and each connection replaces the token of the other. Call the function that the first ${call} returned, then connect again`,
  );
}

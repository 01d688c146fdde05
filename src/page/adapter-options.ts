/**
 * Checks of what a page passes to adapters, for the development build. Otherwise, a misspelt name or a value of the wrong type
 * would cause neither an effect nor an error. This file knows no adapter.
 */

import type { Session } from '../session/index.ts';
import { choiceFault, kindOf, nameFault, typeFault } from '../token/checks.ts';
import { expectedGot } from '../token/errors.ts';

/** The values of an option: one of several strings, or a type as `kindOf` returns it. A number is 0 or more, or `Infinity`. */
type Expected = readonly string[] | 'string' | 'number' | 'boolean' | 'object' | 'array';

declare global {
  /**
   * Defined in the production build. Adapters read it instead of `isDevelopment`, so that the bundler drops their import of this
   * file and each adapter stays one file in production.
   */
  const __TESSERA_PRODUCTION__: true | undefined;
}

function optionFault(path: string, expected: Expected, value: unknown): string | undefined {
  if (typeof expected !== 'string') return choiceFault(path, expected, value);
  if (kindOf(value) !== expected) return expectedGot(path, expected, kindOf(value));
  const isNumber = typeof value !== 'number' || value >= 0;
  return isNumber ? undefined : expectedGot(path, 'a number of 0 or more', value);
}

/**
 * Check the names and the types of options: `{ pbjs: 'object', name: ['uid2', 'euid'] }`. One that is undefined counts as left out.
 *
 * @throws {TypeError} that names the function and the option, what was expected and what was passed.
 */
export function checkAdapterOptions(call: string, known: Readonly<Record<string, Expected>>, options: object): void {
  const path = `${call}: options`;
  const fault = typeFault(path, 'object', options) ?? nameFault(`${path}.`, Object.keys(known), options);
  if (fault) throw new TypeError(fault);
  for (const [name, value] of Object.entries(options)) {
    const wrong = value === undefined ? undefined : optionFault(`${path}.${name}`, known[name]!, value);
    if (wrong) throw new TypeError(wrong);
  }
}

/**
 * Check that a page has passed a session: its session may not exist yet.
 *
 * @throws {TypeError} that names the function and what was passed.
 */
export function checkSession(call: string, session: unknown): void {
  if (typeof (session as Partial<Session> | undefined | null)?.subscribe === 'function') return;
  throw new TypeError(expectedGot(`${call}: session`, 'what createSession returns', kindOf(session)));
}

/** The open connections, by the page's object that they write to. */
const connections = new WeakMap<object, Set<{ readonly name: string }>>();

/** Warn if there is already a connection of this name to the same object of the page. Returns a function that ends the new one. */
export function noteConnection(call: string, to: object, name: string): () => void {
  const open = connections.get(to) ?? new Set();
  connections.set(to, open);
  if ([...open].some((other) => other.name === name))
    console.warn(
      `[tessera] ${call}: ${name} is connected already, and each connection replaces the token of the other. Call the function that the first ${call} returned, then connect again`,
    );
  const connection = { name };
  open.add(connection);
  return () => void open.delete(connection);
}

/**
 * What the development build of the script tag says about its tag: mistakes that would otherwise have no effect and no
 * error. The production build contains none of this.
 */

import { warn } from '../session/warnings.ts';

/** The attributes of the tag, without `data-`. */
const ATTRIBUTES = ['base-url', 'name', 'user', 'provide', 'debug'];

/**
 * Warn about a tag.
 *
 * @param tag  undefined if no classic script tag runs the file.
 */
export function checkTag(tag: HTMLScriptElement | undefined): void {
  const module = tag ? null : globalThis.document?.querySelector('script[type="module"][src*="tessera"]');
  if (module) warn('script tag: type="module" hides the tag from the script, so its attributes are ignored. Remove it');
  if (!tag) return;
  const given = Object.keys(tag.dataset).map((name) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`));
  for (const name of given) {
    const nearest = ATTRIBUTES.includes(name) ? undefined : ATTRIBUTES.find((known) => isNear(name, known));
    if (nearest) warn(`script tag: data-${name} is unknown; did you mean data-${nearest}?`);
  }
  const needing = given.find((name) => ATTRIBUTES.includes(name));
  if (needing && !tag.dataset['baseUrl']) warn(`script tag: data-${needing} has no effect without data-base-url`);
}

/** Tell whether a name is a misspelling of a known one. Tools put attributes of their own on a tag: they are far from each. */
function isNear(name: string, known: string): boolean {
  const [one, other] = [name, known].map((text) => text.replace(/\W|_/g, '')) as [string, string];
  return (one.length > 3 && other.startsWith(one)) || distance(one, other) <= Math.max(1, Math.floor(other.length / 3));
}

/** Count the letters to insert, delete or replace to turn one word into the other (Levenshtein). */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [i, letter] of [...one].entries()) {
    const next = [i + 1];
    for (const [j, expected] of [...other].entries())
      next.push(Math.min(next[j]! + 1, row[j + 1]! + 1, row[j]! + (letter === expected ? 0 : 1)));
    row = next;
  }
  return row[other.length]!;
}

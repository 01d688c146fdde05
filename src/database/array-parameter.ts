/**
 * Writes arrays as text. Both engines can do so, but they escape each element with regular expressions. For the thousands of rows
 * of one statement, that takes longer than all other work in this process.
 */

import type { Value } from './types.ts';

const isPlain = (element: Value): boolean =>
  element === null || typeof element === 'string' || Number.isSafeInteger(element);

/**
 * Convert the value of a parameter: an array of strings, whole numbers and nulls becomes PostgreSQL's text form of an array.
 *
 * If no element needs an escape, JSON differs from that form only in the brackets. The engine converts arrays that need one, and
 * all other values. An array is for a parameter of an array type: `jsonb` takes a string, see `types.ts`.
 */
export function parameterOf(value: Value): Value {
  if (!Array.isArray(value) || !value.every(isPlain)) return value;
  const json = JSON.stringify(value);
  return json.includes('\\') ? value : `{${json.slice(1, -1)}}`;
}

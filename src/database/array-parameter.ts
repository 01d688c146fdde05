/**
 * Writes arrays in PostgreSQL's binary form. As text, which both engines write and the server parses, thousands of rows take
 * three times as long, and with `array_nulls = off` the server reads nulls as the string `NULL`.
 *
 * | bytes | content, big-endian |
 * |---|---|
 * | 0 to 3 | number of dimensions, 1 |
 * | 4 to 7 | flags, 0: the server looks for nulls itself |
 * | 8 to 11 | OID of the type of the elements |
 * | 12 to 15 | number of elements |
 * | 16 to 19 | index of the first element, 1 |
 * | then, for each element | its length in 4 bytes, -1 for null; its UTF-8, or 8 bytes of a number |
 */

import type { Value } from './types.ts';

const TEXT = 25;
const BIGINT = 20;
const HEADER_BYTES = 20;
const WORD_BYTES = 4;
const BIGINT_BYTES = 8;
const NULL_LENGTH = -1;
/** The most bytes that UTF-8 needs for one of the units that `String.length` counts. */
const MAX_UNIT_BYTES = 3;

function startArray(type: number, elements: number, maxBytes: number): Buffer {
  const array = Buffer.allocUnsafe(HEADER_BYTES + WORD_BYTES * elements + maxBytes);
  for (const [i, word] of [1, 0, type, elements, 1].entries()) array.writeInt32BE(word, WORD_BYTES * i);
  return array;
}

function textArray(elements: readonly (string | null)[]): Buffer {
  let units = 0;
  for (const element of elements) units += element?.length ?? 0;
  const array = startArray(TEXT, elements.length, MAX_UNIT_BYTES * units);
  let at = HEADER_BYTES;
  for (const element of elements) {
    const length = element === null ? NULL_LENGTH : array.write(element, at + WORD_BYTES);
    at = array.writeInt32BE(length, at) + Math.max(0, length);
  }
  return array.subarray(0, at);
}

function bigintArray(elements: readonly (number | null)[]): Buffer {
  const array = startArray(BIGINT, elements.length, BIGINT_BYTES * elements.length);
  let at = HEADER_BYTES;
  for (const element of elements) {
    at = array.writeInt32BE(element === null ? NULL_LENGTH : BIGINT_BYTES, at);
    if (element !== null) at = array.writeBigInt64BE(BigInt(element), at);
  }
  return array.subarray(0, at);
}

/**
 * An array that the statement declares as `text[]` or `bigint[]`, as parameter `$number`, becomes binary. Its elements do not
 * tell its type, because it may contain nothing but null. The engine converts all other values.
 */
export function parameterOf(value: Value, number: number, sql: string): Value {
  if (!Array.isArray(value)) return value;
  const type = new RegExp(`\\$${number}::(text|bigint)\\[\\]`).exec(sql)?.[1];
  if (type === 'text') return textArray(value);
  return type === 'bigint' ? bigintArray(value) : value;
}

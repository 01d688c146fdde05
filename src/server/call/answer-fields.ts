/** Checks the fields of a 200 answer, and creates the error for an unusable one. The endpoint files name the fields. */

import { kindOf } from '../../token/checks.ts';
import { type ErrorCode, TokenError } from '../../token/errors.ts';
import { requestName } from './paths.ts';

export function errorAt200(code: ErrorCode, path: string, fault: string, cause?: unknown): TokenError {
  return new TokenError(code, `${requestName(path)} answered 200: ${fault}`, { status: 200, cause });
}

export function unusableAnswer(path: string, fault: string, cause?: unknown): TokenError {
  return errorAt200('malformed_response', path, fault, cause);
}

/** The fields of a row, also inherited ones: a copy of every row costs time and memory. Anything else is read by `ownMembers`. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

export function arrayOf(path: string, name: string, value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw unusableAnswer(path, `${name}: expected array, got ${kindOf(value)}`);
  return value;
}

export function stringOf(path: string, name: string, value: unknown): string {
  if (typeof value !== 'string' || !value) throw unusableAnswer(path, `${name}: expected string, got ${kindOf(value)}`);
  return value;
}

/**
 * In practice base64. Any printable character passes, for new formats. A bounded repetition, `{1,256}`, takes half as long again.
 */
const PRINTABLE = /^[!-~]*$/;
const MAX_IDENTIFIER_LENGTH = 256;

/** `value` if it can be a raw ID or a bucket's name, else throw. `isPrintable` as that of the answer: not checked again. */
export function identifierOf(path: string, name: string, value: unknown, isPrintable = false): string {
  const text = stringOf(path, name, value);
  if (text.length > MAX_IDENTIFIER_LENGTH || !(isPrintable || PRINTABLE.test(text)))
    throw unusableAnswer(path, `${name}: expected 1 to 256 printable ASCII characters, got another string`);
  return text;
}

/** An instant beyond the year 9999, epoch ms. As in `token-set.ts`. */
const LATEST = 1e15;

/** A time in epoch ms. A later one has another unit: microseconds, or milliseconds that were mistaken for seconds. */
export function isInstant(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= LATEST;
}

export function otherThan(expected: 'number' | 'string', value: unknown): string {
  const kind = kindOf(value);
  return kind === expected ? `another ${expected}` : kind;
}

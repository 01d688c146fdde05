/**
 * Chooses the column that a command reads from a file: by name or number, or by a known name in the first line. A message lists
 * the names there, unless one of its fields looks like data, which may be a person's address.
 */

import { parseHash } from '../../token/index.ts';
import type { Row } from './csv-rows.ts';

export interface Column {
  /** From 0. */
  readonly index: number;
  /** The first line, if it names the columns. */
  readonly header: readonly string[] | undefined;
}

/** Reduce a name to letters and digits, so that `E-Mail address` equals `email_address`. */
export function normalizeName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

function isData(field: string): boolean {
  return (
    field.includes('@') || field.length > 40 || /\d[\d ()-]{5,}\d/.test(field) || parseHash(field.trim()) !== undefined
  );
}

/** List the names in the first line, as far as a message may contain them. */
function namesIn(first: readonly string[]): string {
  return first.some(isData)
    ? `${first.length} columns; the first line is not shown because it looks like data`
    : `the columns ${first.map((field) => field.trim() || '(empty)').join(', ')}`;
}

/** What else to try if a column is missing: with a wrong delimiter, all columns appear as one. */
function remedyFor(first: readonly string[]): string {
  return first.length === 1 ? '; if there are several columns, give their --delimiter' : '';
}

function shownName(name: string): string {
  return isData(name) ? 'a name that is not shown' : `"${name}"`;
}

function findByName(first: readonly string[], name: string): number {
  for (const normalize of [(field: string) => field.trim(), normalizeName]) {
    const found = first.flatMap((field, index) => (normalize(field) === normalize(name) ? [index] : []));
    if (found.length === 1) return found[0]!;
    if (found.length > 1)
      throw new RangeError(
        `--column: expected one column ${shownName(name)}, got ${found.length}; give its number, 1 to ${first.length}`,
      );
  }
  throw new RangeError(
    `--column: found no column ${shownName(name)} among ${namesIn(first)}; give one of them, or a number from 1 to ${first.length}${remedyFor(first)}`,
  );
}

export interface FirstRows {
  readonly first: readonly string[] | undefined;
  readonly next: readonly (readonly string[])[];
  /** Whether a field, without surrounding white space, is a valid value of the column. */
  isValue(field: string): boolean;
}

/** Tell whether the first row contains the names of the columns, if the name of the chosen column is not a known one. */
function looksLikeNames({ first = [], next, isValue }: FirstRows, index: number): boolean {
  const values = next.map((fields) => fields[index]?.trim() ?? '');
  return (
    first.length > 1 &&
    first.every((field) => /\p{L}/u.test(field) && !isData(field)) &&
    !isValue(first[index]!.trim()) &&
    values.some(isValue)
  );
}

/**
 * `given`: a name, or a number from 1. `known`: as {@link normalizeName} returns them. @throws {RangeError} if none or several
 * fit.
 */
export function columnOf(rows: FirstRows, given: string | undefined, known: readonly string[]): Column {
  const { first } = rows;
  if (!first) return { index: 0, header: undefined };
  const isKnown = (field: string | undefined) => known.includes(normalizeName(field ?? ''));
  const at = (index: number): Column => ({
    index,
    header: isKnown(first[index]) || looksLikeNames(rows, index) ? first : undefined,
  });
  if (given !== undefined && /^\d+$/.test(given)) {
    const number = Number(given);
    if (number < 1 || number > first.length)
      throw new RangeError(`--column: expected a number from 1 to ${first.length}, got ${number}${remedyFor(first)}`);
    return at(number - 1);
  }
  if (given !== undefined) return { index: findByName(first, given), header: first };
  if (first.length === 1) return at(0);
  const found = first.flatMap((field, index) => (isKnown(field) ? [index] : []));
  if (found.length !== 1)
    throw new RangeError(
      `--column: expected one column with a known name (${known.join(', ')}), got ${found.length} among ${namesIn(first)}; give --column with a name, or a number from 1 to ${first.length}`,
    );
  return at(found[0]!);
}

/** Explain why a row has no field in the column `index`, from 0; undefined if it has one. The reason does not quote the row. */
export function missingField({ fields, broken }: Row, index: number): string | undefined {
  if (broken) return 'expected CSV, got a quote that is never closed, or is closed within the field';
  return index < fields.length ? undefined : `expected ${index + 1} columns or more, got ${fields.length}`;
}

/** Writes lines of CSV. */

import { stringify } from 'csv-stringify/sync';

/**
 * Format one line of CSV, without a line break.
 *
 * @param isForSpreadsheet  put `'` before fields that a spreadsheet would evaluate: those that start with `=`, `+`, `-`, `@`, a
 *   tab or a carriage return. Default: false, because other programs would read the `'` as part of the field.
 */
export function csvLine(
  fields: readonly (string | number | null | undefined)[],
  { isForSpreadsheet = false }: { readonly isForSpreadsheet?: boolean } = {},
): string {
  return stringify([[...fields]], { eof: false, escape_formulas: isForSpreadsheet });
}

/** Format an instant (epoch ms) for CSV, as ISO 8601. */
export function formatInstant(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

/** A raw ID or an instant: one test instead of two. */
const IDENTIFIER = /^[\w+/=:.-]+$/;

/** Format one field of a line whose other fields are text already. Several times faster than {@link csvLine}. */
export function csvField(value: string | null, delimiter: string): string {
  if (value === null) return '';
  if (delimiter === ',' && IDENTIFIER.test(value)) return value;
  const isQuoted = value.includes(delimiter) || /["\r\n]|^\s|\s$/.test(value);
  return isQuoted ? `"${value.replaceAll('"', '""')}"` : value;
}

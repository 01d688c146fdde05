/**
 * Writing CSV.
 */

import { stringify } from 'csv-stringify/sync';

/** One line, without its end. */
export function csvLine(fields: readonly (string | number | null | undefined)[]): string {
  return stringify([[...fields]], { eof: false });
}

/** An instant (epoch ms) as it stands in CSV: for people too. */
export function instantText(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

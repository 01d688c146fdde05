/**
 * Writing CSV.
 */

import { stringify } from 'csv-stringify/sync';

/** One line, without its end. */
export const csvLine = (fields: readonly (string | number | null | undefined)[]): string =>
  stringify([[...fields]], { eof: false });

/** An instant (epoch ms) as it stands in CSV: for people too. */
export const instantText = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());

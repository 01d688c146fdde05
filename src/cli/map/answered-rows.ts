/**
 * The rows of `tessera map --out`: each row of the input, which `csv-table.ts` or `json-table.ts` reads, as it is, with the
 * answer of the service in more columns.
 */

import type { Dii, MapResult, MapResultV2 } from '../../server/index.ts';

/** A row of the input, which is its own DII: a second object for each row in flight would cost the garbage collector as much again. */
export type TableRow = Dii & {
  /** The start of its line in the output, up to the first added column. */
  readonly start: string;
  /** Why the row has no valid DII; undefined if it has. */
  readonly fault: string | undefined;
};

export interface Table {
  /** The first line of the output, with a line break; undefined if the input has no names of columns there. */
  readonly header: string | undefined;
  /** The rows; one array for each piece of input. Can be read once. */
  readonly rows: AsyncIterable<readonly TableRow[]>;
  /** The rest of a line with these values of the added columns, with a line break. */
  endOf(values: Values): string;
  isEnd(text: string): boolean;
  /** Why the input as a whole is unusable; undefined if it is not. Called after the last row. */
  faultOfAll(): RangeError | undefined;
}

export type Values = readonly (string | null)[];

export const ADDED: Readonly<Record<2 | 3, readonly string[]>> = {
  2: ['advertising_id', 'bucket_id', 'unmapped_reason'],
  3: ['advertising_id', 'previous_id', 'refresh_at', 'unmapped_reason'],
};

/**
 * Those of the names that the output replaces, because the input is the output of an earlier run. `place` is for the message.
 * @throws {RangeError} if there is one without the others of its version: it may be a column of the user with another meaning.
 */
export function replacedNames(names: readonly string[], place: string): ReadonlySet<string> {
  const found = new Set(names.map((name) => name.trim()));
  const versions = [ADDED[3], ADDED[2]];
  // Of one version: a run replaces the columns of both.
  const replaced = new Set(versions.find((added) => added.every((name) => found.has(name))));
  const other = versions.flat().find((name) => found.has(name) && !replaced.has(name));
  if (other === undefined) return replaced;
  throw new RangeError(`${place}: expected no column ${other}, which --out adds, got one; rename it`);
}

/** Create a row. `dii`: as a hash, or why there is none. */
export function rowOf(start: string, dii: Dii | string): TableRow {
  // The client does not send a row without a value.
  if (typeof dii === 'string') return { emailHash: null, start, fault: dii } as unknown as TableRow;
  const { emailHash, phoneHash } = dii;
  if (emailHash !== undefined) return { emailHash, start, fault: undefined };
  return { phoneHash: phoneHash!, start, fault: undefined };
}

/** The values of the columns for a result. The reason of a user who has opted out is `optout`, as on the wire. */
export function valuesOf(result: MapResult | MapResultV2, version: 2 | 3, fault: string | undefined): Values {
  if (result.status === 'mapped')
    return 'bucketId' in result
      ? [result.rawId, result.bucketId, null]
      : [result.rawId, result.previousRawId, new Date(result.remapAt).toISOString(), null];
  const reason = fault ?? (result.status === 'optout' ? 'optout' : result.reason);
  return version === 2 ? [null, null, reason] : [null, null, null, reason];
}

/**
 * The DII in the rows of a file: the form of each, its hash, and why a row has none.
 *
 * A value tells its form by its looks; what it is a hash of is told by `--type` or by the name of its column. Before:
 * `rows.ts`, `columns.ts`. Next: `map-file.ts` has them mapped.
 */

import type { Dii } from '../server/index.ts';
import { type DiiForm, type DiiType, diiTypeOf, hashTextOf, parseHash } from '../token/index.ts';
import { columnOf, plainName } from './columns.ts';
import type { Input } from './input.ts';
import type { RowFlags } from './row-flags.ts';
import { openRows, type Row } from './rows.ts';

/** What `--type` may be. */
export type GivenForm = DiiForm | undefined;

// As `plainName` makes them.
const NAMES: Readonly<Record<DiiType, readonly string[]>> = {
  email: ['email', 'emailaddress', 'mail', 'emailhash', 'hashedemail', 'emailsha256', 'sha256email'],
  phone: ['phone', 'phonenumber', 'mobile', 'telephone', 'phonehash', 'hashedphone', 'phonesha256', 'sha256phone'],
};
const TYPES = ['email', 'phone'] as const;

const REASONS: Readonly<Record<DiiForm, string>> = {
  email: 'expected an email address',
  phone: 'expected a phone number: + and 10 to 15 digits',
  email_hash: 'expected a hash: 32 bytes in base64 or hexadecimal',
  phone_hash: 'expected a hash: 32 bytes in base64 or hexadecimal',
};
const UNTOLD = 'a hash does not say what it is of: name it by --type email_hash or --type phone_hash';

/** A row without DII, and why. */
export interface BadRow {
  readonly line: number;
  readonly reason: string;
  readonly fields: readonly string[];
}

/** Rows of DII that were begun to be read. */
export interface DiiRows {
  readonly header: readonly string[] | undefined;
  /** The column that the DII is in, from 0 on. */
  readonly index: number;
  /** What each row holds, as a hash, or why it holds nothing. Arrays as they come in; to be read once. */
  readonly all: AsyncIterable<readonly (Dii | BadRow)[]>;
}

// Undefined for a hash of nobody knows what. A value of no form is taken for the type.
const formOf = (value: string, type: DiiType | undefined): DiiForm | undefined => {
  if (parseHash(value)) return type && `${type}_hash`;
  return type ?? (value.startsWith('+') && !value.includes('@') ? 'phone' : 'email');
};

/**
 * The DII of a value, as a hash; or what is wrong with it, in words that do not show it.
 *
 * @param given  its form. Default: told by its looks.
 * @param type   what it is, or is a hash of, where its form is not given.
 */
export function diiIn(value: string, given?: GivenForm, type?: DiiType): Dii | string {
  if (value === '') return 'expected a value, got none';
  if (value.includes('\ufffd')) return 'expected UTF-8, got other bytes';
  const form = given ?? formOf(value, type);
  if (!form) return UNTOLD;
  const hash = hashTextOf(form, value);
  if (hash) return diiTypeOf(form) === 'email' ? { emailHash: hash } : { phoneHash: hash };
  const sure = given ?? type ?? (value.includes('@') || form === 'phone');
  return sure ? REASONS[form] : 'expected an email address, a phone number with a leading +, or a hash';
}

/** The options about a file of DII. */
export interface DiiFlags extends RowFlags {
  readonly type?: GivenForm;
}

/**
 * Begin to read DII: the first rows say what is in the file.
 *
 * @throws {RangeError} it cannot be read; no such column, or none to choose without being told; hashes of nobody knows what.
 */
export async function openDiiRows(input: Input, { column, delimiter, type: given }: DiiFlags): Promise<DiiRows> {
  const { top, second, rows } = await openRows(input, delimiter);
  const known = given ? NAMES[diiTypeOf(given)] : TYPES.flatMap((type) => NAMES[type]);
  const { index, header } = columnOf(top?.fields, column, known);
  const name = plainName(header?.[index] ?? '');
  const type = TYPES.find((one) => NAMES[one].includes(name));
  const valueIn = (row: Row | undefined) => row?.fields[index]?.trim() ?? '';
  const first = header ? second : top;
  if (!given && !type && parseHash(valueIn(first))) throw new RangeError(`line ${first?.line}: ${UNTOLD}`);

  const read = (row: Row): Dii | BadRow => {
    const { line, fields } = row;
    if (row.broken)
      return { line, reason: 'expected CSV, got a quote that is never closed, or closed in the middle', fields };
    if (index >= fields.length)
      return { line, reason: `expected ${index + 1} columns or more, got ${fields.length}`, fields };
    const dii = diiIn(valueIn(row), given, type);
    return typeof dii === 'string' ? { line, reason: dii, fields } : dii;
  };
  async function* all(): AsyncGenerator<readonly (Dii | BadRow)[], void, undefined> {
    for await (const some of rows) yield (header ? some.filter(({ line }) => line !== top?.line) : some).map(read);
  }
  return { header, index, all: all() };
}

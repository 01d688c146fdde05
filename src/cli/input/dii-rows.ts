/**
 * Reads the DII in the rows of a file, and reports why a row is invalid. The form is detected from the value. Whether a hash is
 * of an email address or a phone number must be specified by `--type` or by the name of the column.
 */

import { diiFault, FORM_NAMES } from '../../server/dii.ts';
import type { Dii } from '../../server/index.ts';
import { type DiiForm, type DiiType, diiTypeOf, hashTextOf, parseHash } from '../../token/index.ts';
import { columnOf, missingField, normalizeName } from './columns.ts';
import { noRowsFault, openRows, type Row } from './csv-rows.ts';
import type { Input } from './input.ts';
import type { RowOptions } from './options.ts';

/** As `normalizeName` returns them. */
const COLUMN_NAMES: Readonly<Record<DiiType, readonly string[]>> = {
  email: ['email', 'emailaddress', 'mail', 'emailhash', 'hashedemail', 'emailsha256', 'sha256email'],
  phone: ['phone', 'phonenumber', 'mobile', 'telephone', 'phonehash', 'hashedphone', 'phonesha256', 'sha256phone'],
};
const TYPES = ['email', 'phone'] as const;

/**
 * Normalisation accepts any text around one `@`. In a field, that may be a line of JSON, a name with an address, several columns
 * with another delimiter, or an invisible character from a spreadsheet, and its hash would belong to nobody. Spaces before the
 * `@` are permitted, because normalisation removes them.
 */
const MORE_THAN_ADDRESS = /[()<>,;:\\"[\]\p{Cc}\p{Cf}]|[^\S ]|@.*\s\S/u;

/** Matches the end of a sentence, or of a list in single quotes. Both belong to no domain. */
const ENDS_LIKE_TEXT = /[.'`\u2019\u201d] *$/;

const UNKNOWN_HASH = 'expected --type email_hash or --type phone_hash for a hash, got neither';

export interface InvalidRow {
  readonly line: number;
  readonly reason: string;
  readonly fields: readonly string[];
}

export interface DiiColumn {
  readonly header: readonly string[] | undefined;
  /** The column of the DII, from 0. */
  readonly index: number;
  readonly width: number;
  readonly delimiter: string;
  /** Why there is no row; undefined if there is one. */
  readonly fault: string | undefined;
  /** The rows after the header; one array for each piece of input. Can be read once. */
  readonly rows: AsyncIterable<readonly Row[]>;
  /** The DII of a row as a hash, or why the row is invalid. */
  diiOf(row: Row): Dii | string;
}

/** Undefined for a hash of unknown type. Any other value has the form of `type`, if `type` is known. */
function detectForm(value: string, type: DiiType | undefined): DiiForm | undefined {
  if (parseHash(value)) return type && `${type}_hash`;
  return type ?? (value.startsWith('+') && !value.includes('@') ? 'phone' : 'email');
}

/**
 * For an invalid value, returns a string: the reason, which does not quote it.
 * @param given  its form. Default: detected.
 * @param type   the type of the value, or of the hashed value, if the form is not given.
 * @param isAmongHashes  whether the other values of its column are hashes.
 */
export function parseDii(value: string, given?: DiiForm, type?: DiiType, isAmongHashes = false): Dii | string {
  if (value === '') return 'expected a value, got none';
  if (value.includes('\ufffd') || value.includes('\0')) return 'expected UTF-8, got other bytes';
  const form = given ?? detectForm(value, type);
  if (!form) return UNKNOWN_HASH;
  const hash = hashTextOf(form, value);
  if (hash && form === 'email' && MORE_THAN_ADDRESS.test(value)) return 'expected an email address and nothing else';
  if (hash && form === 'email' && ENDS_LIKE_TEXT.test(value))
    return 'expected an email address, got a dot or a quotation mark at its end';
  const fault = hash && diiFault(form, value);
  if (fault) return fault;
  if (hash) return diiTypeOf(form) === 'email' ? { emailHash: hash } : { phoneHash: hash };
  if (isAmongHashes && !value.includes('@')) return `expected ${FORM_NAMES.email_hash}`;
  const isFormKnown = given ?? type ?? (value.includes('@') || form === 'phone');
  return isFormKnown
    ? `expected ${FORM_NAMES[form]}`
    : 'expected an email address, a phone number with a leading +, or a hash';
}

/** Tell whether {@link parseDii} has refused a hash because nothing tells its type. */
export function isUnknownHash(dii: Dii | string): dii is string {
  return dii === UNKNOWN_HASH;
}

export interface DiiRowOptions extends RowOptions {
  readonly type?: DiiForm;
}

/** Tell which type of DII a column of this name contains. Undefined if the name is not known. */
export function typeNamed(name: string): DiiType | undefined {
  const normalized = normalizeName(name);
  return TYPES.find((type) => COLUMN_NAMES[type].includes(normalized));
}

/** Tell whether rows are JSON lines. A row of CSV may begin with a brace, but is no object as a whole. */
function areJsonLines(rows: readonly Row[]): boolean {
  const texts = rows.map(({ text }) => text.trim()).filter((text) => text !== '');
  return texts.length > 0 && texts.every((text) => /^\{\s*"/.test(text) && text.endsWith('}'));
}

/**
 * The first rows show which column to read. @throws {RangeError} for no file, JSON lines, no such column, or hashes of unknown
 * type.
 */
export async function openDiiColumn(
  input: Input,
  { column, delimiter: givenDelimiter, type: given }: DiiRowOptions,
  keepsEmpty = false,
): Promise<DiiColumn> {
  const { first: top, next, seen, delimiter, rows } = await openRows(input, givenDelimiter, { keepsEmpty });
  if (areJsonLines(seen))
    throw new RangeError(
      `${input.name}: expected CSV, or one value per line, got JSON lines, which only --out with --jsonl reads`,
    );
  const known = given ? COLUMN_NAMES[diiTypeOf(given)] : TYPES.flatMap((type) => COLUMN_NAMES[type]);
  const isValue = (field: string): boolean =>
    parseHash(field) !== undefined || typeof parseDii(field, given) !== 'string';
  const { index, header } = columnOf(
    { first: top?.fields, next: next.map(({ fields }) => fields), isValue },
    column,
    known,
  );
  const fault = noRowsFault(input.name, seen, header);
  const name = header?.[index] ?? '';
  const type = typeNamed(name);
  const valueIn = (row: Row | undefined) => row?.fields[index]?.trim() ?? '';
  // A first line without DII may contain a column name that is not known.
  const firstData = header || !isValue(valueIn(top)) ? next.find((row) => valueIn(row) !== '') : top;
  const isFirstHash = parseHash(valueIn(firstData)) !== undefined;
  if (!given && !type && isFirstHash) throw new RangeError(`line ${firstData?.line}: ${UNKNOWN_HASH}`);
  const areHashes = isFirstHash || /hash|sha256/.test(normalizeName(name));
  async function* withoutHeader(): AsyncGenerator<readonly Row[], void, undefined> {
    for await (const some of rows) yield header ? some.filter(({ line }) => line !== top?.line) : some;
  }
  return {
    header,
    index,
    width: top?.fields.length ?? 1,
    delimiter,
    fault,
    rows: withoutHeader(),
    diiOf: (row) => missingField(row, index) ?? parseDii(valueIn(row), given, type, areHashes),
  };
}

export interface DiiRows extends Pick<DiiColumn, 'header' | 'index' | 'fault'> {
  /** The DII of each row as a hash, or why the row is invalid; one array for each piece of input. Can be read once. */
  readonly all: AsyncIterable<readonly (Dii | InvalidRow)[]>;
}

/** Throws the errors of {@link openDiiColumn}. */
export async function openDiiRows(input: Input, options: DiiRowOptions): Promise<DiiRows> {
  const { header, index, fault, rows, diiOf } = await openDiiColumn(input, options);
  const read = (row: Row): Dii | InvalidRow => {
    const dii = diiOf(row);
    return typeof dii === 'string' ? { line: row.line, reason: dii, fields: row.fields } : dii;
  };
  async function* all(): AsyncGenerator<readonly (Dii | InvalidRow)[], void, undefined> {
    for await (const some of rows) yield some.map(read);
  }
  return { header, index, fault, all: all() };
}

/** Create the error for a file without a valid row. Takes the first of its rows, and the column, from 0. */
export function noValidRow(
  name: string,
  count: number,
  { line, fields, reason }: InvalidRow,
  index: number,
): RangeError {
  const [rows, columns] = [`${count} ${count === 1 ? 'row' : 'rows'}`, fields.length === 1 ? 'column' : 'columns'];
  return new RangeError(
    `${name}: expected DII in column ${index + 1}, got none in ${rows}; line ${line}, read as ${fields.length} ${columns}: ${reason}; check --delimiter, --column and --type`,
  );
}

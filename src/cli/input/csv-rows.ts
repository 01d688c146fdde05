/**
 * Reads the rows of a CSV file, or of a file with one value per line, with their line numbers.
 *
 * A quote that is never closed invalidates its own line, not the rest of the file. A stream of csv-parse with its options `raw`
 * and `skip_records_with_error` would lose that rest, and takes four times the CPU time of parsing large pieces.
 */

import { type Options, parse } from 'csv-parse/sync';
import { type Input, MAX_CHARACTERS } from './input.ts';

export interface Row {
  /** Line on which the row starts, from 1. */
  readonly line: number;
  readonly fields: readonly string[];
  /** The row as it is in the file, without the line break at its end. */
  readonly text: string;
  /** The quotes of the row do not match. `fields` and `text` then contain its first line. */
  readonly broken?: true;
}

const DELIMITERS = [',', ';', '\t', '|'];

/** Detect the delimiter: whichever of comma, semicolon, tab and bar occurs most often in the line. */
function detectDelimiter(line: string): string {
  const unquoted = line.replace(/"(?:[^"]|"")*"/g, '');
  const counts = DELIMITERS.map((delimiter) => unquoted.split(delimiter).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))]!;
}

/** A first line such as `sep=;`, which declares the delimiter for Excel. `\t`, written with a backslash, means a tab. */
const SEPARATOR_LINE = /^("?)sep=(\\t|[^"\r\n])\1\r?(?:\n|$)/i;

function separatorLine(text: string): { readonly length: number; readonly delimiter: string } | undefined {
  const [line, , delimiter] = SEPARATOR_LINE.exec(text) ?? [];
  return line === undefined ? undefined : { length: line.length, delimiter: delimiter!.replace('\\t', '\t') };
}

function optionsFor(delimiter: string): Options {
  return {
    delimiter,
    record_delimiter: ['\r\n', '\n'],
    relax_column_count: true,
    // A quote within a field is an ordinary character.
    relax_quotes: true,
    // Without it, text after a closing quote would extend the field over the next lines. Tabs as delimiters are not trimmed.
    trim: true,
    max_record_size: 0,
  };
}

interface Parsed {
  /** The records before the first fault. */
  readonly records: string[][];
  readonly fault?: 'incomplete' | 'malformed';
}

/** Parse text, and keep the records before a fault. The option `on_record` makes this several times slower. */
function parseSlowly(text: string, options: Options): Parsed {
  const records: string[][] = [];
  try {
    parse(text, { ...options, on_record: (record) => void records.push(record) });
    return { records };
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (typeof code !== 'string' || !code.startsWith('CSV_')) throw error;
    return { records, fault: code === 'CSV_QUOTE_NOT_CLOSED' ? 'incomplete' : 'malformed' };
  }
}

/**
 * Shorter text is parsed only with {@link parseSlowly}: parsing it fast first, and again after a fault, would take longer. After
 * a malformed row, more of them are likely, and the text after each one is parsed again: so the next piece has half as many
 * characters, and each piece without a fault doubles that number.
 */
const FEW_CHARACTERS = 1_000;

function parseText(text: string, options: Options): Parsed {
  if (text.length > FEW_CHARACTERS)
    try {
      return { records: parse(text, options) as string[][] };
    } catch {
      // Parse again, which throws the same error.
    }
  return parseSlowly(text, options);
}

function countLines(fields: readonly string[]): number {
  return fields.reduce((sum, field) => sum + (field.includes('\n') ? field.split('\n').length - 1 : 0), 1);
}

/** The position after `lines` lines of `text` that begin at `start`. */
function positionAfter(text: string, start: number, lines: number): number {
  let at = start;
  for (let i = 0; i < lines; i++) at = text.indexOf('\n', at) + 1 || text.length;
  return at;
}

/** The position before the line break, if any, at the end of the row from `at` to `end`. */
function endOfText(text: string, at: number, end: number): number {
  const before = end > at && text[end - 1] === '\n' ? end - 1 : end;
  return before > at && before < end && text[before - 1] === '\r' ? before - 1 : before;
}

/** The position after the line that contains the character at `at`, but at most `end`, which is also the end of a line. */
function endOfLine(text: string, at: number, end: number): number {
  return at < end ? text.indexOf('\n', at) + 1 || end : end;
}

/** Return the text of a row. @throws {RangeError} if it is a single line that is too long. */
function withinLimit(text: string, name: string): string {
  if (text.length <= MAX_CHARACTERS || text.includes('\n')) return text;
  throw new RangeError(`${name}: expected lines of at most ${MAX_CHARACTERS} characters, got a longer one`);
}

function isEmpty({ fields }: Row): boolean {
  return fields.length === 1 && !fields[0];
}

/** Read rows, one array for each piece of text. An unknown delimiter is detected, and set in `format` before the first row. */
async function* rowsOf(input: Input, format: { delimiter?: string }): AsyncGenerator<readonly Row[], void, undefined> {
  let options = format.delimiter === undefined ? undefined : optionsFor(format.delimiter);
  let rest = '';
  let line = 1;
  // Old spreadsheets for Mac end lines with CR only. Once that is detected, LF replaces it.
  let endsWithCr = false;
  // An incomplete row is parsed again only after the text has doubled, not with every piece.
  let parseAbove = 0;

  const takeRows = (isEnd: boolean): Row[] => {
    const rows: Row[] = [];
    if (line === 1 && (isEnd || rest.length > MAX_CHARACTERS) && !rest.includes('\n')) {
      endsWithCr = rest.includes('\r');
      rest = rest.replaceAll('\r', '\n');
    }
    const separator = line === 1 && (isEnd || rest.includes('\n')) ? separatorLine(rest) : undefined;
    if (separator) {
      options ??= optionsFor(separator.delimiter);
      rest = rest.slice(separator.length);
      line++;
    }
    let characters = rest.length;
    for (;;) {
      const end = isEnd ? rest.length : rest.lastIndexOf('\n') + 1;
      if (end === 0) break;
      const cut = endOfLine(rest, characters, end);
      options ??= optionsFor(detectDelimiter(/^.*\S.*$/m.exec(rest)?.[0] ?? ''));
      format.delimiter = options.delimiter as string;
      const { records, fault } = parseText(rest.slice(0, cut), options);
      let at = 0;
      for (const fields of records) {
        const lines = countLines(fields);
        const end = positionAfter(rest, at, lines);
        rows.push({ line, fields, text: withinLimit(rest.slice(at, endOfText(rest, at, end)), input.name) });
        line += lines;
        at = end;
      }
      rest = rest.slice(fault ? at : cut);
      characters *= 2;
      if (cut < end && fault !== 'malformed') continue;
      parseAbove = fault ? Math.min(2 * rest.length, MAX_CHARACTERS) : 0;
      if (!fault || (fault === 'incomplete' && !isEnd && rest.length <= MAX_CHARACTERS)) break;
      const [first = ''] = rest.split('\n', 1);
      const text = withinLimit(first.trimEnd(), input.name);
      rows.push({ line, fields: [text], text, broken: true });
      rest = rest.slice(first.length + 1);
      line++;
      characters = FEW_CHARACTERS / 2;
    }
    withinLimit(rest, input.name);
    return rows;
  };

  for await (const piece of input.pieces) {
    rest += endsWithCr ? piece.replaceAll('\r', '\n') : piece;
    if (rest.length > parseAbove) yield takeRows(false);
  }
  yield takeRows(true);
}

export interface OpenRows {
  /** The first row, which may be a header; undefined for an empty input. */
  readonly first: Row | undefined;
  /** The rows after it that have been read so far: at least one, if the input has one. */
  readonly next: readonly Row[];
  /** The rows that have been read so far, with malformed ones. */
  readonly seen: readonly Row[];
  readonly delimiter: string;
  /** All rows, including those. Can be read once. */
  readonly rows: AsyncIterable<readonly Row[]>;
}

const MAX_SKIPPED = 1000;

/**
 * Start reading the rows of an input. An unknown delimiter is that of a first line such as `sep=;`, otherwise it is detected.
 * @param keepsEmpty  whether an empty line is a row.
 * @throws {RangeError} if the input cannot be read or, also while reading `rows`, if a line is too long.
 */
export async function openRows(
  input: Input,
  delimiter?: string,
  { keepsEmpty = false }: { readonly keepsEmpty?: boolean } = {},
): Promise<OpenRows> {
  const format: { delimiter?: string } = delimiter === undefined ? {} : { delimiter };
  const rows = rowsOf(input, format);
  const seen: Row[] = [];
  const kept = (some: readonly Row[]) => (keepsEmpty ? some : some.filter((row) => !isEmpty(row)));
  const whole = () => seen.filter((row) => !row.broken && !isEmpty(row));
  for (;;) {
    const { value, done } = await rows.next();
    if (value) seen.push(...kept(value));
    if (done || whole().length > 1 || seen.length > MAX_SKIPPED) break;
  }
  const [first, ...next] = whole();
  async function* all(): AsyncGenerator<readonly Row[], void, undefined> {
    try {
      yield seen.splice(0);
      for await (const some of rows) yield kept(some);
    } finally {
      // A consumer that stops at the first array has not reached `yield*`, so the input would stay open.
      await rows.return();
    }
  }
  return { first, next, seen: [...seen], delimiter: format.delimiter ?? ',', rows: all() };
}

/** Describe an input without rows; undefined if it has some. `seen`: the rows that were read, with the header if there is one. */
export function noRowsFault(name: string, seen: readonly Row[], header: unknown): string | undefined {
  if (seen.length === 0) return `${name}: expected rows, got none: it is empty`;
  return header && seen.length === 1 ? `${name}: expected rows, got only a header` : undefined;
}

/**
 * The rows of a CSV file, or of a file with one value a line, with the line on which each begins.
 *
 * The text is parsed in stretches, as it comes: many rows at once are several times as fast as one by one. What a
 * stretch leaves unfinished goes before the next one. A quote that is never closed costs its own line, not the rest of
 * the file. Before: `input.ts`. Next: `columns.ts`.
 */

import { type Options, parse } from 'csv-parse/sync';
import { type Input, MOST_CHARACTERS } from './input.ts';

/** A row of the file. */
export interface Row {
  /** Of its beginning, from 1 on. */
  readonly line: number;
  readonly fields: readonly string[];
  /** Whether it is no row at all, for its quotes make no sense. `fields` then is its first line as it is. */
  readonly broken?: true;
}

const DELIMITERS = [',', ';', '\t', '|'];

/** What separates the fields, by the first line: the one of comma, semicolon, tab and bar that it has most of. */
const delimiterIn = (line: string): string => {
  const unquoted = line.replace(/"(?:[^"]|"")*"/g, '');
  const counts = DELIMITERS.map((delimiter) => unquoted.split(delimiter).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))]!;
};

const optionsFor = (delimiter: string): Options => ({
  delimiter,
  record_delimiter: ['\r\n', '\n'],
  relax_column_count: true,
  // A quote in the middle of a field is a character.
  relax_quotes: true,
  // A tab is white space.
  trim: delimiter !== '\t',
  max_record_size: 0,
});

interface Parsed {
  /** Those before the first that is none. */
  readonly records: string[][];
  /** Why the next is none: text that is not there yet may `end` it, or nothing can. */
  readonly lacks?: 'end' | 'sense';
}

const parsed = (text: string, options: Options): Parsed => {
  let code: unknown;
  try {
    return { records: parse(text, options) as string[][] };
  } catch (error) {
    ({ code } = error as { code?: unknown });
    if (typeof code !== 'string' || !code.startsWith('CSV_')) throw error;
  }
  // Once more, since to hand out each record as it comes takes longer.
  const records: string[][] = [];
  try {
    parse(text, { ...options, on_record: (record) => void records.push(record) });
  } catch {
    // As before.
  }
  return { records, lacks: code === 'CSV_QUOTE_NOT_CLOSED' ? 'end' : 'sense' };
};

const linesIn = (fields: readonly string[]): number =>
  fields.reduce((sum, field) => sum + (field.includes('\n') ? field.split('\n').length - 1 : 0), 1);

/** The position after so many lines of `text`. */
const after = (text: string, lines: number): number => {
  let at = 0;
  for (let i = 0; i < lines; i++) at = text.indexOf('\n', at) + 1;
  return at;
};

// In arrays as they come in.
async function* rowsOf(input: Input, delimiter: string | undefined): AsyncGenerator<readonly Row[], void, undefined> {
  let options = delimiter === undefined ? undefined : optionsFor(delimiter);
  let rest = '';
  let line = 1;
  // A row that goes on and on is not parsed again with every piece.
  let enough = 0;

  /** Take the rows out of `rest`. */
  const taken = (end: boolean): Row[] => {
    const rows: Row[] = [];
    for (;;) {
      const cut = end ? rest.length : rest.lastIndexOf('\n') + 1;
      if (cut === 0) break;
      options ??= optionsFor(delimiterIn(/^.*\S.*$/m.exec(rest)?.[0] ?? ''));
      const { records, lacks } = parsed(rest.slice(0, cut), options);
      const before = line;
      for (const fields of records) {
        if (fields.length > 1 || fields[0]) rows.push({ line, fields });
        line += linesIn(fields);
      }
      rest = rest.slice(lacks ? after(rest, line - before) : cut);
      enough = lacks ? Math.min(2 * rest.length, MOST_CHARACTERS) : 0;
      if (!lacks || (lacks === 'end' && !end && rest.length <= MOST_CHARACTERS)) break;
      // Without its first line it begins anew.
      const [first = ''] = rest.split('\n', 1);
      rows.push({ line, fields: [first.trimEnd()], broken: true });
      rest = rest.slice(first.length + 1);
      line++;
    }
    if (rest.length > MOST_CHARACTERS && !rest.includes('\n'))
      throw new RangeError(`FILE: expected lines, got one of more than ${MOST_CHARACTERS} characters`);
    return rows;
  };

  for await (const piece of input.pieces) {
    rest += piece;
    if (rest.length > enough) yield taken(false);
  }
  yield taken(true);
}

/** Rows that were begun to be read. */
export interface OpenRows {
  /** The first row, which may name the columns; undefined where there is none. */
  readonly top: Row | undefined;
  /** The row after it. */
  readonly second: Row | undefined;
  /** All that are not empty, these two among them. To be read once. */
  readonly rows: AsyncIterable<readonly Row[]>;
}

// Broken rows say nothing of the others; among so many of them nobody looks further.
const MOST_LOOKED_AT = 1000;

/**
 * Begin to read the rows of an input.
 *
 * @param delimiter  what separates the fields. Default: told by the first line.
 * @throws {RangeError} it cannot be read; or, of `rows` too, a row has no end.
 */
export async function openRows(input: Input, delimiter?: string): Promise<OpenRows> {
  const rows = rowsOf(input, delimiter);
  const seen: Row[] = [];
  const whole = () => seen.filter(({ broken }) => !broken);
  for (;;) {
    const { value, done } = await rows.next();
    if (value) seen.push(...value);
    if (done || whole().length > 1 || seen.length > MOST_LOOKED_AT) break;
  }
  const [top, second] = whole();
  async function* all(): AsyncGenerator<readonly Row[], void, undefined> {
    yield seen.splice(0);
    yield* rows;
  }
  return { top, second, rows: all() };
}

/**
 * Reads CSV, or one value per line, for `tessera map --out`. Only the text of a row that is no CSV, or has more columns than the
 * first, changes: to one quoted field, so that the added columns stay in their place.
 */

import type { Row } from '../input/csv-rows.ts';
import { type DiiColumn, type DiiRowOptions, type InvalidRow, noValidRow, openDiiColumn } from '../input/dii-rows.ts';
import type { Input } from '../input/input.ts';
import { csvField } from '../output/csv-line.ts';
import { ADDED, replacedNames, rowOf, type Table, type TableRow } from './answered-rows.ts';

/** The columns that are kept, from 0; undefined if all are. */
function keptColumns({ header = [], index }: DiiColumn): readonly number[] | undefined {
  const replaced = replacedNames(header, 'line 1');
  if (replaced.size === 0) return undefined;
  if (replaced.has(header[index]!.trim()))
    throw new RangeError('--column: expected a column of DII, got one that --out adds');
  return header.flatMap((name, at) => (replaced.has(name.trim()) ? [] : [at]));
}

export interface CsvTableOptions extends DiiRowOptions {
  /** Put `'` before fields that a spreadsheet would evaluate. The text of rows is then not kept as it is. */
  readonly spreadsheet?: boolean;
}

/** Throws the errors of `openDiiColumn`, and a RangeError for an empty input or a column with the name of an added one. */
export async function openCsvTable(input: Input, options: CsvTableOptions, version: 2 | 3): Promise<Table> {
  const opened = await openDiiColumn(input, options, true);
  const { header, index, width, delimiter, fault, diiOf } = opened;
  if (fault) throw new RangeError(fault);
  const kept = keptColumns(opened);
  const keptWidth = kept?.length ?? width;
  const { spreadsheet = false } = options;
  const fieldOf = (value: string | null): string => csvField(value, delimiter, spreadsheet);
  const lineOf = (values: readonly (string | null)[]) => values.map(fieldOf).join(delimiter);
  let count = 0;
  let valid = 0;
  let firstInvalid: InvalidRow | undefined;

  const startOf = ({ fields, text, broken }: Row): string => {
    if (broken || fields.length > width) return fieldOf(text) + delimiter.repeat(keptWidth - 1);
    if (kept) return lineOf(kept.map((at) => fields[at] ?? null));
    if (spreadsheet) return lineOf(fields) + delimiter.repeat(width - fields.length);
    return fields.length === width ? text : text + delimiter.repeat(width - fields.length);
  };
  const read = (row: Row): TableRow => {
    const { line, fields } = row;
    const isLong = fields.length > width;
    const dii = isLong ? `expected ${width} columns, as in the first line, got ${fields.length}` : diiOf(row);
    count++;
    if (typeof dii === 'string') firstInvalid ??= { line, reason: dii, fields };
    else valid++;
    return rowOf(startOf(row), dii);
  };
  async function* rows(): AsyncGenerator<readonly TableRow[], void, undefined> {
    for await (const some of opened.rows) yield some.map(read);
  }
  const added = ADDED[version];
  return {
    header: header && `${lineOf([...(kept?.map((at) => header[at]!) ?? header), ...added])}\n`,
    rows: rows(),
    endOf: (values) => {
      let end = '';
      for (const value of values) end += delimiter + fieldOf(value);
      return `${end}\n`;
    },
    isEnd: (text) => {
      const [before, ...fields] = text.replace(/"(?:[^"]|"")*"/g, '').split(delimiter);
      return before === '' && fields.length === added.length;
    },
    faultOfAll: () => (valid === 0 && firstInvalid ? noValidRow(input.name, count, firstInvalid, index) : undefined),
  };
}

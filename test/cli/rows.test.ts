/** Rows of a file: their line numbers, and malformed rows. */

import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { openRows } from '../../src/cli/input/csv-rows.ts';
import { openDiiRows } from '../../src/cli/input/dii-rows.ts';
import { openInput } from '../../src/cli/input/input.ts';
import type { Io } from '../../src/cli/io.ts';

vi.mock('csv-parse/sync', { spy: true });

const ioOf = (pieces: Iterable<string | Uint8Array>): Io => ({
  env: {},
  stdin: async function* () {
    yield* pieces;
  },
  out: () => {},
  err: () => {},
  data: () => {},
  flushed: async () => {},
  stopped: () => new Promise(() => {}),
});

/** Each row as its line and its fields; a malformed one with a mark before. */
const rowsOf = async (pieces: string | Iterable<string | Uint8Array>, delimiter?: string) => {
  const input = await openInput('-', ioOf(typeof pieces === 'string' ? [pieces] : pieces));
  const found: (string | number)[][] = [];
  for await (const rows of (await openRows(input, delimiter)).rows)
    for (const { line, fields, broken } of rows) found.push([...(broken ? ['broken'] : []), line, ...fields]);
  return found;
};

describe('rows', () => {
  test.each<[what: string, text: string, rows: (string | number)[][]]>([
    [
      'lines',
      'a\nb\n',
      [
        [1, 'a'],
        [2, 'b'],
      ],
    ],
    [
      'a last line without a line break',
      'a\nb',
      [
        [1, 'a'],
        [2, 'b'],
      ],
    ],
    ['nothing', '', []],
    ['empty lines alone', '\n\r\n\n', []],
    [
      'empty lines, which count as lines',
      '\n\na\n\n\nb\n',
      [
        [3, 'a'],
        [6, 'b'],
      ],
    ],
    [
      'CRLF, and both kinds in one file',
      'a\r\nb\nc\r\n',
      [
        [1, 'a'],
        [2, 'b'],
        [3, 'c'],
      ],
    ],
    [
      'lines that end with CR alone',
      'a,1\r"b",2\r\r"c\rd",3\r',
      [
        [1, 'a', '1'],
        [2, 'b', '2'],
        [4, 'c\nd', '3'],
      ],
    ],
    [
      'a single CR in a file of other line ends, which is a part of its field',
      'a\nb\rc',
      [
        [1, 'a'],
        [2, 'b\rc'],
      ],
    ],
    ['a byte order mark', '\ufeffa,b\n', [[1, 'a', 'b']]],
    ['quoted fields', '"a,1","b ""2"""\n', [[1, 'a,1', 'b "2"']]],
    ['quoted fields with white space around', ' "a" , "b" \n', [[1, 'a', 'b']]],
    [
      'a field of several lines: a row has the number of its first line',
      '"a\nb\r\nc",1\nd,2\n',
      [
        [1, 'a\nb\r\nc', '1'],
        [4, 'd', '2'],
      ],
    ],
    [
      'a quote within a field, which is an ordinary character',
      '5" pipe,a\nb,c\n',
      [
        [1, '5" pipe', 'a'],
        [2, 'b', 'c'],
      ],
    ],
    [
      'rows of different lengths',
      'a,b\nc\nd,e,f\n',
      [
        [1, 'a', 'b'],
        [2, 'c'],
        [3, 'd', 'e', 'f'],
      ],
    ],
    [
      'a quote that is never closed',
      'a,1\n"b,2\nc,3\n',
      [
        [1, 'a', '1'],
        ['broken', 2, '"b,2'],
        [3, 'c', '3'],
      ],
    ],
    [
      'an unclosed quote on the first line',
      '"a,1\nb,2\n',
      [
        ['broken', 1, '"a,1'],
        [2, 'b', '2'],
      ],
    ],
    [
      'an unclosed quote on the last line',
      'a,1\n"b',
      [
        [1, 'a', '1'],
        ['broken', 2, '"b'],
      ],
    ],
  ])('are read from %s', async (_, text, rows) => {
    expect(await rowsOf(text)).toEqual(rows);
    // For every way to split the text into pieces.
    expect(await rowsOf(Array.from(Buffer.from(text), (byte) => Uint8Array.of(byte)))).toEqual(rows);
  });

  test.each<[line: string, fields: string[]]>([
    ['a,b', ['a', 'b']],
    ['a;b', ['a', 'b']],
    ['a\tb', ['a', 'b']],
    ['a|b', ['a', 'b']],
    ['a;b;1,5', ['a', 'b', '1,5']],
    ['"a,b,c";d', ['a,b,c', 'd']],
    ['a\t\tb', ['a', '', 'b']],
    ['a b', ['a b']],
  ])('are split at the most frequent delimiter of the first line: %j', async (line, fields) => {
    expect(await rowsOf(`${line}\n`)).toEqual([[1, ...fields]]);
  });

  test('with quotes that do not quote cost their own line in a file with tabs too', async () => {
    const text = '1\ta@x.com\t"Bob\n2\tb@x.com\tAl\n3\tc@x.com\t"Zed\n4\td@x.com\tX';
    expect(await rowsOf(text)).toEqual([
      ['broken', 1, '1\ta@x.com\t"Bob'],
      [2, '2', 'b@x.com', 'Al'],
      ['broken', 3, '3\tc@x.com\t"Zed'],
      [4, '4', 'd@x.com', 'X'],
    ]);
  });

  test.each<[line: string, fields: string[]]>([
    ['a\t\tb', ['a', '', 'b']],
    ['\tb', ['', 'b']],
    ['b\t', ['b', '']],
    ['\t\t', ['', '', '']],
    ['"a"\t\t"b"\t', ['a', '', 'b', '']],
  ])('keep the empty fields between tabs: %j', async (line, fields) => {
    expect(await rowsOf(`x\ty\n${line}\n`)).toEqual([
      [1, 'x', 'y'],
      [2, ...fields],
    ]);
  });

  test('close their input if the consumer stops at the first array', async () => {
    let isClosed = false;
    const stdin = async function* () {
      try {
        yield 'a,b\nc,d\n';
        yield 'e,f\n';
      } finally {
        isClosed = true;
      }
    };
    const input = await openInput('-', { ...ioOf([]), stdin });
    for await (const _ of (await openRows(input)).rows) break;
    expect(isClosed).toBe(true);
  });

  test.each<[what: string, text: string, column?: string]>([
    ['one member each', '{"email":"a@example.com"}\n{"email":"b@example.com"}\n'],
    ['several members, which are no CSV', '\ufeff{"id":1,"email":"a@example.com"}\r\n\r\n{ "id":2 }\r\n'],
    ['one line', '{"email":"a@example.com"}'],
    ['a column', '{"email":"a@example.com"}\n', 'email'],
  ])('that are JSON lines are refused with the name of the option that reads them: %s', async (_, text, column) => {
    const opened = openDiiRows(await openInput('-', ioOf([text])), column === undefined ? {} : { column });
    await expect(opened).rejects.toThrow(
      new RangeError(
        'standard input: expected CSV, or one value per line, got JSON lines, which only --out with --jsonl reads',
      ),
    );
  });

  test('of CSV may begin with a brace, or contain JSON', async () => {
    for (const text of ['{6f96},a@example.com\n{7f96},b@example.com\n', 'a@example.com,x\n"{""id"":1}",x\n']) {
      const { index } = await openDiiRows(await openInput('-', ioOf([text])), { column: '2' });
      expect(index).toBe(1);
    }
  });

  test('are split at the given delimiter', async () => {
    expect(await rowsOf('a,b:c,d\n', ':')).toEqual([[1, 'a,b', 'c,d']]);
  });

  test.each<[text: string, rows: (string | number)[][]]>([
    ['sep=;\na,1;b,2\n', [[2, 'a,1', 'b,2']]],
    ['\ufeffsep=,\r\na;b,c;d;e\r\n', [[2, 'a;b', 'c;d;e']]],
    ['SEP=\t\na\t\tb', [[2, 'a', '', 'b']]],
    ['sep=\\t\na,1\tb,2', [[2, 'a,1', 'b,2']]],
    ['"sep=|"\na,b|c,d,e\n', [[2, 'a,b', 'c,d,e']]],
    ['sep=:\ra,b:c\r', [[2, 'a,b', 'c']]],
    ['sep=;', []],
    [
      'sep=\na,b\n',
      [
        [1, 'sep='],
        [2, 'a', 'b'],
      ],
    ],
    [
      'a;b\nsep=,\n',
      [
        [1, 'a', 'b'],
        [2, 'sep=,'],
      ],
    ],
  ])('are split at the delimiter that a first line sep= names, which is no row: %j', async (text, rows) => {
    expect(await rowsOf(text)).toEqual(rows);
    expect(await rowsOf(Array.from(Buffer.from(text), (byte) => Uint8Array.of(byte)))).toEqual(rows);
  });

  test('are split at the given delimiter, whatever a first line sep= names', async () => {
    expect(await rowsOf('sep=;\na,1;b\n', ',')).toEqual([[2, 'a', '1;b']]);
  });

  test.each(['utf-16le', 'utf-16be'] as const)('are read from %s with a byte order mark', async (encoding) => {
    const bytes = Buffer.from('\ufeffname\temail\nJosé\ta@b\n', 'utf16le');
    if (encoding === 'utf-16be') bytes.swap16();
    expect(await rowsOf([bytes])).toEqual([
      [1, 'name', 'email'],
      [2, 'José', 'a@b'],
    ]);
  });

  test.each([1, 5, 1000])(
    'are refused at the line of bytes that are not UTF-8, in pieces of %i bytes',
    async (size) => {
      const text = Buffer.from('name\nJos\u00e9 \ufffd\nM');
      const list = Buffer.concat([text, Buffer.from('\u00fcller\nJos\u00e9\n', 'latin1')]);
      const pieces = Array.from({ length: Math.ceil(list.length / size) }, (_, i) =>
        list.subarray(i * size, (i + 1) * size),
      );
      const read = async () => {
        for await (const _ of (await openInput('-', ioOf(pieces), undefined, true)).pieces);
      };
      await expect(read()).rejects.toThrow('standard input: line 3: expected UTF-8, got other bytes');
    },
  );

  test.each([
    ['1f8b0800', 'a file compressed with gzip; unpack it: zcat FILE | tessera ... -'],
    ['28b52ffd2408', 'a file compressed with zstd; unpack it: zstdcat FILE | tessera ... -'],
    ['fd377a585a000004', 'a file compressed with xz; unpack it: xzcat FILE | tessera ... -'],
    ['425a683931415926', 'a file compressed with bzip2; unpack it: bzcat FILE | tessera ... -'],
    ['5041523115041500', 'a Parquet file; export it as CSV'],
  ])('that begin with the bytes %s are refused: %s', async (hex, message) => {
    await expect(rowsOf([Buffer.from(hex, 'hex')])).rejects.toThrow(`standard input: expected text, got ${message}`);
  });

  test('a workbook is refused', async () => {
    const start = [Uint8Array.of(0x50, 0x4b), Uint8Array.of(3, 4, 20)];
    await expect(rowsOf(start)).rejects.toThrow(
      'standard input: expected text, got a workbook or another ZIP file; save the sheet as CSV',
    );
    expect(await rowsOf(['PK'])).toEqual([[1, 'PK']]);
  });

  test('that are too long are refused, and an unclosed quote costs one line', async () => {
    const tooLong = 'standard input: expected lines of at most 65536';
    await expect(rowsOf(['x'.repeat(70_000)])).rejects.toThrow(tooLong);
    // Also if it comes in one piece with its end.
    await expect(rowsOf([`a,b\n${'x'.repeat(65_535)},y\n`])).rejects.toThrow(tooLong);
    expect((await rowsOf([`a,b\n${'x'.repeat(65_534)},y\n`])).length).toBe(2);
    const lines = Array.from({ length: 9000 }, (_, i) => `line ${i},x\n`);
    const rows = await rowsOf(['a,b\n', '"open,c\n', ...lines]);
    expect(rows.slice(0, 3)).toEqual([
      [1, 'a', 'b'],
      ['broken', 2, '"open,c'],
      [3, 'line 0', 'x'],
    ]);
    expect(rows).toHaveLength(9002);
    expect(rows.at(-1)).toEqual([9002, 'line 8999', 'x']);
  });

  test.each(['a,"b"c\n', 'a,"b\n'])(
    'that are all malformed are not parsed again with each of them: %j',
    async (line) => {
      vi.mocked(parse).mockClear();
      const text = line.repeat(2000);
      const rows = await rowsOf(text);
      expect(rows).toHaveLength(2000);
      expect(rows.every(([mark]) => mark === 'broken')).toBe(true);
      const parsed = vi.mocked(parse).mock.calls.reduce((sum, [given]) => sum + given.length, 0);
      // 500 characters for each row.
      expect(parsed).toBeLessThan(2000 * 600);
    },
  );

  test('that end with CR alone are read from a file of any length, in any pieces', async () => {
    const lines = Array.from({ length: 9000 }, (_, i) => `line ${i},x`);
    const text = `${lines.join('\r')}\r`;
    const pieces = Array.from({ length: Math.ceil(text.length / 1000) }, (_, i) =>
      text.slice(i * 1000, (i + 1) * 1000),
    );
    expect(await rowsOf(pieces)).toEqual(lines.map((line, i) => [i + 1, ...line.split(',')]));
  });

  test('have the number of their first line, for any content and any pieces', async () => {
    // Every second field is quoted, as spreadsheets do.
    const field = fc.string({ unit: fc.constantFrom('a', 'b', ' ', ',', '"', '\n', 'é') });
    const rows = fc.array(fc.array(field, { minLength: 2, maxLength: 3 }), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(
        rows,
        fc.integer({ min: 1, max: 9 }),
        fc.constantFrom('\n', '\r\n'),
        async (given, size, end) => {
          const expected: (string | number)[][] = [];
          let text = '';
          for (const fields of given) {
            expected.push([text.split('\n').length, ...fields]);
            text += fields.map((one) => `"${one.replaceAll('"', '""')}"`).join(',') + end;
          }
          const bytes = Buffer.from(text);
          const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
            bytes.subarray(i * size, (i + 1) * size),
          );
          expect(await rowsOf(pieces, ',')).toEqual(expected);
        },
      ),
      { numRuns: 200 },
    );
  });

  test('of any text have increasing line numbers', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', ',', '"', '"', '\n', '\r', ' ') });
    await fc.assert(
      fc.asyncProperty(text, async (given) => {
        const lines = (await rowsOf(given, ',')).map((row) => Number(row[0] === 'broken' ? row[1] : row[0]));
        expect(lines).toEqual(lines.toSorted((a, b) => a - b));
        expect(new Set(lines).size).toBe(lines.length);
        expect(lines.at(-1) ?? 0).toBeLessThanOrEqual(given.split(given.includes('\n') ? '\n' : '\r').length);
      }),
      { numRuns: 1000 },
    );
  });
});

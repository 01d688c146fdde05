/** `tessera map --out`, against the real operator on a port. `map-process.test.ts` has its processes. */

import { readdir, stat, writeFile } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createFixture, type Fixture, type Given, tessera } from './fixtures.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());
afterEach(() => {
  fixture.answer = undefined;
});

const map = async (args: readonly string[], given: Given = {}) => {
  fixture.asked();
  const result = await tessera(['map', ...args], { env: fixture.env, ...given });
  return { ...result, asked: fixture.asked() };
};

const filter = async (text: string, args: readonly string[] = []) => {
  const { out, ...result } = await map(['-', '--out', '-', ...args], { stdin: [text] });
  return { ...result, out: out.join('') };
};

/** The raw ID of an address, and until when it is valid. */
const rawIdOf = async (email: string) => {
  const [found] = await fixture.client.mapIdentities([{ email }]).toArray();
  if (found?.status !== 'mapped') throw new Error('expected a raw ID');
  return { rawId: found.rawId, previousId: found.previousRawId, refreshAt: new Date(found.remapAt).toISOString() };
};

const NONE = { advertising_id: null, previous_id: null, refresh_at: null };
const lineOf = (object: object, more = {}) => `${JSON.stringify({ ...object, ...NONE, ...more })}\n`;

describe('tessera map --out', () => {
  test('writes every row in its order with its columns and four more, to a private file; nothing is stored', async () => {
    const path = await fixture.file('people.csv', 'id;email;note\r\n7;Jane.Doe+x@gmail.com;" a; ""b"""\r\n8;;\r\n');
    const out = fixture.path('people.mapped.csv');
    const { code, out: summary, err, asked } = await map([path, '--out', out]);
    expect({ code, summary, err, asked }).toEqual({
      code: 0,
      summary: [expect.stringMatching(/^rows: 2, mapped: 1, opted out: 0, invalid: 1; \d+ s$/)],
      err: '',
      asked: ['/v3/identity/map'],
    });
    const { rawId, previousId, refreshAt } = await rawIdOf('janedoe@gmail.com');
    expect(await fixture.text(out)).toBe(
      `id;email;note;advertising_id;previous_id;refresh_at;unmapped_reason\n7;Jane.Doe+x@gmail.com;" a; ""b""";${rawId};${previousId ?? ''};${refreshAt};\n8;;;;;;expected a value, got none\n`,
    );
    expect((await stat(out)).mode & 0o777).toBe(0o600);
    expect((await readdir(fixture.path('.'))).sort()).toEqual(['people.csv', 'people.mapped.csv']);
  });

  test.each([
    ['CSV', 'email,name\na@example.com,M\u00fcller\n', []],
    ['JSON lines', '\n{"email":"a@example.com","name":"M\u00fcller"}\n', ['--jsonl']],
  ])('refuses %s with bytes that are not UTF-8', async (_, text, args) => {
    const { code, err } = await map(['-', '--out', fixture.path('latin1.csv'), ...args], {
      stdin: [Buffer.from(text, 'latin1')],
    });
    expect({ code, err }).toEqual({
      code: 2,
      err: expect.stringContaining('standard input: line 2: expected UTF-8, got other bytes; convert the file'),
    });
  });

  test('--spreadsheet puts a quote before every field that a spreadsheet would evaluate, and --resume continues such a file', async () => {
    const text = 'email;=name\na@example.com;"=1+1"\n+12345678901;\uFF1Dx\nb@example.com;@x;"-c;d"\n';
    const path = await fixture.file('formulas.csv', text);
    const out = fixture.path('formulas.mapped.csv');
    const args = [path, '--spreadsheet', '--column', 'email', '--out', out];
    expect((await map(args)).code).toBe(0);
    const written = (await fixture.text(out)) ?? '';
    const starts = written.split('\n').map((line) => line.split(';').slice(0, 2).join(';'));
    expect(starts).toEqual(["email;'=name", "a@example.com;'=1+1", "'+12345678901;'\uFF1Dx", '"b@example.com;@x', '']);
    await writeFile(`${out}.partial`, written.slice(0, -5), { mode: 0o600 });
    expect(await map([...args, '--resume'])).toMatchObject({ code: 0 });
    expect(await fixture.text(out)).toBe(written);
    const json = await map(['-', '--spreadsheet', '--jsonl', '--out', out]);
    expect([json.code, json.err]).toEqual([2, 'error: --spreadsheet: expected CSV, got --jsonl']);
  });

  test('writes lines without a header, and an empty line as a row', async () => {
    const { out, err } = await filter('a@example.com\n\n+12345678901\n');
    expect(out.split('\n').map((line) => line.split(',')[0])).toEqual(['a@example.com', '', '+12345678901', '']);
    expect(err).toContain('rows: 3, mapped: 2');
  });

  test('--v2 adds the salt bucket', async () => {
    const { out } = await filter('email\na@example.com\n', ['--v2']);
    const results = await fixture.client.mapIdentitiesV2([{ email: 'a@example.com' }]).toArray();
    expect(results).toEqual([expect.objectContaining({ status: 'mapped' })]);
    const [{ rawId, bucketId }] = results as unknown as [{ rawId: string; bucketId: string }];
    expect(out).toBe(`email,advertising_id,bucket_id,unmapped_reason\na@example.com,${rawId},${bucketId},\n`);
  });

  test('names the reason of users who have opted out', async () => {
    await fixture.client.optOut({ email: 'out@example.com' });
    const { out, err } = await filter('email\nout@example.com\n');
    expect(out).toMatch(/\nout@example\.com,,,,optout\n$/);
    expect(err).toContain('opted out: 1');
  });

  test('replaces the columns of its own output, and refuses another column of such a name', async () => {
    const first = await filter('email,id\na@example.com,1\n');
    expect((await filter(first.out)).out).toBe(first.out);
    const second = await filter('email,advertising_id\na@example.com,38400000-8cf0-11bd-b23e-10b96e40000d\n');
    expect(second).toMatchObject({ code: 2, out: '', asked: [] });
    expect(second.err).toContain('line 1: expected no column advertising_id, which --out adds, got one; rename it');
    const third = await filter(first.out.replace('id,', 'bucket_id,'));
    expect(third).toMatchObject({ code: 2, out: '', asked: [] });
    expect(third.err).toContain('expected no column bucket_id');
  });

  test('keeps a row that is no CSV, or has too many columns, as one field', async () => {
    const { out } = await filter('id,email\n1,"a@example.com\n2,b@example.com,3\n3\n4,c@example.com\n');
    const rows = parse(out, { from_line: 2 }) as string[][];
    expect(rows.map(([id, email, ...added]) => [id, email, added.at(-1)])).toEqual([
      ['1,"a@example.com', '', expect.stringContaining('a quote that is never closed')],
      ['2,b@example.com,3', '', 'expected 2 columns, as in the first line, got 3'],
      ['3', '', 'expected 2 columns or more, got 1'],
      ['4', 'c@example.com', ''],
    ]);
    expect(rows.every(({ length }) => length === 6)).toBe(true);
  });

  test('a list in single quotes exits with 2, because nobody would be found', async () => {
    const path = await fixture.file('quoted.txt', "'a@example.com'\n'b@example.com'\n");
    const { code, err } = await map([path, '--out', fixture.path('quoted.csv')]);
    expect(code).toBe(2);
    expect(err).toContain(
      'got none in 2 rows; line 1, read as 1 column: expected an email address, got a dot or a quotation',
    );
    expect(await fixture.text(fixture.path('quoted.csv'))).toBeUndefined();
    expect(await fixture.text(fixture.path('quoted.csv.partial'))).toBeUndefined();
  });
});

describe('tessera map --out --jsonl', () => {
  test('keeps the text of each object, and finds the member by its name', async () => {
    const { rawId, previousId, refreshAt } = await rawIdOf('a@example.com');
    const answer = { advertising_id: rawId, previous_id: previousId, refresh_at: refreshAt, unmapped_reason: null };
    const { code, out } = await filter('{"id":12345678901234567890,"email" : "a@example.com"}\r\n\n{"email":""}\n', [
      '--jsonl',
    ]);
    expect(code).toBe(0);
    expect(out).toBe(
      `{"id":12345678901234567890,"email" : "a@example.com",${JSON.stringify(answer).slice(1)}\n${lineOf({ email: '' }, { unmapped_reason: 'expected a value, got none' })}`,
    );
    // Its own output, with the number that JSON.parse would change.
    const again = await filter(out, ['--jsonl']);
    expect(again.out.split('\n')[0]).toBe(out.split('\n')[0]);
  });

  test('answers a row that is no object, or has no string, in its place', async () => {
    const { code, out } = await filter('nonsense\n{"phone":12345678901}\n{}\n{"phone":"+12345678901"}\n', ['--jsonl']);
    expect(code).toBe(0);
    expect(out.split('\n').slice(0, 3).join('\n').concat('\n')).toBe(
      lineOf({ input: 'nonsense' }, { unmapped_reason: 'expected a JSON object, got other text' }) +
        lineOf({ phone: 12345678901 }, { unmapped_reason: 'expected a string with DII, got number' }) +
        lineOf({}, { unmapped_reason: 'expected a member with DII, got none' }),
    );
  });

  test('an empty input is an empty output: a partition may be empty', async () => {
    expect(await filter('', ['--jsonl'])).toMatchObject({ code: 0, out: '', asked: [] });
  });

  test.each<[what: string, text: string, args: string[], message: string]>([
    [
      'two members',
      '{"email":"a@b.example","phone":"+1"}',
      [],
      'line 1: expected one member with DII, got email and phone',
    ],
    ['no member', '{"name":"x"}\n{}', [], 'expected a member with DII, got none in any of 2 rows; give --column'],
    ['a hash', `{"key":"${'A'.repeat(43)}="}`, ['--column', 'key'], 'line 1: expected --type email_hash or --type'],
    ['a delimiter', '{}', ['--delimiter', ';'], '--delimiter: expected CSV, got --jsonl'],
    ['an added name', '{"email":"a@b.example","bucket_id":1}', [], 'line 1: expected no column bucket_id'],
  ])('%s of another use exits with 2', async (_, text, args, message) => {
    const { code, err } = await filter(text, ['--jsonl', ...args]);
    expect(code).toBe(2);
    expect(err).toContain(message);
    expect(err).not.toContain('a@b.example');
  });

  test('answers a slow writer while standard input stays open', async () => {
    let answered = () => {};
    const isAnswered = new Promise<void>((resolve) => (answered = resolve));
    fixture.answer = () => {
      answered();
      return undefined as never;
    };
    async function* stdin() {
      yield '{"email":"a@example.com"}\n';
      await isAnswered;
      yield '{"email":"b@example.com"}\n';
    }
    const { out, asked } = await map(['-', '--out', '-', '--jsonl'], { stdin: stdin() });
    expect(out).toHaveLength(2);
    expect(asked).toHaveLength(2);
  });
});

describe('an interrupted run', () => {
  const people = (count: number) => Array.from({ length: count }, (_, i) => `p${i}@example.com,${i}\n`).join('');

  test('leaves whole rows in a partial file, and continues with --resume', async () => {
    const path = await fixture.file('long.csv', `email,n\n${people(12_000)}`);
    const out = fixture.path('long.mapped.csv');
    await writeFile(out, 'former\n');
    let requests = 0;
    fixture.answer = () => (++requests < 3 ? (undefined as never) : new Response('', { status: 403 }));
    const failed = await map([path, '--out', out, '--workers', '1']);
    expect(failed.code).toBe(1);
    expect(failed.err).toContain('run the same command with --resume to continue');
    expect(await fixture.text(out)).toBe('former\n');
    // Without the header. An incomplete batch is passed on after a second.
    const written = (await fixture.text(`${out}.partial`))!.split('\n').length - 2;
    expect(written).toBeGreaterThan(0);
    fixture.answer = undefined;
    const resumed = await map([path, '--out', out, '--resume']);
    expect(resumed.code).toBe(0);
    const [before, after] = [written, 12_000 - written].map((count) => count.toLocaleString('en-US'));
    expect(resumed.out.join()).toContain(
      `rows: 12,000, written already: ${before}, mapped: ${after}, opted out: 0, invalid: 0`,
    );
    const whole = await map([path, '--out', fixture.path('whole.csv')]);
    expect(whole.code).toBe(0);
    expect(await fixture.text(out)).toBe(await fixture.text(fixture.path('whole.csv')));
  });

  test('continues a copy of the unfinished file that others may read in a private file', async () => {
    const path = await fixture.file('copied.csv', 'email\na@example.com\n');
    const out = fixture.path('copied.mapped.csv');
    const header = 'email,advertising_id,previous_id,refresh_at,unmapped_reason\n';
    await writeFile(`${out}.partial`, header, { mode: 0o644 });
    expect((await map([path, '--out', out, '--resume'])).code).toBe(0);
    expect((await stat(out)).mode & 0o777).toBe(0o600);
  });

  test('leaves no file if no row was written', async () => {
    const path = await fixture.file('refused.csv', people(1));
    fixture.answer = () => new Response('', { status: 403 });
    const { code, err } = await map([path, '--column', '1', '--out', fixture.path('refused.out.csv')]);
    expect(code).toBe(1);
    expect(err).not.toContain('--resume');
    expect(await fixture.text(fixture.path('refused.out.csv.partial'))).toBeUndefined();
  });

  test.each<[what: string, partial: string, args: string[]]>([
    ['other rows', 'email,n,advertising_id,previous_id,refresh_at,unmapped_reason\nx@example.com,1,A,,B,\n', []],
    ['another version', 'email,n,advertising_id,bucket_id,unmapped_reason\np0@example.com,0,A,B,\n', []],
    [
      'more rows',
      'email,n,advertising_id,previous_id,refresh_at,unmapped_reason\np0@example.com,0,A,,B,\np1@example.com,1,A,,B,\n',
      [],
    ],
  ])('is not continued with %s: exit code 2, and the file stays', async (what, partial, args) => {
    const path = await fixture.file(`${what}.csv`, `email,n\n${people(1)}`);
    const out = fixture.path(`${what}.out.csv`);
    await writeFile(`${out}.partial`, partial);
    const { code, err, asked } = await map([path, '--out', out, '--resume', ...args]);
    expect({ code, asked }).toEqual({ code: 2, asked: [] });
    expect(err).toContain(
      'expected the row of the input, got another: the file, --v2 or an option of the rows is not the same; run without --resume to start over',
    );
    expect(await fixture.text(`${out}.partial`)).toBe(partial);
  });

  test('that has no partial file is named', async () => {
    const path = await fixture.file('none.csv', 'p0@example.com\n');
    const { code, err } = await map([path, '--out', fixture.path('absent.csv'), '--resume']);
    expect(code).toBe(2);
    expect(err).toMatch(/--resume: could not read .*absent\.csv\.partial: no such file/);
  });
});

describe('wrong use', () => {
  test.each<[what: string, args: string[], message: string]>([
    ['an empty name', ['-', '--out', ''], '--out: expected a file, or - for standard output, got an empty name'],
    ['--resume of standard output', ['-', '--out', '-', '--resume'], '--resume: expected a file in --out'],
    ['--jsonl alone', ['-', '--jsonl'], '--jsonl: expected together with FILE --out, got FILE'],
    ['--rejects', ['-', '--out', '-', '--rejects', 'x'], '--rejects: expected without --out, got both'],
    ['--database', ['-', '--out', '-', '--database', 'x'], '--database: expected without --out, got both'],
    ['no file', ['--out', '-', '--due'], '--out: expected together with FILE, got --due'],
    ['an empty input', ['-', '--out', '-'], 'standard input: expected rows, got none: it is empty'],
  ])('%s exits with 2', async (_, args, message) => {
    const { code, err, asked } = await map(args);
    expect({ code, asked }).toEqual({ code: 2, asked: [] });
    expect(err).toContain(message);
  });

  test('a terminal as output exits with 2', async () => {
    const { code, err } = await map(['-', '--out', '-'], { outIsTerminal: true });
    expect(code).toBe(2);
    expect(err).toContain('got a terminal, which must not show DII');
  });

  test('the input as output exits with 2, and the input stays', async () => {
    const path = await fixture.file('same.csv.partial', 'a@example.com\n');
    for (const out of [path, path.replace('.partial', '')]) {
      const { code, err } = await map([path, '--out', out]);
      expect(code).toBe(2);
      expect(err).toContain('it is the input file');
    }
    expect(await fixture.text(path)).toBe('a@example.com\n');
  });
});

test('each row of any table is in the output, in its place, also after a run that was killed at any byte', async () => {
  const field = fc.oneof(
    fc.constantFrom('', 'a@example.com', 'Jane.Doe+x@gmail.com', "o'neil@example.com", 'é', ' x '),
    fc.string({ unit: fc.constantFrom('"', ',', ';', '\n', '\r', ' ', 'a', '@', '\t', 'ü') }),
  );
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const tables = fc.record({
    rows: fc.array(fc.tuple(field, field), { minLength: 1, maxLength: 30 }),
    cutAt: fc.nat(),
    lineBreak: fc.constantFrom('\n', '\r\n'),
  });
  let run = 0;
  await fc.assert(
    fc.asyncProperty(tables, async ({ rows, cutAt, lineBreak }) => {
      const text = [['email', 'note'], ['first@example.com', ''], ...rows]
        .map((row) => row.map(quoted).join(','))
        .join(lineBreak);
      const path = await fixture.file('any.csv', text);
      const out = fixture.path(`any-${run++}.csv`);
      expect(await map([path, '--out', out])).toMatchObject({ code: 0, err: '' });
      const whole = (await fixture.text(out))!;
      const found = parse(whole, { from_line: 1 }) as string[][];
      expect(found.slice(1).map((row) => row.slice(0, 2))).toEqual([['first@example.com', ''], ...rows]);
      for (const [email, , rawId, , refreshAt, reason] of found.slice(1))
        expect({ email, isMapped: Boolean(rawId && refreshAt) }).toEqual({ email, isMapped: reason === '' });
      await writeFile(`${out}.partial`, Buffer.from(whole).subarray(0, cutAt % (Buffer.byteLength(whole) + 1)));
      expect(await map([path, '--out', out, '--resume'])).toMatchObject({ code: 0, err: '' });
      expect(await fixture.text(out)).toBe(whole);
    }),
    { numRuns: 60 },
  );
});

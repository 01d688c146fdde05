/** The command `map`, against the real operator on a port, with PostgreSQL. `map-process.test.ts` uses PGlite. */

import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { createMappings } from '../../src/mapping/index.ts';
import type { Dii } from '../../src/server/index.ts';
import { hashTextOf } from '../../src/token/dii.ts';
import { emptyFolder } from '../database/locations.ts';
import { opened, scriptedService } from '../server/scripted-service.ts';
import { createFixture, type Fixture, type Given, tessera } from './fixtures.ts';

const DAY = 86_400_000;
/** The request that precedes a job of version 3. */
const PROBE = '/v3/identity/map';
const PROBE_V2 = '/v2/identity/map';

let fixture: Fixture;
let place: string;
beforeAll(async () => {
  fixture = await createFixture();
  place = await fixture.database();
});
afterAll(() => fixture.close());
afterEach(() => {
  vi.useRealTimers();
  fixture.answer = undefined;
});

const isStored = (arg: string) => ['--due', '--export', '--forget'].includes(arg);

/** Run `tessera map`, by default on the database that all tests share. */
const map = async (args: readonly string[], { database = place, ...given }: Given & { database?: string } = {}) => {
  fixture.asked();
  // The tests leave no file behind.
  const rejects = args.includes('-') && !args.some((arg) => arg.startsWith('--rejects') || isStored(arg));
  const more = ['--database', database, ...(rejects ? ['--rejects', fixture.path('stdin.rejects.csv')] : [])];
  const result = await tessera(['map', ...args, ...more], { env: fixture.env, ...given });
  return { ...result, asked: fixture.asked() };
};

const mapJson = async (args: readonly string[], given: Given & { database?: string } = {}) => {
  const { out, ...result } = await map([...args, '--json'], given);
  expect(out).toHaveLength(1);
  return { ...result, json: JSON.parse(out[0]!) };
};

const stored = async (database = place): Promise<Record<string, string>[]> => {
  const { code, out } = await map(['--export', '-', '--json'], { database });
  expect(code).toBe(0);
  return out.map((line) => JSON.parse(line));
};

const emailHash = (email: string) => hashTextOf('email', email)!;
const phoneHash = (phone: string) => hashTextOf('phone', phone)!;
const keyOf = ({ email, phone, ...hash }: Dii) =>
  email === undefined && phone === undefined
    ? (hash.emailHash ?? hash.phoneHash)
    : email
      ? emailHash(email)
      : phoneHash(phone!);

/** Expect each DII to be stored as the service maps it. */
const expectStored = async (dii: readonly Dii[]) => {
  const mappings = await createMappings({ client: fixture.client, database: place });
  try {
    for await (const result of fixture.client.mapIdentities(dii)) {
      if (result.status !== 'mapped') throw new Error('expected a raw ID');
      const { rawId, previousRawId, remapAt } = result;
      expect(await mappings.find(result.dii)).toMatchObject({
        state: 'mapped',
        hash: keyOf(result.dii),
        rawId,
        previousRawId,
        remapAt,
      });
    }
  } finally {
    await mappings.close();
  }
};

const hidden = (text: string, ...secrets: string[]) => {
  for (const secret of ['@example.com', '+1234', ...secrets]) expect(text).not.toContain(secret);
};

describe('tessera map FILE', () => {
  test('maps and stores a column of a CSV file, and prints a summary', async () => {
    const path = await fixture.file(
      'people.csv',
      'id,email,name\n1,One@Example.com,"O, ne"\n2,two@example.com,\n1,one@example.com,\n',
    );
    const { code, out, err, asked } = await map([path]);
    expect([code, err, asked]).toEqual([0, '', [PROBE, '/v3/identity/map']]);
    expect(out).toEqual([
      expect.stringMatching(/^rows: 3, mapped: 2, opted out: 0, stored already: 1, rejected: 0; \d+ s$/),
    ]);
    await expectStored([{ email: 'one@example.com' }, { email: 'two@example.com' }]);
  });

  test('a second run requests no stored row; --json prints the summary as one object', async () => {
    const path = await fixture.file('again.txt', 'again1@example.com\nagain2@example.com\n');
    expect((await mapJson([path])).json).toMatchObject({ rows: 2, mapped: 2, kept: 0 });
    const startedAt = performance.now();
    const { code, err, json, asked } = await mapJson([path]);
    expect([code, err, asked]).toEqual([0, '', [PROBE]]);
    expect(json.seconds).toBeLessThanOrEqual((performance.now() - startedAt) / 1000 + 0.1);
    expect(json).toEqual({
      done: true,
      rows: 2,
      mapped: 0,
      optedOut: 0,
      kept: 2,
      rejected: 0,
      rejects: null,
      seconds: expect.any(Number),
    });
  });

  test('exits with 2 for an empty file or a header alone, says which, and sends nothing but the probe', async () => {
    const [none, header] = ['none: it is empty', 'only a header'];
    const contents = [
      ['', none],
      ['\n\n', none],
      ['email\n', header],
      ['id,email\r\n', header],
    ] as const;
    for (const [i, [content, got]] of contents.entries()) {
      const path = await fixture.file(`empty-${i}.csv`, content);
      const { code, json, asked, err } = await mapJson([path]);
      expect([code, json.rows, asked]).toEqual([2, 0, [PROBE]]);
      expect(err).toContain(`${path}: expected rows, got ${got}`);
    }
    expect((await mapJson(['-', '--column', 'email'])).code).toBe(2);
  });

  test('hashes of unknown type exit with 2; the message names the line', async () => {
    const hash = emailHash('untold@example.com');
    for (const [args, text, line] of [
      [[], `${hash}\n`, 1],
      [['--column', 'key'], `\n"key"\n${hash}\n`, 3],
      [[], `key\n${hash}\n`, 2],
    ] as const) {
      const { code, out, err, asked } = await map(['-', ...args], { stdin: [text] });
      expect([code, out, asked]).toEqual([2, [], []]);
      expect(err).toBe(`error: line ${line}: expected --type email_hash or --type phone_hash for a hash, got neither`);
    }
  });

  test.each<[args: string[], text: string, said: string]>([
    [
      ['--column', 'mail'],
      'id,email\n1,w1@example.com',
      '--column: found no column "mail" among the columns id, email; give one of them, or a number from 1 to 2',
    ],
    [
      ['--column', 'email'],
      'id,email,email\n1,w1@example.com,',
      '--column: expected one column "email", got 2; give its number, 1 to 3',
    ],
    [['--column', '3'], 'id,email\n1,w1@example.com', '--column: expected a number from 1 to 2, got 3'],
    [
      ['--column', '2', '--delimiter', ';'],
      'id,email\n1,w1@example.com',
      '--column: expected a number from 1 to 1, got 2; if there are several columns, give their --delimiter',
    ],
    [['--column', '3', '--delimiter', 'tab'], 'a,b\tc', '--column: expected a number from 1 to 2, got 3'],
    [
      [],
      'phone,email\n+15550001006,w1@example.com',
      'got 2 among the columns phone, email; give --column with a name, or a number from 1 to 2',
    ],
    [
      [],
      '1,w1@example.com',
      'got 0 among 2 columns; the first line is not shown because it looks like data; give --column with a name, or a number from 1 to 2',
    ],
    [
      ['--column', 'w1@example.com'],
      '1,w1@example.org',
      '--column: found no column a name that is not shown among 2 columns; the first line is not shown',
    ],
    [
      ['--delimiter', ',,'],
      'email',
      "option '--delimiter <character>' argument '...' is invalid: expected one character",
    ],
    [['--type', 'address'], 'email', 'Allowed choices are email, email_hash, phone, phone_hash'],
    [
      ['--workers', 'x'],
      'email',
      "option '--workers <number>' argument 'x' is invalid: expected a whole number from 1 to 20",
    ],
    ...['0', '21', '1.5'].map((text): [string[], string, string] => [
      ['--workers', text],
      'email',
      'expected a whole number from 1 to 20',
    ]),
    [['--rejects', '-'], 'email', '--rejects: expected a file, got standard output, where the summary goes'],
    [['--rejects', ''], 'email', '--rejects: expected a file, got an empty name'],
    [['--rejects', '/nowhere/rejects.csv'], 'email', '--rejects: could not write /nowhere/rejects.csv: no such folder'],
  ])('%j is wrong use', async (args, text, said) => {
    const { code, out, err, asked } = await map(['-', ...args], { stdin: [text] });
    expect([code, out, asked]).toEqual([2, [], []]);
    expect(err).toContain(said);
    hidden(err);
  });

  test('an unreadable file exits with 2 and creates no database', async () => {
    for (const [path, got] of [
      [fixture.path('nowhere.csv'), 'no such file'],
      [fixture.path(''), 'it is a folder'],
    ] as const) {
      const { code, out, err } = await map([path], { database: fixture.path('not-made') });
      expect([code, out, err]).toEqual([2, [], `error: could not read ${path}: ${got}`]);
    }
    expect(await stat(fixture.path('not-made')).catch((e) => e.code)).toBe('ENOENT');
  });

  test('an unsupported database exits with 2, a database that fails to open with 1', async () => {
    const path = await fixture.file('one.txt', 'place@example.com');
    expect(await map([path], { database: 'mysql://localhost/x' })).toMatchObject({
      code: 2,
      err: expect.stringContaining('error: --database: expected a folder or postgres://'),
    });
    expect(await map([path], { database: path })).toMatchObject({ code: 1, out: [] });
    const { code, err } = await map([path], { database: 'postgres://u:ZZZZ@127.0.0.1:1/x' });
    expect(code).toBe(1);
    expect(err).toContain('warning: every user of this machine can read the password in --database');
    expect(err).toContain('ECONNREFUSED');
    hidden(err, 'ZZZZ');
  });
});

describe('invalid rows', () => {
  const BAD = [
    'id,email,note',
    '1,good1@example.com,',
    '2,nobody,"a ""note"""',
    '3',
    '4,,"two',
    'lines"',
    '5,jos\ufffd@example.com,',
    '6,x@y@example.com,',
    '7,good2@example.com,',
    '"8,open@example.com,',
    '9,good3@example.com,',
  ].join('\n');
  const REJECTS = [
    'line,reason,id,email,note',
    '3,expected an email address,2,nobody,"a ""note"""',
    '4,"expected 2 columns or more, got 1",3',
    '5,"expected a value, got none",4,,"two\nlines"',
    '7,"expected UTF-8, got other bytes",5,jos\ufffd@example.com,',
    '8,expected an email address,6,x@y@example.com,',
    '10,"expected CSV, got a quote that is never closed, or is closed within the field","""8,open@example.com,"',
    '',
  ].join('\n');

  test('are written with line and reason to a private file beside the input, and the job continues', async () => {
    const path = await fixture.file('bad.csv', BAD);
    const { code, out, err } = await map([path]);
    expect([code, err, out]).toEqual([
      0,
      '',
      [expect.stringMatching(/^rows: 9, mapped: 3, .* rejected: 6; /), `rejects: ${fixture.path('bad.rejects.csv')}`],
    ]);
    expect(await fixture.text(fixture.path('bad.rejects.csv'))).toBe(REJECTS);
    expect((await stat(fixture.path('bad.rejects.csv'))).mode & 0o777).toBe(0o600);
    hidden(out[0]! + err, 'nobody');
  });

  test.each<[what: string, args: string[], text: string, said: string]>([
    [
      'the wrong delimiter',
      ['--delimiter', ';'],
      'email,id\nall1@example.com,1\nall2@example.com,2\n',
      'expected DII in column 1, got none in 3 rows; line 1, read as 1 column: expected an email address, a phone number with a leading +, or a hash',
    ],
    [
      'the wrong type',
      ['--type', 'phone'],
      'all4@example.com\n',
      'expected DII in column 1, got none in 1 row; line 1, read as 1 column: expected a phone number: + and 10 to 15 digits',
    ],
  ])('that are all rows exit with 2 and name the probable cause: %s', async (_, args, text, said) => {
    const path = await fixture.file('all.csv', text);
    const { code, out, err, asked } = await map([path, ...args]);
    expect([code, err, asked]).toEqual([2, `error: ${path}: ${said}; check --delimiter, --column and --type`, [PROBE]]);
    expect(out).toEqual([expect.stringMatching(/mapped: 0,/), `rejects: ${fixture.path('all.rejects.csv')}`]);
    hidden(err);
  });

  test('of a file without a header have numbered columns', async () => {
    const path = await fixture.file('plain.txt', 'plain@example.com\n555-1234\n');
    const { json } = await mapJson([path]);
    expect(await fixture.text(json.rejects)).toBe(
      'line,reason,column 1\n2,"expected an email address, a phone number with a leading +, or a hash",555-1234\n',
    );
  });

  test('do not exist: no file remains, not even of an earlier run', async () => {
    const path = await fixture.file('mended.csv', 'nobody\n');
    const { json } = await mapJson([path]);
    expect(await fixture.text(json.rejects)).toContain('nobody');
    await fixture.file('mended.csv', 'mended@example.com\n');
    expect((await mapJson([path])).json).toMatchObject({ mapped: 1, rejects: null });
    expect(await fixture.text(json.rejects)).toBeUndefined();
  });

  test('of an earlier run stay if the service refuses the key', async () => {
    const path = await fixture.file('refused.csv', 'nobody\n');
    const { json } = await mapJson([path]);
    const before = await fixture.text(json.rejects);
    expect(before).toContain('nobody');
    fixture.answer = () => new Response('{"status":"unauthorized"}', { status: 401 });
    expect((await map([path])).code).toBe(1);
    expect(await fixture.text(json.rejects)).toBe(before);
  });

  test('never overwrite the input', async () => {
    const path = await fixture.file('precious.csv', BAD);
    const { code, err } = await map([path, '--rejects', path]);
    expect([code, err]).toEqual([2, `error: --rejects: could not write ${path}: it is the input file`]);
    expect(await fixture.text(path)).toBe(BAD);
  });

  test('that the service refuses are listed by their hashes, in the columns of the file', async () => {
    const service = scriptedService((seen, signal) => {
      const forms = Object.entries<string[]>(seen.payload);
      const body = Object.fromEntries(forms.map(([form, values]) => [form, values.map(() => ({ e: 'refused' }))]));
      return opened({ status: 'success', body }, { at: Date.now() })(seen, signal);
    });
    fixture.answer = async (request) =>
      service.fetch(request.url, { headers: request.headers, body: new Uint8Array(await request.arrayBuffer()) });
    const path = await fixture.file('refused.csv', 'id,contact,note\n1,refused@example.com,x\n2,+15550001012,y\n');
    const { code, json } = await mapJson([path, '--column', 'contact'], { database: await fixture.database() });
    expect([code, json.rows, json.mapped, json.rejected]).toEqual([0, 2, 0, 2]);
    const lines = (await fixture.text(json.rejects))!.split('\n');
    expect([lines[0], ...lines.slice(1).sort()]).toEqual([
      'line,reason,id,contact,note',
      '',
      ...[emailHash('refused@example.com'), phoneHash('+15550001012')].map((hash) => `,refused,,${hash},`).sort(),
    ]);
  });

  test.skipIf(process.platform !== 'linux')('that cannot be written fail the job, even at its end', async () => {
    const path = await fixture.file('full.txt', 'full@example.com\nnobody\n');
    const { code, json, err } = await mapJson([path, '--rejects', '/dev/full']);
    expect([code, json.done, json.mapped]).toEqual([1, false, 1]);
    expect(err).toMatch(/\nerror: --rejects: could not write \/dev\/full: no space left on the device$/);
  });
});

describe('an interrupted job', () => {
  test('prints the error of the service and a summary', async () => {
    const path = await fixture.file('unauthorized.txt', 'unauthorized@example.com\nnobody\n');
    // The first answer is for the probe.
    let asked = 0;
    fixture.answer = () => (asked++ > 0 ? new Response('{"status":"unauthorized"}', { status: 401 }) : undefined!);
    const { code, json, err } = await mapJson([path]);
    fixture.answer = undefined;
    expect([code, json]).toEqual([1, expect.objectContaining({ done: false, mapped: 0, rejected: 1 })]);
    expect(err).toMatch(/^error: mapIdentities: POST \/v3\/identity\/map answered 401/);
    hidden(err, 'nobody');
  });

  test('a job that is stopped before its first answer has nothing to continue, and a check of opt-outs starts again', async () => {
    const lines = Array.from({ length: 6000 }, (_, i) => `early-${i}@example.com\n`).join('');
    const database = await fixture.database();
    // The first request of a mapping job is the probe; the second of a check follows the first page.
    const stoppedAtSecond = async (args: readonly string[]) => {
      let stop = () => {};
      const stopped = new Promise<void>((resolve) => (stop = resolve));
      let requests = 0;
      fixture.answer = () => {
        if (++requests === 1) return undefined!;
        stop();
        return new Response('', { status: 503 });
      };
      const options = ['--database', database, '--json'];
      const result = await tessera(['map', ...args, ...options], { env: fixture.env, stdin: [lines], stopped });
      fixture.answer = undefined;
      return [result.code, result.err];
    };
    const rejects = fixture.path('early.csv');
    expect(await stoppedAtSecond(['-', '--rejects', rejects])).toEqual([130, 'stopped']);
    expect((await mapJson(['-'], { stdin: [lines], database })).json).toMatchObject({ done: true, mapped: 6000 });
    expect(await stoppedAtSecond(['--check-opt-outs'])).toEqual([
      130,
      'the opt-outs found so far are stored: run the same command again to check all raw IDs\nstopped',
    ]);
  });

  test.each<[what: string, env: Record<string, string>, said: string]>([
    [
      'a wrong key',
      { TESSERA_API_KEY: 'key-of-nobody' },
      'error: mapIdentities: POST /v3/identity/map answered 401: unauthorized: API key missing or unknown\nhint: check that the service knows this API key, and that it has the role MAPPER: tessera doctor, with the same address and key',
    ],
    [
      'a wrong secret',
      { TESSERA_CLIENT_SECRET: Buffer.alloc(32, 9).toString('base64') },
      'hint: check the client secret: it must belong to the API key',
    ],
  ])('%s costs one request; no database is made', async (_, env, said) => {
    const path = await fixture.file(
      'probe.txt',
      Array.from({ length: 9000 }, (_, i) => `p${i}@example.com\n`).join(''),
    );
    const database = fixture.path('not-made-either');
    const { code, out, err, asked } = await map([path], { env: { ...fixture.env, ...env }, database });
    expect([code, out, asked]).toEqual([1, [], [PROBE]]);
    expect(err).toContain(said);
    expect(await stat(database).catch((e) => e.code)).toBe('ENOENT');
  });

  test.each([429, 500, 503])('a %i at the probe is left to the retries of the job', async (status) => {
    let asked = 0;
    fixture.answer = () => (asked++ === 0 ? new Response('', { status }) : undefined!);
    const { code, json } = await mapJson([await fixture.file('busy.txt', `busy-${status}@example.com`)]);
    expect([code, json.mapped]).toEqual([0, 1]);
  });

  test('stops before the first line without any request', async () => {
    const never = async function* () {
      await new Promise(() => {});
      yield '';
    };
    const { code, out, err } = await map(['-'], { stdin: never(), stopped: Promise.resolve() });
    expect([code, out, err]).toEqual([130, [], 'stopped']);
  });
});

describe('stored mappings', () => {
  const two = ['first@example.com', 'second@example.com'];

  const filled = async (...args: string[]) => {
    const database = await fixture.database();
    const { json } = await mapJson(['-', ...args], { database, stdin: [two.join('\n')] });
    expect(json).toMatchObject({ done: true, mapped: 2 });
    return database;
  };

  test('--due maps the due rows again, and no others', async () => {
    const database = await filled();
    const { code, json, err, asked } = await mapJson(['--due'], { database });
    expect([code, err, asked]).toEqual([0, '', [PROBE]]);
    expect(json).toEqual({ done: true, mapped: 0, optedOut: 0, invalid: 0, seconds: expect.any(Number) });
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 31 * DAY });
    const due = await map(['--due'], { database });
    expect([due.err, due.out, due.asked]).toEqual([
      '',
      [expect.stringMatching(/^mapped: 2, opted out: 0, invalid: 0; \d+ s$/)],
      [PROBE, '/v3/identity/map'],
    ]);
  });

  test('--v2 uses version 2 for a file and for due rows', async () => {
    const database = await fixture.database();
    const { asked } = await mapJson(['-', '--v2'], { database, stdin: ['v2@example.com'] });
    expect(asked).toEqual([PROBE_V2, '/v2/identity/map']);
    expect(await stored(database)).toEqual([
      expect.objectContaining({ bucketId: expect.stringMatching(/^\w+$/), remapAt: null }),
    ]);
    const due = await mapJson(['--due', '--v2'], { database });
    expect(due.asked).toEqual([PROBE_V2, '/v2/identity/buckets']);
  });

  test('--check-opt-outs removes the raw IDs of users who have opted out', async () => {
    const database = await filled();
    await fixture.client.optOut({ email: two[0]! });
    try {
      const { code, json, asked } = await mapJson(['--check-opt-outs'], { database });
      expect([code, json, asked]).toEqual([
        0,
        { done: true, asked: 2, optedOut: 1, seconds: expect.any(Number) },
        ['/v2/token/logout', '/v2/optout/status'].slice(1),
      ]);
      const { out } = await map(['--counts'], { database });
      expect(JSON.parse(out[0]!)).toEqual({ mapped: 1, optedOut: 1, invalid: 0, due: 0 });
    } finally {
      two[0] = 'third@example.com';
    }
  });

  test('--export writes a private CSV file that optouts reads', async () => {
    const database = await filled();
    const path = fixture.path('export.csv');
    const { code, out, err } = await map(['--export', path], { database });
    expect([code, out, err]).toEqual([0, [], '2 mappings']);
    const lines = (await fixture.text(path))!.split('\n');
    expect(lines.pop()).toBe('');
    const names = 'type,hash,state,rawId,previousRawId,remapAt,bucketId,answeredAt';
    const textOf = (name: string, value: unknown) =>
      /At$/.test(name) ? new Date(value as number).toISOString() : value;
    expect(lines).toEqual([
      names,
      ...(await stored(database)).map((row) =>
        names
          .split(',')
          .map((name) => textOf(name, row[name]))
          .join(','),
      ),
    ]);
    expect(
      lines
        .slice(1)
        .map((line) => line.split(',')[1])
        .sort(),
    ).toEqual(two.map(emailHash).sort());
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const optOuts = await tessera(['optouts', path], { env: fixture.env });
    expect([optOuts.code, optOuts.err]).toEqual([0, '0 of 2 have opted out']);
  });

  test('--export --spreadsheet puts a quote before a hash that a spreadsheet would evaluate; JSON has no such form', async () => {
    const database = await fixture.database();
    // Its hash begins with a plus sign.
    await mapJson(['-'], { database, stdin: ['formula-0@example.com'] });
    const { out } = await map(['--export', '-', '--spreadsheet'], { database });
    expect(out[1]).toContain(`email,'${emailHash('formula-0@example.com')},mapped,`);
    const json = await map(['--export', '-', '--spreadsheet', '--json'], { database });
    expect([json.code, json.out, json.err]).toEqual([2, [], 'error: --spreadsheet: expected CSV, got --json']);
  });

  test('--export that a signal stops leaves the former file, and no part of a new one', async () => {
    const database = await filled();
    const path = await fixture.file('former.csv', 'former');
    const { code, err } = await tessera(['map', '--export', path, '--database', database], {
      stopped: Promise.resolve(),
    });
    expect([code, err]).toEqual([130, 'stopped']);
    expect(await fixture.text(path)).toBe('former');
    expect(await fixture.text(`${path}.partial`)).toBeUndefined();
  });

  test('--export - writes CSV or JSON lines to a pipe, never to a terminal', async () => {
    const database = await filled();
    const { code, out } = await map(['--export', '-'], { database });
    expect([code, out.length]).toEqual([0, 3]);
    expect(await stored(database)).toHaveLength(2);
    const shown = await map(['--export', '-'], { database, outIsTerminal: true });
    expect([shown.code, shown.out]).toEqual([2, []]);
    expect(shown.err).toContain('got a terminal, which must not show hashes');
  });

  test('--forget deletes one person, in any form, and prints whether there was a mapping', async () => {
    const database = await filled();
    const forget = async (...args: string[]) => {
      const { code, out } = await map(['--forget', ...args, '--json'], { database });
      return [code, ...out.map((line) => JSON.parse(line))];
    };
    expect(await forget(two[0]!.toUpperCase())).toEqual([0, { forgotten: 1, unknown: 0, rejected: 0 }]);
    expect(await forget(two[0]!)).toEqual([0, { forgotten: 0, unknown: 1, rejected: 0 }]);
    expect(await forget(emailHash(two[1]!), '--type', 'phone_hash')).toEqual([
      0,
      { forgotten: 0, unknown: 1, rejected: 0 },
    ]);
    expect(await forget(emailHash(two[1]!), '--type', 'email_hash')).toEqual([
      0,
      { forgotten: 1, unknown: 0, rejected: 0 },
    ]);
    expect(await stored(database)).toEqual([]);
    for (const wrong of ['nobody', emailHash(two[0]!)]) {
      const { code, out, err } = await map(['--forget', wrong], { database });
      expect([code, out]).toEqual([2, []]);
      hidden(err, wrong);
    }
  });

  test('--forget - deletes the people on standard input, and names the invalid lines', async () => {
    const database = await filled();
    const { code, out, err } = await map(['--forget', '-', '--json'], {
      database,
      stdin: [`email\n${two[0]}\nnobody\n\nelsewhere@example.com\n${two[1]}\n`],
    });
    expect([code, JSON.parse(out[0]!)]).toEqual([2, { forgotten: 2, unknown: 1, rejected: 1 }]);
    expect(err).toBe('line 3: expected an email address\nerror: --forget: expected DII on every line, got 1 without');
    expect(await stored(database)).toEqual([]);
  });

  test('--forget-all demands --yes where there is no terminal, and deletes nothing', async () => {
    const database = await filled();
    const { host } = new URL(database);
    expect(await map(['--forget-all'], { database })).toMatchObject({
      code: 2,
      out: [],
      err: `error: --forget-all: expected --yes, because there is no terminal for a confirmation; the command deletes all mappings in the database on ${host}`,
    });
    expect(await stored(database)).toHaveLength(2);
  });

  test('--forget-all asks on a terminal, with the number of mappings in any state', async () => {
    const database = await filled();
    const { json } = await mapJson(['-'], { database, stdin: ['optout@example.com'] });
    expect(json).toMatchObject({ mapped: 0, optedOut: 1 });
    const questions: string[] = [];
    const answer = (yes: boolean) => async (question: string) => {
      questions.push(question);
      return yes;
    };
    const no = await map(['--forget-all'], { database, ask: answer(false) });
    expect([no.code, no.out, no.err]).toEqual([1, [], 'nothing was deleted']);
    expect(await stored(database)).toHaveLength(3);
    const yes = await map(['--forget-all', '--json'], { database, ask: answer(true) });
    expect([yes.code, yes.out]).toEqual([0, ['{"forgotten":3}']]);
    expect(questions).toEqual(Array(2).fill(`Delete all 3 mappings in the database on ${new URL(database).host}?`));
  });

  test.each(['--counts', '--forget-all', '--export'])('%s needs no address and no key', async (flag) => {
    const database = await filled();
    const values = { '--export': [fixture.path('offline.csv')], '--forget-all': ['--yes'] };
    const args = [flag, ...(values[flag as keyof typeof values] ?? [])];
    const { code, asked } = await map(args, { database, env: {} });
    expect([code, asked]).toEqual([0, []]);
  });

  test.each([
    ['--due'],
    ['--check-opt-outs'],
    ['--counts'],
    ['--export', '-'],
    ['--forget', 'x@example.com'],
    ['--forget-all', '--yes'],
  ])('%s with a folder that is missing, or no database, exits with 2 and creates nothing', async (...args) => {
    const missing = fixture.path('slip-of-the-pen');
    const other = fixture.path('another-folder');
    await mkdir(other, { recursive: true });
    // The name of the files while another process creates them.
    const early = fixture.path('early');
    await mkdir(join(early, 'pglite.new'), { recursive: true });
    for (const [database, reason] of [
      [missing, 'no such folder; map a file first, or specify another'],
      [other, 'it contains no database; map a file first, or specify another'],
      [
        early,
        'another process is creating the database, or was stopped while it did; try again when it is done, or map a file first',
      ],
    ] as const) {
      const { code, out, err } = await map(args, { database });
      expect([code, out]).toEqual([2, []]);
      expect(err).toContain(`--database: could not read ${database}: ${reason}`);
    }
    expect(await stat(missing).catch((e) => e.code)).toBe('ENOENT');
    expect(await readdir(other)).toEqual([]);
  });
});

describe('wrong use of map', () => {
  test.each<[args: string[], said: string]>([
    [[], 'expected one of FILE, --due, --check-opt-outs, --counts, --export, --forget, --forget-all, got none of them'],
    [['-', '--due'], 'got FILE and --due'],
    [['--forget', ''], '--forget: expected a value, got none'],
    [['--export', ''], '--export: expected a file, or - for standard output, got an empty name'],
    [['--counts', '--forget-all'], 'got --counts and --forget-all'],
    [['--due', '--column', '1'], '--column: expected together with FILE or --forget -, got --due'],
    [['--due', '--rejects', 'x'], '--rejects: expected together with FILE, got --due'],
    [['--counts', '--type', 'email'], '--type: expected together with FILE or --forget or --forget -, got --counts'],
    [
      ['--forget', 'x@example.com', '--delimiter', ';'],
      '--delimiter: expected together with FILE or --forget -, got --forget',
    ],
    [['--check-opt-outs', '--workers', '2'], '--workers: expected together with FILE or --due, got --check-opt-outs'],
    [['--counts', '--spreadsheet'], '--spreadsheet: expected together with --export or FILE --out, got --counts'],
    [['--counts', '--yes'], '--yes: expected together with --forget-all, got --counts'],
    [['--check-opt-outs', '--v2'], '--v2: expected together with FILE or --due or --counts, got --check-opt-outs'],
  ])('%j', async (args, said) => {
    const { code, out, err, asked } = await map(args);
    expect([code, out, asked]).toEqual([2, [], []]);
    expect(err).toContain(said);
    hidden(err);
  });

  test.each(['TESSERA_BASE_URL', 'TESSERA_API_KEY', 'TESSERA_CLIENT_SECRET'])('without %s', async (name) => {
    for (const args of [['-'], ['--due'], ['--check-opt-outs']]) {
      const { code, err } = await map(args, { env: { ...fixture.env, [name]: '' } });
      expect(code).toBe(2);
      expect(err).toContain(`or ${name} in the environment or in the --env file, got none`);
    }
  });
});

test('a new database in a folder is announced, before that takes several seconds', async () => {
  const folder = await emptyFolder();
  const args = ['operator', '--port', '0', '--database', folder];
  const operator = await tessera(args, { stopped: Promise.resolve() });
  expect([operator.code, ...operator.err.split('\n')]).toEqual([
    0,
    `creating the database in the folder ${folder}, which takes up to 30 s, once ...`,
    expect.stringContaining('"msg":"stopping"'),
  ]);
  // That of tessera map is announced in test/cli/map-process.test.ts.
  const path = await fixture.file('first.txt', 'first@example.com\n');
  expect(await tessera(['map', path, '--database', folder], { env: fixture.env })).toMatchObject({ code: 0, err: '' });
});

describe('on a terminal', () => {
  const lines = Array.from({ length: 500 }, (_, i) => `terminal-${i}@example.com\n`);

  test('shows a bar with progress and rate for a file, and clears it', async () => {
    const path = await fixture.file('terminal.txt', lines.join(''));
    const { drawn, out, err } = await map([path], { terminal: true });
    expect(drawn).toContain('[');
    expect(drawn).toMatch(/\d+ % \| [\d,]+ rows/);
    expect(drawn).toContain('100 % | 500 rows');
    // The line is cleared last.
    expect(drawn.endsWith('\x1b[2K')).toBe(true);
    expect([out.length, err]).toEqual([1, '']);
    hidden(drawn);
  });

  test('shows rows and rate without a bar for standard input', async () => {
    const { drawn } = await map(['-', '--json'], { terminal: true, stdin: lines });
    expect(drawn).toContain('500 rows');
    expect(drawn).not.toContain('%');
  });

  test('shows a bar for a due run and for a check of opt-outs', async () => {
    for (const flag of ['--due', '--check-opt-outs']) {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 31 * DAY });
      const { code, drawn } = await map([flag], { terminal: true });
      expect(code).toBe(0);
      expect(drawn).toMatch(/100 % \| [\d,]+ rows/);
    }
  });

  test('shows a bar for optouts, unless it prints its results on the same terminal', async () => {
    const path = await fixture.file('ids.txt', 'rawId\nid-1\nid-2\nid-3\n');
    // One user has opted out, so that there is a result.
    const drawnWith = async (outIsTerminal: boolean) =>
      (await tessera(['optouts', path], { env: fixture.env, terminal: true, outIsTerminal })).drawn;
    expect(await drawnWith(false)).toContain('raw IDs');
    expect(await drawnWith(true)).toBe('');
  });
});

/** `tessera map` in its own process: signals, kills, terminals. */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readFile, stat } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { blocks } from '../docs/blocks.ts';
import { COMMAND } from '../support/command.ts';
import { createFixture, type Fixture, tessera } from './fixtures.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterEach(() => {
  fixture.clock.at = undefined;
  fixture.answer = undefined;
});
afterAll(() => fixture.close());

const envOf = () => ({ PATH: process.env.PATH ?? '', PGPASSWORD: process.env['PGPASSWORD'] ?? '', ...fixture.env });

const start = (args: readonly string[], node: readonly string[] = []) => {
  const child = spawn(process.execPath, [...node, COMMAND, ...args], { cwd: ROOT, env: envOf() });
  const said = { out: '', err: '' };
  child.stdout.on('data', (piece) => {
    said.out += piece;
  });
  child.stderr.on('data', (piece) => {
    said.err += piece;
  });
  // Not `exit`: the output may not have been read by then.
  return { child, said, exit: once(child, 'close') as Promise<[number | null, string | null]> };
};

const ROWS = 14_000;
const people = Array.from({ length: ROWS }, (_, i) => `process-${i}@example.com\n`).join('');

const countsOf = async (database: string) => {
  const { out } = await tessera(['map', '--counts', '--json', '--database', database]);
  return JSON.parse(out[0]!);
};

/** Resolves when this number of mapping requests has come. The last one has no answer, so that the job cannot end. */
const heldAt = (times: number): Promise<void> => {
  let seen = 0;
  return new Promise((resolve) => {
    fixture.answer = (request) => {
      if (!request.url.endsWith('/v3/identity/map') || ++seen < times) return undefined as never;
      resolve();
      return new Promise(() => {});
    };
  });
};

describe('the process of tessera map', () => {
  test.each([
    ['SIGINT', 'databaseFolder'],
    ['SIGTERM', 'database'],
  ] as const)('%s stops it cleanly, with a summary and 130', async (signal, kind) => {
    const database = await fixture[kind]();
    // A pipe that stays open.
    const rejects = fixture.path(`${signal}.csv`);
    const { child, said, exit } = start([
      'map',
      '-',
      '--json',
      '--workers',
      '1',
      '--database',
      database,
      '--rejects',
      rejects,
    ]);
    // The probe, a batch that is stored, and one that is not.
    const held = heldAt(3);
    child.stdin.write(people);
    await held;
    child.kill(signal);
    expect(await exit).toEqual([130, null]);
    expect(JSON.parse(said.out)).toMatchObject({ done: false });
    expect(said.err).toMatch(/stopped\n$/);
    expect(said.err).not.toContain('@example.com');
    // The lock of the folder was released.
    expect(await countsOf(database)).toMatchObject({ mapped: 5_000 });
  });

  test('draws on a terminal and leaves a table; the mappings are in a folder below the current one', async () => {
    const cwd = fixture.path('present');
    await mkdir(cwd);
    const path = await fixture.file('few.txt', people.slice(0, 20_000));
    const command = [process.execPath, COMMAND, 'map', path].join(' ');
    const log = fixture.path('typescript');
    await promisify(execFile)('script', ['-qec', command, log], { cwd, env: { ...envOf(), TERM: 'xterm' } });
    const typed = await readFile(log, 'utf8');
    expect(typed).toMatch(/\[=+ *\] \d+ % \| [\d,]+ rows/);
    expect(typed).toMatch(/rows +[\d,]+/);
    expect(typed).toMatch(/mapped +[\d,]+/);
    expect(typed).not.toContain('@example.com');
    expect(typed).toContain('creating the database in the folder tessera-mappings, which takes up to 30 s, once ...');
    expect((await stat(`${cwd}/tessera-mappings`)).mode & 0o777).toBe(0o700);
  });

  test('asks on a terminal before it deletes all mappings: only y and yes mean yes, Ctrl-C and Ctrl-D mean no', async () => {
    const place = await fixture.database();
    const path = await fixture.file('asked.txt', 'asked@example.com\n');
    expect((await tessera(['map', path, '--database', place], { env: fixture.env })).code).toBe(0);
    // `exec`: Ctrl-C would end the shell too.
    const command = ['exec', process.execPath, COMMAND, 'map', '--forget-all', '--json', '--database', place].join(' ');
    const answer = async (typed: string, when: 'at once' | 'when asked' = 'at once') => {
      const child = spawn('script', ['-qec', command, '/dev/null'], { env: { ...envOf(), TERM: 'xterm' } });
      const closed = once(child, 'close');
      let shown = '';
      child.stdout.on('data', (piece) => {
        shown += piece;
        if (shown.includes('[y/N]') && !child.stdin.writableEnded) child.stdin.end(typed);
      });
      if (when === 'at once') child.stdin.end(typed);
      const [code] = await closed;
      expect(shown).toContain('Delete all 1 mappings');
      // A line typed before the question is echoed above it.
      if (code === 1)
        expect(shown).toMatch(when === 'at once' ? /nothing was deleted\r\n$/ : /\nnothing was deleted\r\n$/);
      return [code, (await countsOf(place)).mapped];
    };
    for (const typed of ['nay\n', 'ye\n', '\n', '\u0004'])
      expect([typed, ...(await answer(typed))]).toEqual([typed, 1, 1]);
    for (const typed of ['\u0003', 'y\u0004\u0004'])
      expect([typed, ...(await answer(typed, 'when asked'))]).toEqual([typed, 1, 1]);
    expect(await answer(' Yes\n')).toEqual([0, 0]);
  });

  test('names the package to install if PGlite is missing, and reads nothing', async () => {
    const missing = `export const resolve = (name, context, next) => {
      if (!name.startsWith('@electric-sql/pglite')) return next(name, context);
      throw Object.assign(new Error('Cannot find package ' + name), { code: 'ERR_MODULE_NOT_FOUND' });
    }`;
    const hooks = `import { register } from 'node:module'; register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(missing)}`)});`;
    const path = await fixture.file('one.txt', 'one@example.com\n');
    const { said, exit } = start(
      ['map', path, '--database', fixture.path('never')],
      ['--import', `data:text/javascript,${encodeURIComponent(hooks)}`],
    );
    expect(await exit).toEqual([1, null]);
    expect(said.out).toBe('');
    expect(said.err).toContain(
      'error: database: a folder needs the package @electric-sql/pglite, which is not installed',
    );
    expect(await stat(fixture.path('one.rejects.csv')).catch((e) => e.code)).toBe('ENOENT');
  });

  test('writes the rejects of a pipe to the current folder', async () => {
    const path = await fixture.file('piped.txt', 'piped@example.com\nnobody\n');
    const cwd = fixture.path('piped');
    await mkdir(cwd);
    const command = [process.execPath, COMMAND, 'map', '<(cat "$0")', '--json', '--database', '"$1"'].join(' ');
    const place = await fixture.database();
    const { stdout } = await promisify(execFile)('bash', ['--norc', '-c', command, path, place], { cwd, env: envOf() });
    expect(JSON.parse(stdout)).toMatchObject({ mapped: 1, rejected: 1, rejects: 'tessera.rejects.csv' });
    expect(await readFile(`${cwd}/tessera.rejects.csv`, 'utf8')).toContain('nobody');
  });

  test('leaves no half of an export', async () => {
    const place = await fixture.database();
    const path = await fixture.file('twenty.txt', people.slice(0, 500));
    expect((await tessera(['map', path, '--database', place], { env: fixture.env })).code).toBe(0);
    const command = [process.execPath, COMMAND, 'map', '--export', '"$0"', '--database', '"$1"'].join(' ');
    const out = fixture.path('whole.csv');
    // Files of at most one block.
    const child = spawn('sh', ['-c', `ulimit -f 1; ${command}`, out, place], {
      env: envOf(),
    });
    expect(await Promise.all([text(child.stderr), once(child, 'exit')])).toEqual([
      `error: --export: could not write ${out}: the file would be too large\n`,
      [1, null],
    ]);
    for (const name of [out, `${out}.partial`]) expect(await fixture.text(name)).toBeUndefined();
  });

  test('takes PGPASSWORD from --env-file; without one it ends, though the server keeps the connection', async () => {
    const place = await fixture.database();
    const env = { PATH: process.env.PATH ?? '' };
    const run = (...args: string[]) => {
      const child = spawn(process.execPath, [COMMAND, 'map', '--counts', '--database', place, ...args], { env });
      return Promise.all([text(child.stderr), once(child, 'exit')]);
    };
    const [said, exit] = await run();
    expect([said, exit]).toEqual([
      expect.stringContaining('the server requires a password, got none: set PGPASSWORD'),
      [1, null],
    ]);
    const file = await fixture.file('pg.env', `PGPASSWORD=${process.env['PGPASSWORD']}\n`);
    await chmod(file, 0o600);
    expect(await run('--env-file', file)).toEqual(['', [0, null]]);
  });

  test.each(['SIGKILL', 'SIGTERM'] as const)(
    'with --out, a run that %s ends is continued by --resume',
    async (signal) => {
      const path = await fixture.file('killed.txt', people);
      const out = fixture.path(`${signal}.csv`);
      const args = ['map', path, '--out', out, '--workers', '1'];
      const held = heldAt(3);
      const { child, said, exit } = start(args);
      await held;
      child.kill(signal);
      expect(await exit).toEqual(signal === 'SIGKILL' ? [null, signal] : [130, null]);
      expect(said.err).toContain(signal === 'SIGKILL' ? '' : 'run the same command with --resume to continue');
      expect(await fixture.text(out)).toBeUndefined();
      fixture.answer = undefined;
      expect(await tessera([...args, '--resume'], { env: fixture.env })).toMatchObject({ code: 0, err: '' });
      const rows = (await fixture.text(out))!.split('\n');
      expect(rows.map((row) => row.split(',')[0]).join('\n')).toBe(people);
    },
  );

  test('with --out, ends quietly when its reader does', async () => {
    const path = await fixture.file('headed.txt', people);
    const command = [process.execPath, COMMAND, 'map', path, '--out', '-'].join(' ');
    const run = promisify(execFile)('bash', ['--norc', '-c', `${command} | head -n 1`], { env: envOf() });
    expect(await run).toEqual({ stdout: expect.stringMatching(/^process-0@example\.com,[^,]+,/), stderr: '' });
  });

  test('with --out -, is a filter that an engine starts for each partition, also an empty one', async () => {
    const lineOf = (i: number) => `{"id":${i},"email":"part-${i}@example.com"}\n`;
    const partitions = [0, 1, 7_000].map((count) => Array.from({ length: count }, (_, i) => lineOf(i)).join(''));
    const outputs = await Promise.all(
      partitions.map(async (lines) => {
        const { child, said, exit } = start(['map', '-', '--jsonl', '--out', '-']);
        child.stdin.end(lines);
        expect(await exit).toEqual([0, null]);
        return said.out;
      }),
    );
    for (const [at, out] of outputs.entries()) {
      const rows = out.split('\n').slice(0, -1);
      expect(rows.map((row) => `${row.replace(/,"advertising_id":"[^"]+",.*/, '')}}\n`).join('')).toBe(partitions[at]);
    }
  });

  test('with --out -, answers a line while its writer waits, and ends at a signal', async () => {
    const { child, said, exit } = start(['map', '-', '--jsonl', '--out', '-']);
    child.stdin.write('{"email":"waits@example.com"}\n');
    await once(child.stdout, 'data');
    expect(said.out).toMatch(/^\{"email":"waits@example\.com","advertising_id":"[^"]+",.*\}\n$/);
    child.kill('SIGTERM');
    expect(await exit).toEqual([null, 'SIGTERM']);
    expect(said.err).toBe('');
  });
});

const hasPython = await promisify(execFile)('python3', ['--version']).then(
  () => true,
  () => false,
);
test.skipIf(!hasPython)(
  'the program of docs/mapping/python.md prints a raw ID, and what is wrong with the other row',
  async () => {
    const { code } = blocks.find(({ page, language }) => page === 'docs/mapping/python.md' && language === 'python')!;
    const program = code.replace('"npx", "tessera-id"', JSON.stringify([process.execPath, COMMAND]).slice(1, -1));
    expect(program).not.toBe(code);
    const { stdout } = await promisify(execFile)('python3', ['-c', program], { env: envOf() });
    expect(stdout).toMatch(/^1 [\w+/]{43}=\n2 expected an email address\n$/);
  },
);

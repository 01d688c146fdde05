/** What surrounds the commands: help, examples, colours, the file of variables. */

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { silentIo } from '../../build/silent-io.ts';
import type { Io } from '../../src/cli/io.ts';
import { exportLines, writeEnvFile } from '../../src/cli/operator/env-file.ts';
import { examplesOf } from '../../src/cli/output/examples.ts';
import { formatDuration } from '../../src/cli/output/progress.ts';
import { coloursOf } from '../../src/cli/output/style.ts';
import { createProgram, run } from '../../src/cli/program.ts';
import { COMMAND } from '../support/command.ts';
import { createFixture, type Fixture, tessera } from './fixtures.ts';

let fixture: Fixture;
let folder: string;
beforeAll(async () => {
  fixture = await createFixture();
  folder = await mkdtemp(join(tmpdir(), 'tessera-help-'));
});
afterAll(async () => {
  await fixture.close();
  await rm(folder, { recursive: true });
});

/** Commands that have commands of their own, with the options. */
const GROUPS = ['keys', 'participants'];
const COMMANDS = [
  'operator',
  ...GROUPS,
  'generate',
  'validate',
  'refresh',
  'map',
  'optout',
  'buckets',
  'optouts',
  'inspect',
  'doctor',
  'init',
  'demo',
];

const PARTS = [
  ...['list', 'rotate', 'retire'].map((part) => `keys ${part}`),
  ...['list', 'add', 'update', 'revoke'].map((part) => `participants ${part}`),
];

describe('help', () => {
  test('is tested for every command of the program', () => {
    const program = createProgram('0', [], silentIo);
    const visible = program.createHelp().visibleCommands(program);
    expect(visible.map((command) => command.name()).filter((name) => name !== 'help')).toEqual(COMMANDS);
    const parts = visible.flatMap((command) => command.commands.map((part) => `${command.name()} ${part.name()}`));
    expect(parts).toEqual(PARTS);
  });

  test('lists every command', async () => {
    const { out } = await tessera(['--help']);
    for (const command of COMMANDS) expect(out.join('\n')).toMatch(new RegExp(`^  ${command}\\b`, 'm'));
  });

  test('operator --help states variables, and defaults in both environments', async () => {
    const { out } = await tessera(['operator', '--help']);
    const help = out.join(' ').replace(/\s+/g, ' ');
    expect(help).toContain('lifetime of an advertising token (default: 3600; in production 86400)');
    expect(help).toContain('API key of the participant (TESSERA_API_KEY; default: generated and printed)');
  });

  test('operator --help begins with the options that a first start needs', async () => {
    const { out } = await tessera(['operator', '--help']);
    const options = [...out.join('\n').matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, name]) => name);
    expect(options.slice(0, 2)).toEqual(['--port', '--host']);
    expect(options.indexOf('--database')).toBeLessThan(options.indexOf('--rate-limit'));
  });

  test.each([...COMMANDS, ...PARTS])('%s --help ends with two examples, whose options exist', async (command) => {
    const { code, out } = await tessera([...command.split(' '), '--help']);
    const help = out.join('\n');
    const examples = help.split('Examples:\n')[1]!.split('\n');
    expect([code, examples.length]).toEqual([0, 2]);
    for (const example of examples) {
      expect(example).toMatch(new RegExp(`^ {2}\\$ .*(tessera|tessera-id) ${command}\\b`));
      const own = example.slice(example.search(new RegExp(`(tessera|tessera-id) ${command}\\b`)));
      const part = GROUPS.includes(command) ? await tessera([command, own.split(' ')[2]!, '--help']) : undefined;
      const options = (part?.out.join('\n') ?? help).split('Examples:')[0];
      for (const [flag] of own.matchAll(/--[a-z-]+/g)) expect(options).toContain(flag);
    }
  });
});

describe('the examples run', () => {
  const shell = async (line: string) => {
    const script = `tessera() { "${process.execPath}" -- "${COMMAND}" "$@"; }\n${line}`;
    return promisify(execFile)('bash', ['-c', script], {
      cwd: folder,
      env: { PATH: process.env.PATH, ...fixture.env },
    });
  };

  // Each command is a process of its own.
  test('generate, refresh, inspect and doctor', async () => {
    await shell('tessera generate user@example.com > set.json');
    await shell('tessera refresh set.json > newer.json');
    expect((await shell('tessera inspect newer.json')).stdout).toContain('fresh');
    await writeEnvFile(join(folder, 'tessera.env'), fixture.env);
    expect(
      (await shell('unset TESSERA_BASE_URL TESSERA_API_KEY TESSERA_CLIENT_SECRET; tessera doctor --env tessera.env'))
        .stdout,
    ).toContain('ok ');
  }, 180_000);
});

test('the examples of a list that may have a million lines write it to a file', async () => {
  for (const example of examplesOf('buckets')!) expect(example).toMatch(/ > \S+$/);
});

describe('colours', () => {
  const io = (more: Partial<Io>): Io => ({ env: {}, ...more }) as Io;
  const isOn = (more: Partial<Io>, stream: 'out' | 'err' = 'out') => coloursOf(io(more), stream).red('x') !== 'x';

  test.each<[what: string, more: Partial<Io>, isOn: boolean]>([
    ['a pipe', {}, false],
    ['a terminal', { outIsTerminal: true }, true],
    ['NO_COLOR on a terminal', { outIsTerminal: true, env: { NO_COLOR: '1' } }, false],
    ['an empty NO_COLOR', { outIsTerminal: true, env: { NO_COLOR: '' } }, true],
    ['TERM=dumb', { outIsTerminal: true, env: { TERM: 'dumb' } }, false],
    ['FORCE_COLOR for a pipe', { env: { FORCE_COLOR: '1' } }, true],
    ['FORCE_COLOR=0', { env: { FORCE_COLOR: '0' } }, false],
    ['NO_COLOR and FORCE_COLOR', { env: { NO_COLOR: '1', FORCE_COLOR: '1' } }, false],
  ])('%s', (_, more, wanted) => expect(isOn(more)).toBe(wanted));

  test('an error is red on a terminal, and the same text without colours elsewhere', async () => {
    const plain = await tessera(['inspect', 'nowhere.json']);
    expect(plain.err).toBe('error: could not read nowhere.json: no such file');
    const coloured = await tessera(['inspect', 'nowhere.json'], { terminal: true });
    expect(coloured.err).toContain('\u001b[31merror:');
    expect(stripVTControlCharacters(coloured.err)).toBe(plain.err);
    expect((await tessera(['inspect', 'nowhere.json'], { terminal: true, env: { NO_COLOR: '1' } })).err).toBe(
      plain.err,
    );
  });
});

test.each([
  [0, '0 s'],
  [99_400, '99 s'],
  [99_500, '2 min'],
  [59.4 * 60_000, '59 min'],
  [59.5 * 60_000, '1 h'],
  [90 * 60_000, '1.5 h'],
  [24 * 3_600_000, '24 h'],
])('%d ms are shown as %s', (ms, text) => expect(formatDuration(ms)).toBe(text));

describe('the file of variables', () => {
  test.each(['--env', '--env-file'])('tessera operator %s writes it, and other commands read it', async (option) => {
    const path = join(folder, 'operator.env');
    await writeFile(path, '# mine\nOTHER=kept\nTESSERA_API_KEY=old\n', { mode: 0o644 });
    const out: string[] = [];
    const io = (stopped: () => Promise<void>): Io => ({
      env: {},
      stdin: async function* () {},
      out: (line) => out.push(line),
      err: () => {},
      data: () => {},
      flushed: async () => {},
      stopped,
    });
    let used: Awaited<ReturnType<typeof tessera>> | undefined;
    const code = await run(
      ['operator', '--port', '0', option, path],
      io(async () => {
        used = await tessera(['generate', 'user@example.com', '--json', option, path]);
      }),
    );
    expect([code, used?.code, used?.out[0]]).toEqual([0, 0, expect.stringContaining('"status":"success"')]);
    expect(out).toEqual([
      `# address and credentials of site 101 are in ${path}`,
      expect.stringMatching(/^listening on http:\/\/127\.0\.0\.1:\d+$/),
    ]);
    const text = await readFile(path, 'utf8');
    expect(text.replace(/=.*/g, '=')).toBe(
      '# mine\nOTHER=\nTESSERA_BASE_URL=\nTESSERA_API_KEY=\nTESSERA_CLIENT_SECRET=\n',
    );
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test('the environment takes precedence over it, and the command line over both', async () => {
    const path = join(folder, 'precedence.env');
    await writeEnvFile(path, { ...fixture.env, TESSERA_BASE_URL: 'http://127.0.0.1:1' });
    const args = ['generate', 'user@example.com', '--env', path];
    expect((await tessera(args)).err).toContain('could not connect to http://127.0.0.1:1 ');
    const env = { TESSERA_BASE_URL: fixture.env['TESSERA_BASE_URL']! };
    expect((await tessera(args, { env })).code).toBe(0);
    expect((await tessera([...args, '--base-url', 'http://127.0.0.1:2'], { env })).err).toContain(
      'http://127.0.0.1:2 ',
    );
  });

  test('that cannot be read or written is named', async () => {
    expect(await tessera(['doctor', '--env', 'nowhere.env'])).toMatchObject({
      code: 2,
      err: 'error: --env: could not read nowhere.env: no such file',
    });
    expect(await tessera(['operator', '--port', '0', '--env', '/nowhere/x.env'])).toMatchObject({
      code: 2,
      out: [],
      err: 'error: --env: could not write /nowhere/x.env: no such folder',
    });
  });

  test('that is none is refused before anything is started', async () => {
    const pipe = join(folder, 'pipe');
    await promisify(execFile)('mkfifo', [pipe]);
    for (const [path, got] of [
      ['/dev/null', 'it is a pipe or a device'],
      [folder, 'it is a folder'],
      [pipe, 'it is a pipe or a device'],
    ] as const)
      expect(await tessera(['operator', '--port', '0', '--env', path])).toMatchObject({
        code: 2,
        out: [],
        err: `error: --env: could not write ${path}: ${got}`,
      });
  });

  test('lines for a shell quote what a shell would read otherwise', () => {
    expect(exportLines({ ONE: 'a+b/c==', TWO: "it's $HOME" })).toEqual([
      'export ONE=a+b/c==',
      "export TWO='it'\\''s $HOME'",
    ]);
  });
});

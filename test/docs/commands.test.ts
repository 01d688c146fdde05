/** Every block of the documentation in another language than TypeScript: commands, data, excerpts. */

import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { parseDocument } from 'yaml';
import { root } from '../../build/dist.ts';
import { type Block, blocks, pages, placeOf } from './blocks.ts';
import { argumentsOf, commandsOf, faultOf } from './commands.ts';

const ofLanguage = (language: string) => blocks.filter((block) => block.language === language);
const named = (found: readonly Block[]) => found.map((block) => [placeOf(block), block] as const);
const shell = ofLanguage('sh');

test('every block is in a language that a test checks, or in none', () => {
  const CHECKED = ['ts', 'tsx', 'js', 'html', 'sh', 'json', 'yaml', 'sql', 'kotlin', 'swift', 'python'];
  const UNCHECKED = [''];
  for (const { language, page, line } of blocks)
    expect([...CHECKED, ...UNCHECKED], `${page}:${line}`).toContain(language);
  expect(pages.length).toBeGreaterThan(35);
});

describe('shell', () => {
  test.each(named(shell))('%s: bash can parse it', (_, { code }) => {
    execFileSync('bash', ['-n'], { input: code });
  });

  // `$ tessera doctor` in a block without a language shows a dialogue.
  const dialogues = ofLanguage('')
    .filter(({ code }) => code.startsWith('$ '))
    .map((block) => ({ ...block, code: block.code.split('\n')[0]!.slice(2) }));
  const lines = [...shell, ...dialogues].flatMap((block) =>
    commandsOf(block.code).flatMap((command) => {
      const args = argumentsOf(command);
      return args ? [[placeOf(block), args.join(' '), args] as const] : [];
    }),
  );

  test('has command lines of tessera', () => expect(lines.length).toBeGreaterThan(35));

  test.each(lines)('%s: tessera %s is accepted by the real program', async (_, __, args) => {
    expect(await faultOf(args)).toBeUndefined();
  });

  test.each([
    [['operator', '--databse', './data'], 'unknown option'],
    [['keys', 'retire'], 'missing required argument'],
    [['operator', '--port', 'many'], 'expected a number'],
    [['mapp'], 'unknown command'],
  ])('tessera %j is not', async (args, fault) => {
    expect(await faultOf(args)).toContain(fault);
  });

  test('every npm script that is mentioned exists', async () => {
    const { scripts } = JSON.parse(await readFile(`${root}package.json`, 'utf8'));
    for (const block of shell)
      for (const [npm, run, script] of commandsOf(block.code))
        if (npm === 'npm' && run === 'run') expect(Object.keys(scripts), placeOf(block)).toContain(script);
  });

  test('every TESSERA_ variable that a page mentions is read by a program of the repository', async () => {
    const read = execFileSync(
      'git',
      ['grep', '-hoE', '(TESSERA|PUBLIC_TESSERA)_[A-Z_]+', '--', 'src', 'test', 'build', 'deploy', 'examples'],
      { cwd: root, encoding: 'utf8' },
    );
    const known = new Set(read.split('\n').map((name) => name.replace(/^PUBLIC_/, '')));
    for (const page of pages)
      for (const [name] of (await readFile(root + page, 'utf8')).matchAll(/\bTESSERA_[A-Z_]+/g))
        expect(known, `${page}: ${name}`).toContain(name);
  });
});

describe('data', () => {
  test.each(named(ofLanguage('json')))('%s is JSON', (_, { code }) => expect(() => JSON.parse(code)).not.toThrow());

  test.each(named(ofLanguage('yaml')))('%s is YAML', (_, { code }) => {
    const { errors, warnings } = parseDocument(code);
    expect([...errors, ...warnings]).toEqual([]);
  });
});

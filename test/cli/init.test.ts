/** `tessera init`: what it writes is what the first guide shows. */

import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { blocks } from '../docs/blocks.ts';
import { tessera } from './fixtures.ts';

const emptyFolder = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-init-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
};
const shown = (start: string) =>
  blocks.find(({ page, code }) => page === 'docs/start/script-tag.md' && code.startsWith(start))!.code;

const server = shown('// server.mjs\n');
const [common] = /import [^;]* from 'tessera-id.*?\n}\);\n/s.exec(server)!;
/** Of the server with Express, the guide shows what is different. */
const [imported, app] = shown("import express from 'express';").split('\n\n');

test.each([
  [[], server, '  npx tessera-id operator --env tessera.env'],
  [
    ['--express'],
    `// server.mjs, with Express\n${imported}\n${common}\n${app}`,
    '  npm install express && npx tessera-id operator --env tessera.env',
  ],
])('init %j writes the files of the guide and prints the next two commands', async (options, text, command) => {
  const folder = await emptyFolder();
  const { code, out } = await tessera(['init', folder, ...options]);
  expect([code, out.slice(1)]).toEqual([0, [command, '  node --env-file=tessera.env server.mjs']]);
  expect((await readdir(folder)).sort()).toEqual(['index.html', 'server.mjs']);
  expect(await readFile(join(folder, 'server.mjs'), 'utf8')).toBe(text);
  expect(await readFile(join(folder, 'index.html'), 'utf8')).toBe(shown('<!-- index.html -->'));
});

test('init --port names the port of the server', async () => {
  const folder = await emptyFolder();
  await tessera(['init', folder, '--port', '4001']);
  expect(await readFile(join(folder, 'server.mjs'), 'utf8')).toContain(
    ".listen(4001, '127.0.0.1', () => console.log('http://127.0.0.1:4001'))",
  );
});

test('init writes nothing if one of its files exists or the folder is missing', async () => {
  const folder = await emptyFolder();
  const page = join(folder, 'index.html');
  await writeFile(page, 'mine');
  expect(await tessera(['init', folder])).toMatchObject({
    code: 2,
    err: `error: init: expected no ${page}, got one; nothing was written`,
  });
  expect([await readdir(folder), await readFile(page, 'utf8')]).toEqual([['index.html'], 'mine']);
  const missing = join(folder, 'missing');
  expect((await tessera(['init', missing])).err).toBe(
    `error: init: could not write ${join(missing, 'server.mjs')}: no such folder`,
  );
});

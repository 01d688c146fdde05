/** `tessera map` with a file that is larger than the heap of its process. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { COMMAND } from '../support/command.ts';
import { createFixture, type Fixture } from './fixtures.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());

test.each([
  ['a database', async () => ['--rejects', '/dev/null', '--database', await fixture.database()]],
  ['a file', async () => ['--out', fixture.path('large.csv')]],
] as const)('maps 100 MB to %s in bounded memory', async (where, options) => {
  // Few people with long rows; the heap is smaller than the file.
  const args = ['map', '-', '--column', 'email', '--json', ...(await options())];
  const env = { PATH: process.env.PATH ?? '', PGPASSWORD: process.env['PGPASSWORD'] ?? '', ...fixture.env };
  const child = spawn(process.execPath, ['--max-old-space-size=64', COMMAND, ...args], { env });
  const exit = once(child, 'close');
  const said = { out: text(child.stdout), err: text(child.stderr) };
  const filler = 'x'.repeat(2000);
  const lines = Array.from({ length: 500 }, (_, i) => `${filler},heap-${i}@example.com\n`).join('');
  const bad = Array.from({ length: 500 }, (_, i) => `${filler},nobody-${i}\n`).join('');
  child.stdin.on('error', () => {});
  child.stdin.write('note,email\n');
  for (let i = 0; i < 100; i++)
    if (!child.stdin.write(i % 2 ? bad : lines)) await Promise.race([once(child.stdin, 'drain'), exit]);
  child.stdin.end();
  expect([await exit, await said.err]).toEqual([[0, null], '']);
  const counts =
    where === 'a file' ? { mapped: 25_000, invalid: 25_000 } : { mapped: 500, kept: 24_500, rejected: 25_000 };
  expect(JSON.parse(await said.out)).toMatchObject({ rows: 50_000, ...counts });
});

/** The size limits of package.json (`npm run size` prints them), and the sizes that docs/guarantees.md states. */

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { ensureDist, root } from '../build/dist.ts';
import { entries, scripts } from '../build/entries.ts';
import manifest from '../package.json' with { type: 'json' };

interface Measured {
  readonly name: string;
  /** Bytes of brotli. */
  readonly size: number;
  readonly sizeLimit: number;
}

const limits = manifest['size-limit'];
let measured: readonly Measured[];
let guarantees: string;

beforeAll(async () => {
  await ensureDist();
  const bin = `${root}node_modules/size-limit/bin.js`;
  // It exits with 1 if a file is above its limit, and prints the sizes all the same.
  const { stdout } = await promisify(execFile)(process.execPath, [bin, '--json'], { cwd: root }).catch(
    (failure: { stdout: string }) => failure,
  );
  measured = JSON.parse(stdout);
  guarantees = await readFile(`${root}docs/guarantees.md`, 'utf8');
}, 60_000);

describe.each(limits)('$name', ({ name, limit }) => {
  test(`is at most ${limit} of brotli`, () => {
    const { size, sizeLimit } = measured.find((one) => one.name === name)!;
    expect(size).toBeGreaterThan(0);
    expect(size).toBeLessThanOrEqual(sizeLimit);
  });

  test('has its limit in docs/guarantees.md', () => {
    expect(guarantees).toContain(`| \`${name}\` | ${limit} |`);
  });
});

test('every script-tag file and every entry point for pages has a limit, except the development build', () => {
  const forProduction = Object.keys(scripts).filter((name) => !scripts[name]!.isDevelopment);
  const forPages = Object.keys(entries).filter((entry) => /^(session|token|page)\//.test(entries[entry]!));
  expect(limits.map(({ name }) => name).sort()).toEqual(
    [...forProduction.map((name) => `dist/${name}`), ...forPages.map((entry) => `tessera-id${entry.slice(1)}`)].sort(),
  );
});

/** The manifests and lock files, and the names in CONTRIBUTING.md. biome.json has the rules of `src/`. */

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { filesBelow, root } from '../build/dist.ts';
import { command, entries } from '../build/entries.ts';
import { ALTERATIONS } from './model/alterations.ts';

/** The folders with packages that build/packages.ts installs. */
const INSTALLED_ON_FIRST_USE = [
  'bench',
  'build/mutation',
  'build/reference',
  'demo/prebid',
  'docs/.vitepress',
  'test/consumers',
  'test/hosts',
  'test/oldest',
];

/** The one folder that documents name and a clone does not have. */
const GENERATED = 'docs/reference/';

const readJson = async (file: string) => JSON.parse(await readFile(root + file, 'utf8'));

test.each(['CONTRIBUTING.md', 'src/session/index.ts'])(
  'every file and every name that %s quotes exists',
  async (file) => {
    const text = await readFile(root + file, 'utf8');
    const quoted = [...text.replace(/```.*?```/gs, '').matchAll(/`([^`\n]+)`/g)].map(([, quote]) => quote!);
    const tracked = (
      await promisify(execFile)('git', ['ls-files', '-co', '--exclude-standard'], { cwd: root })
    ).stdout.split('\n');
    const isFile = (path: string) => tracked.some((name) => `/${name}`.includes(`/${path}`));
    const files = tracked.filter((name) => /^(src|test)\/.*\.tsx?$/.test(name));
    const code = (await Promise.all(files.map((name) => readFile(root + name, 'utf8')))).join('\n');
    const missing = quoted.filter((quote) =>
      /^[\w./-]+(\.\w+|\/)$/.test(quote)
        ? !isFile(quote) && quote !== GENERATED
        : /^[a-z]\w*[A-Z]\w*$|^[A-Z][a-z]\w+$/.test(quote) && !new RegExp(`\\b${quote}\\b`).test(code),
    );
    expect(missing).toEqual([]);
  },
);

describe('the package', () => {
  test('lists for every entry the files built from its source', async () => {
    const { exports, bin } = await readJson('package.json');
    const { './package.json': own, ...paths } = exports;
    expect(own).toBe('./package.json');
    expect(Object.keys(paths)).toEqual(Object.keys(entries));
    for (const [path, file] of Object.entries(entries)) {
      // Full error messages and warnings for pages. Servers always have them.
      const isOfPage = /^(session|token|page)\//.test(file) && path !== './global';
      expect(paths[path]).toEqual({
        types: `./dist/${file}.d.ts`,
        ...(isOfPage && { development: `./dist/development/${file}.js` }),
        default: `./dist/${file}.js`,
      });
    }
    expect(bin).toEqual({ tessera: `dist/${command}.js`, 'tessera-id': `dist/${command}.js` });
    const files = (await filesBelow(`${root}src`)).map((file) => relative(`${root}src`, file).replace(/\.tsx?$/, ''));
    expect(files).toEqual(expect.arrayContaining([...Object.values(entries), command]));
  });

  test('has two dependencies', async () => {
    const { dependencies } = await readJson('package.json');
    expect(Object.keys(dependencies).sort()).toEqual(['@noble/ciphers', 'idb-keyval']);
  });

  describe.each(['', ...INSTALLED_ON_FIRST_USE])('in %s/', (folder) => {
    test('every version is pinned', async () => {
      const { dependencies, devDependencies } = await readJson(join(folder, 'package.json'));
      for (const version of Object.values({ ...dependencies, ...devDependencies })) {
        expect(version).toMatch(/^(?:npm:[\w-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/);
      }
    });

    test('the lock file has no download URLs, nor will one that npm writes', async () => {
      const lock = await readFile(join(root, folder, 'package-lock.json'), 'utf8');
      expect(lock).not.toContain('"resolved"');
      expect(lock).not.toMatch(/https?:\/\/[^"]*\.tgz/);
      const settings = await readFile(join(root, folder, '.npmrc'), 'utf8');
      expect(settings).toContain('omit-lockfile-registry-resolved=true');
    });
  });

  test('a clone installs at most 300 packages, besides those for its platform', async () => {
    const { packages } = await readJson('package-lock.json');
    const names = Object.keys(packages).filter((path) => path && !packages[path].os && !packages[path].cpu);
    expect(names.length).toBeLessThanOrEqual(300);
  });
});

test('every text that an altered rule of the model replaces is in its file', async () => {
  for (const [file, rows] of Object.entries(ALTERATIONS)) {
    const text = await readFile(`${root}src/session/${file}`, 'utf8');
    expect(rows.map(([from]) => from).filter((from) => !text.includes(from))).toEqual([]);
  }
});

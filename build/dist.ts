/**
 * Fill `dist/`. It is built beside and put in place whole, so that a failed or interrupted build leaves the old one, and
 * two builds at the same time do not mix.
 */

import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { asShipped, buildCommand, buildEntries, buildScript, buildTypes, root } from './bundle.ts';
import { command, scripts } from './entries.ts';
import { thirdParties } from './notices.ts';

const names = Object.keys(scripts) as (keyof typeof scripts)[];

/** Build everything. */
export const buildDist = async (): Promise<void> => {
  const fresh = join(root, `node_modules/.cache/tessera-dist-${process.pid}`);
  try {
    const [bundles] = await Promise.all([
      Promise.all([...names.map(buildScript), buildEntries(), buildCommand()]),
      buildTypes(fresh),
    ]);
    for (const file of await filesBelow(fresh)) {
      await writeFile(file, asShipped(await readFile(file, 'utf8')));
    }
    for (const { path, code } of bundles.flat()) {
      await mkdir(dirname(join(fresh, path)), { recursive: true });
      await writeFile(join(fresh, path), code, { mode: path === `${command.file}.js` ? 0o755 : 0o644 });
    }
    await writeFile(join(fresh, 'THIRD-PARTY.md'), await thirdParties(bundles.flat()));
    await rm(join(root, 'dist'), { recursive: true, force: true });
    await rename(fresh, join(root, 'dist'));
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
};

/** Build unless `dist/` is newer than everything that it is made from. */
export const ensureDist = async (): Promise<void> => {
  const built = await stat(join(root, 'dist/tessera.js')).catch(() => undefined);
  const sources = [
    ...(await filesBelow(join(root, 'src'))),
    ...(await filesBelow(join(root, 'build'))),
    join(root, 'package-lock.json'),
    join(root, 'package.json'),
  ];
  const times = await Promise.all(sources.map(async (file) => (await stat(file)).mtimeMs));
  if (!built || built.mtimeMs < Math.max(...times)) await buildDist();
};

/** Every file below a folder, absolute. */
export const filesBelow = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((found) => found.isFile())
    .map((found) => join(found.parentPath, found.name));

/**
 * `npm run build`: runs every mode of `vite.config.ts` and emits the declarations. With `--quiet` it prints nothing.
 *
 * `dist/` is built in another directory and then renamed, so that a failed build leaves the old files and nobody sees an
 * incomplete build.
 */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, copyFile, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type BuildEnvironmentOptions, build, type Rolldown } from 'vite';
import { command, entries, modes, scripts } from './entries.ts';
import { sbomOf } from './sbom.ts';

/** The directory of package.json, with a trailing slash. */
export const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Run one mode of `vite.config.ts`.
 *
 * @param options  the output options; by default nothing is written.
 * @returns        the JavaScript files, with the modules in each.
 */
export async function bundle(
  mode: string,
  options: BuildEnvironmentOptions = { write: false },
): Promise<Rolldown.OutputChunk[]> {
  const result = await build({ root, mode, configFile: `${root}vite.config.ts`, logLevel: 'warn', build: options });
  return [result as Rolldown.RolldownOutput | Rolldown.RolldownOutput[]]
    .flat()
    .flatMap(({ output }) => output)
    .filter((file) => file.type === 'chunk');
}

/** Emit the declarations. If `tsc` fails, throws its messages. */
async function emitTypes(outDir: string): Promise<void> {
  const tsc = `${root}node_modules/typescript/bin/tsc`;
  await promisify(execFile)(process.execPath, [tsc, '-p', `${root}tsconfig.build.json`, '--outDir', outDir]).catch(
    (failure: { stdout?: string }) => {
      throw new Error(`tsc: ${failure.stdout || failure}`);
    },
  );
  await removeUnreached(outDir);
}

/** Remove the declarations that no entry point leads to. */
async function removeUnreached(outDir: string): Promise<void> {
  const pending = Object.values(entries).map((file) => join(outDir, `${file}.d.ts`));
  const reached = new Set<string>();
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    // `from './a.ts'`, `import './a.ts'`, `import('./a.ts')`: the declaration of `a.ts` is `a.d.ts`.
    for (const [, local] of (await readFile(file, 'utf8')).matchAll(
      /\b(?:from|import)\b[\s(]*['"](\.[^'"]+)\.tsx?['"]/g,
    ))
      pending.push(join(dirname(file), `${local}.d.ts`));
  }
  const all = (await filesBelow(outDir)).filter((file) => file.endsWith('.d.ts'));
  await Promise.all(all.filter((file) => !reached.has(file)).map((file) => rm(file)));
}

/** Copy the pages of the demo, and those of its sources that the pages display. */
async function copyPages(outDir: string): Promise<void> {
  const pages = await filesBelow(`${root}demo/page`);
  const texts = await Promise.all(pages.map((file) => readFile(file, 'utf8')));
  const displayed = [...texts.join('\n').matchAll(/\{\{code (\S+) /g)].map(([, name]) => `${root}demo/${name}`);
  for (const file of new Set([...pages, ...displayed])) {
    const copy = join(outDir, 'demo', relative(`${root}demo`, file));
    await mkdir(dirname(copy), { recursive: true });
    await copyFile(file, copy);
  }
}

/** Build everything into `dist/`. */
export async function buildDist(): Promise<void> {
  // Beside `dist/`, because the paths in source maps are relative.
  const outDir = `${root}dist.${process.pid}`;
  try {
    const [files] = await Promise.all([
      Promise.all(modes.map((mode) => bundle(mode, { outDir }))),
      emitTypes(outDir),
      copyPages(outDir),
    ]);
    await writeFile(`${outDir}/sbom.json`, await sbomOf(files.flat(), root));
    await chmod(`${outDir}/${command}.js`, 0o755);
    await rm(`${root}dist`, { recursive: true, force: true });
    await rename(outDir, `${root}dist`);
  } finally {
    await rm(outDir, { recursive: true, force: true });
  }
}

/** Build unless `dist/` is newer than all its sources. */
export async function ensureDist(): Promise<void> {
  const built = await stat(`${root}dist`).catch(() => undefined);
  const sources = [
    ...(await filesBelow(`${root}src`)),
    ...(await filesBelow(`${root}build`)),
    ...(await filesBelow(`${root}demo`)),
    ...['package.json', 'package-lock.json', 'vite.config.ts', 'tsconfig.json', 'tsconfig.build.json'].map(
      (name) => root + name,
    ),
  ];
  const changedAt = await Promise.all(sources.map(async (file) => (await stat(file)).mtimeMs));
  if (!built || built.mtimeMs < Math.max(...changedAt)) await buildDist();
}

/** List every file below a directory, as absolute paths. Installed packages are left out. */
export async function filesBelow(directory: string): Promise<string[]> {
  const found = await readdir(directory, { withFileTypes: true });
  const files = found.map(async (one) => {
    const path = join(directory, one.name);
    if (one.isDirectory()) return one.name === 'node_modules' ? [] : filesBelow(path);
    return one.isFile() ? [path] : [];
  });
  return (await Promise.all(files)).flat();
}

if (process.argv[1] === import.meta.filename) {
  const startedAt = performance.now();
  const log = process.argv.includes('--quiet') ? () => {} : console.log;
  await buildDist();
  for (const name of Object.keys(scripts)) {
    const hash = createHash('sha384').update(await readFile(`${root}dist/${name}`));
    log(`${name.padEnd(16)} integrity="sha384-${hash.digest('base64')}"`);
  }
  log(`dist/ built in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
}

/**
 * The bill of materials in CycloneDX 1.6: the packages whose code is in the files of `dist/`, with the files that contain them,
 * and the packages that a package manager installs beside it.
 *
 * The bundler reports the modules in each file, so nothing is listed by hand. The text contains no time and no serial number, so
 * the same sources produce the same bytes.
 */

import { readFile } from 'node:fs/promises';
import type { Rolldown } from 'vite';
import manifest from '../package.json' with { type: 'json' };
import lock from '../package-lock.json' with { type: 'json' };

/** A file of `dist/` and the modules in it. */
export type BundledFile = Pick<Rolldown.OutputChunk, 'fileName' | 'modules'>;

interface Package {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

/** Convert `/x/node_modules/@noble/ciphers/aes.js` to `/x/node_modules/@noble/ciphers`. */
function folderOf(module: string): string | undefined {
  return /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(module.replaceAll('\\', '/').replace('\0', ''))?.[1];
}

async function readPackage(folder: string): Promise<Package> {
  return JSON.parse(await readFile(`${folder}/package.json`, 'utf8'));
}

function purlOf({ name, version }: Package): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

/** The hash with which the lock file pins the archive of the package at `path`, in hexadecimal. */
function hashesOf(path: string) {
  const { integrity = '' } = (lock.packages as Record<string, { integrity?: string }>)[path] ?? {};
  const [, base64] = /^sha512-(.*)$/.exec(integrity) ?? [];
  return base64 && [{ alg: 'SHA-512', content: Buffer.from(base64, 'base64').toString('hex') }];
}

function componentOf(found: Package, files: readonly string[], path = '') {
  const hashes = hashesOf(path);
  return {
    type: 'library',
    'bom-ref': purlOf(found),
    name: found.name,
    version: found.version,
    purl: purlOf(found),
    // It has no files, because the user's package manager installs it beside the package.
    scope: 'required',
    ...(hashes && { hashes }),
    ...(found.license && { licenses: [{ expression: found.license }] }),
    ...(files.length > 0 && { properties: files.map((value) => ({ name: 'tessera:bundledIn', value })) }),
  };
}

/** Build the text of `dist/sbom.json`. `root` is the folder of package.json, with a trailing slash. */
export async function sbomOf(files: readonly BundledFile[], root: string): Promise<string> {
  const filesByFolder = new Map<string, Set<string>>(
    Object.keys(manifest.dependencies).map((name) => [`${root}node_modules/${name}`, new Set<string>()]),
  );
  for (const { fileName, modules } of files)
    for (const module of Object.keys(modules)) {
      const folder = folderOf(module);
      if (folder) filesByFolder.set(folder, (filesByFolder.get(folder) ?? new Set()).add(fileName));
    }
  const components = await Promise.all(
    [...filesByFolder].map(async ([folder, names]) =>
      componentOf(await readPackage(folder), [...names].sort(), folder.slice(root.length)),
    ),
  );
  components.sort((one, other) => (one['bom-ref'] < other['bom-ref'] ? -1 : 1));
  const own: Package = manifest;
  const bom = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { ...componentOf(own, []), type: 'library', scope: undefined } },
    components,
    dependencies: [{ ref: purlOf(own), dependsOn: components.map(({ purl }) => purl) }],
  };
  return `${JSON.stringify(bom, undefined, 2)}\n`;
}

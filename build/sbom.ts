/**
 * The bill of materials in CycloneDX 1.6: the packages whose code is in the files of `dist/`, with the files that contain them,
 * and the packages that a package manager installs beside it.
 *
 * The bundler says which modules a file contains, so nothing is listed by hand. There is no time and no serial number: the same
 * sources give the same bytes.
 */

import { readFile } from 'node:fs/promises';
import type { Rolldown } from 'vite';
import manifest from '../package.json' with { type: 'json' };

/** A file of `dist/` and the modules in it. */
export type BundledFile = Pick<Rolldown.OutputChunk, 'fileName' | 'modules'>;

interface Package {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

/** `/x/node_modules/@noble/ciphers/aes.js` to `/x/node_modules/@noble/ciphers`. */
const folderOf = (module: string): string | undefined =>
  /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(module.replaceAll('\\', '/').replace('\0', ''))?.[1];

const readPackage = async (folder: string): Promise<Package> =>
  JSON.parse(await readFile(`${folder}/package.json`, 'utf8'));

const purlOf = ({ name, version }: Package): string => `pkg:npm/${name.replace('@', '%40')}@${version}`;

const componentOf = (found: Package, files: readonly string[]) => ({
  type: 'library',
  'bom-ref': purlOf(found),
  name: found.name,
  version: found.version,
  purl: purlOf(found),
  // Without files: installed beside the package by the user's package manager.
  scope: 'required',
  ...(found.license && { licenses: [{ expression: found.license }] }),
  ...(files.length > 0 && { properties: files.map((value) => ({ name: 'tessera:bundledIn', value })) }),
});

/** Build the text of `dist/sbom.json`. `root` is the folder of package.json, with a final slash. */
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
    [...filesByFolder].map(async ([folder, names]) => componentOf(await readPackage(folder), [...names].sort())),
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

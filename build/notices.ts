/** `dist/THIRD-PARTY.md`: whose work is bundled, and under which terms. */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuiltFile } from './bundle.ts';

/** The folder of the package that a module came from, if it came from one. */
const packageFolder = (module: string): string | undefined =>
  /^.*[/\\]node_modules[/\\](?:@[^/\\]+[/\\])?[^/\\]+/.exec(module.replace(/^\0/, ''))?.[0];

/** Write down every package that left something in these files. */
export const thirdParties = async (files: readonly BuiltFile[]): Promise<string> => {
  const folders = new Set(files.flatMap(({ modules }) => modules.flatMap((module) => packageFolder(module) ?? [])));
  const notices = await Promise.all(
    [...folders].map(async (folder) => {
      const { name, version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
      const file = (await readdir(folder)).find((found) => /^licen[cs]e/i.test(found));
      const text = file ? (await readFile(join(folder, file), 'utf8')).trim() : '';
      return `## ${name} ${version} (${license})\n\n${text}\n`;
    }),
  );
  return ['# Software bundled in these files\n', ...notices.sort()].join('\n');
};

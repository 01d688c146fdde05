/** The code blocks of docs/pages/testing.md, and how one runs inside a test file. */

import { readFile } from 'node:fs/promises';
import { transformWithOxc } from 'vite';
import { root } from '../../build/dist.ts';

/** The blocks of a Markdown file that import from `specifier`, in order, as they are written. */
export const blocksWith = async (file: string, specifier: string): Promise<string[]> => {
  const text = await readFile(root + file, 'utf8');
  const blocks = [...text.matchAll(/^```(?:ts|js)\n(.*?)^```$/gms)].map(([, code]) => code!);
  return blocks.filter((code) => code.includes(`from '${specifier}'`));
};

/**
 * Run a block: its types are removed, and its imports, which must be by name, come from `modules`.
 *
 * @param modules  import path -> what it exports.
 */
export const runBlock = async (block: string, modules: Record<string, object>): Promise<void> => {
  const { code } = await transformWithOxc(block, 'block.ts');
  const body = code.replace(/^import \{([^}]*)\} from ["']([^"']+)["'];?$/gm, (_, imported: string, path: string) => {
    if (!modules[path]) throw new Error(`expected one of ${Object.keys(modules).join(', ')}, got an import of ${path}`);
    return `const {${imported}} = modules[${JSON.stringify(path)}];`;
  });
  const AsyncFunction = runBlock.constructor as new (...given: string[]) => (modules: object) => Promise<void>;
  await new AsyncFunction('modules', body)(modules);
};

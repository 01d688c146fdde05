/**
 * The public surface: each name that an entry point exports, with its declaration, as `surface.txt` records it.
 *
 * A change of it is a decision: `npx vitest run --project node test/api -u` records the new surface, CHANGELOG.md tells users.
 */

import { readFile } from 'node:fs/promises';
import { parseSync } from 'vite';
import { expect, test } from 'vitest';
import { root } from '../../build/dist.ts';
import { entries } from '../../build/entries.ts';

type Node = { readonly type: string; readonly start: number; readonly end: number; readonly [member: string]: unknown };

const read = async (path: string) => {
  const code = await readFile(path, 'utf8');
  const { program } = parseSync(path, code, { lang: path.endsWith('x') ? 'tsx' : 'ts' });
  return { code, body: program.body as unknown as readonly Node[] };
};

const nameOf = (node: unknown): string => (node as { name: string }).name;
const withoutComments = (text: string): string =>
  text
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/(^|\s)\/\/ .*$/gm, '')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** The declaration of a name without its body and comments; follows re-exports. */
const declarationOf = async (path: string, name: string): Promise<string> => {
  const { code, body } = await read(path);
  for (const node of body) {
    const declared = (node.type === 'ExportNamedDeclaration' ? (node['declaration'] as Node | null) : node) ?? node;
    const text = (end = declared.end) => withoutComments(code.slice(declared.start, end));
    if (
      (declared.type === 'FunctionDeclaration' || declared.type === 'TSDeclareFunction') &&
      nameOf(declared['id']) === name
    )
      return text((declared['body'] as Node | null)?.start ?? declared.end);
    if (/^(TSInterface|TSTypeAlias|Class)/.test(declared.type) && nameOf(declared['id']) === name) return text();
    if (
      declared.type === 'VariableDeclaration' &&
      (declared['declarations'] as Node[]).some(({ id }) => nameOf(id) === name)
    )
      return text();
    const specifiers = (node['specifiers'] as Node[] | undefined) ?? [];
    const source = node['source'] as { value: string } | null | undefined;
    for (const { local, exported, imported } of source?.value.startsWith('.') ? specifiers : [])
      if (nameOf(exported ?? local) === name)
        return declarationOf(new URL(source!.value, `file://${path}`).pathname, nameOf(imported ?? local));
  }
  return 'declared elsewhere';
};

const exportsOf = async (path: string): Promise<string[]> =>
  (await read(path)).body.flatMap((node) => {
    if (node.type === 'ExportAllDeclaration') return ['*'];
    if (node.type !== 'ExportNamedDeclaration') return [];
    const declaration = node['declaration'] as Node | null;
    if (declaration?.type === 'VariableDeclaration')
      return (declaration['declarations'] as Node[]).map(({ id }) => nameOf(id));
    if (declaration) return [nameOf(declaration['id'])];
    return (node['specifiers'] as Node[]).map(({ exported }) => nameOf(exported));
  });

test('the exports of every entry point are those that surface.txt records', async () => {
  const lines: string[] = [];
  for (const [entry, name] of Object.entries(entries)) {
    const path = `${root}src/${name}.ts`;
    lines.push('', `tessera-id${entry.slice(1)}`);
    for (const exported of (await exportsOf(path)).sort())
      lines.push(`  ${exported}: ${await declarationOf(path, exported)}`);
  }
  await expect(`${lines.join('\n').trim()}\n`).toMatchFileSnapshot('surface.txt');
});

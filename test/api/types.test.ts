/** Every type that a public signature names is exported by an entry point: users can name what they pass and get. */

import { readFileSync } from 'node:fs';
import { parseSync } from 'vite';
import { expect, test } from 'vitest';
import { root } from '../../build/dist.ts';
import { entries } from '../../build/entries.ts';

type Node = { readonly type: string; readonly [member: string]: unknown };

interface Declared {
  readonly path: string;
  readonly name: string;
  readonly node: Node;
}

const nameOf = (node: unknown): string => (node as { name: string }).name;
const keyOf = ({ path, name }: Declared): string => `${path.slice(`${root}src/`.length)} ${name}`;

const bodies = new Map<string, readonly Node[]>();
const bodyOf = (path: string): readonly Node[] => {
  const known = bodies.get(path);
  if (known) return known;
  const { program } = parseSync(path, readFileSync(path, 'utf8'), { lang: path.endsWith('x') ? 'tsx' : 'ts' });
  const body = program.body as unknown as readonly Node[];
  bodies.set(path, body);
  return body;
};

const declaredNames = (node: Node): string[] =>
  node.type === 'VariableDeclaration'
    ? (node['declarations'] as Node[]).map(({ id }) => nameOf(id))
    : node['id']
      ? [nameOf(node['id'])]
      : [];

const resolve = (path: string, name: string): Declared | undefined => {
  for (const statement of bodyOf(path)) {
    const node = (statement['declaration'] as Node | null | undefined) ?? statement;
    if (declaredNames(node).includes(name)) return { path, name, node };
    const source = (statement['source'] as { value: string } | null | undefined)?.value;
    for (const specifier of (statement['specifiers'] as Node[] | undefined) ?? []) {
      // What a file calls a name: `exported` of a re-export, `local` of an import.
      const here = nameOf(specifier['exported'] ?? specifier['local']);
      const there = nameOf(specifier['imported'] ?? specifier['local']);
      if (here === name && source?.startsWith('.')) return resolve(new URL(source, `file://${path}`).pathname, there);
    }
  }
  return undefined;
};

const exportedNames = (path: string): string[] =>
  bodyOf(path).flatMap((node) => {
    if (node.type !== 'ExportNamedDeclaration') return [];
    const declaration = node['declaration'] as Node | null;
    return declaration
      ? declaredNames(declaration)
      : (node['specifiers'] as Node[]).map(({ exported }) => nameOf(exported));
  });

/** The names of types in a declaration, without its type parameters, and without what callers do not see. */
const typesIn = (node: Node): Set<string> => {
  const names = new Set<string>();
  const parameters = new Set<string>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) visit(each);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
    const each = value as Node;
    // The body of a function, the default of a parameter, and the value of a variable that has a type.
    const isTyped = each.type === 'VariableDeclarator' && Boolean((each['id'] as Node)['typeAnnotation']);
    const hidden = each.type === 'AssignmentPattern' ? each['right'] : isTyped ? each['init'] : undefined;
    if (each.type === 'BlockStatement') return;
    if (each.type === 'TSTypeParameter') parameters.add(nameOf(each['name']));
    const named =
      each.type === 'TSTypeReference' ? each['typeName'] : each.type === 'TSInterfaceHeritage' && each['expression'];
    if (named && (named as Node).type === 'Identifier') names.add(nameOf(named));
    for (const member of Object.values(each)) if (member !== hidden) visit(member);
  };
  visit(node);
  return new Set([...names].filter((name) => !parameters.has(name)));
};

/** List the types that a public signature names and no entry point exports. */
const unexported = (paths: readonly string[]): string[] => {
  const published = paths.flatMap((path) => exportedNames(path).map((name) => resolve(path, name)!));
  const keys = new Set(published.map(keyOf));
  const missing = published.flatMap((declared) =>
    [...typesIn(declared.node)]
      .flatMap((name) => resolve(declared.path, name) ?? [])
      .filter((type) => !keys.has(keyOf(type)))
      .map((type) => `${keyOf(declared)} names ${keyOf(type)}`),
  );
  return [...new Set(missing)].sort();
};

const paths = Object.values(entries).map((name) => `${root}src/${name}.ts`);

test('every type in a public signature is exported by an entry point', () => expect(unexported(paths)).toEqual([]));

test('a type that is used but not exported is reported', () => {
  // Without the entry point of the sessions, the adapters name types that nothing exports.
  const missing = unexported(paths.filter((path) => !path.endsWith('session/index.ts')));
  expect(missing).toContain('page/react.ts useAdvertisingToken names session/types.ts Session');
});

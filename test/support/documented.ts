/** Finds the exports of an entry point, and those without a docstring. */

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type ESTree, parseSync } from 'vite';

interface Parsed {
  readonly path: string;
  readonly code: string;
  readonly program: ESTree.Program;
  readonly docEnds: ReadonlySet<number>;
}

const parsed = new Map<string, Parsed>();
const parse = (path: string): Parsed => {
  const known = parsed.get(path);
  if (known) return known;
  const code = readFileSync(path, 'utf8');
  const { program, comments } = parseSync(path, code, { lang: 'ts' });
  const docEnds = new Set(
    comments.filter(({ type, value }) => type === 'Block' && value.startsWith('*')).map(({ end }) => end),
  );
  const result = { path, code, program, docEnds };
  parsed.set(path, result);
  return result;
};

/** Tell whether a docstring precedes a node, with only white space and line comments in between. */
const hasDoc = ({ code, docEnds }: Parsed, start: number): boolean => {
  const before = code.slice(0, start).replace(/(\s|\/\/[^\n]*\n)+$/, '');
  return docEnds.has(before.length);
};

const namesOf = (declaration: ESTree.Node): string[] => {
  if (declaration.type === 'VariableDeclaration')
    return declaration.declarations.flatMap(({ id }) => (id.type === 'Identifier' ? [id.name] : []));
  return 'id' in declaration && declaration.id && 'name' in declaration.id ? [String(declaration.id.name)] : [];
};

/** List the exports of the module at `path` that have no docstring, including its re-exports. */
export const undocumentedIn = (path: string, only?: ReadonlySet<string>): string[] => {
  const file = parse(path);
  return file.program.body.flatMap((node) => {
    if (node.type !== 'ExportNamedDeclaration') return [];
    if (node.source) {
      const wanted = node.specifiers.flatMap(({ local, exported }) => {
        const name = 'name' in exported ? exported.name : exported.value;
        return !only || only.has(name) ? ['name' in local ? local.name : local.value] : [];
      });
      const target = join(dirname(path), node.source.value);
      return wanted.length ? undocumentedIn(target, new Set(wanted)) : [];
    }
    if (!node.declaration) return [];
    const names = namesOf(node.declaration).filter((name) => !only || only.has(name));
    return hasDoc(file, node.start) ? [] : names;
  });
};

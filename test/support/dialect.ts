/** The style of the declarations at the top level of a module. */

import type { ESTree } from 'vite';

/** Comments that a tool reads. */
const DIRECTIVE = /^\s*(?:\/ |biome-|@ts-)/;

const DECLARATION = /^(?:Variable|Function|Class|TSTypeAlias|TSInterface)Declaration$/;

const declarationOf = (node: ESTree.Node): ESTree.Node =>
  (node.type === 'ExportNamedDeclaration' && node.declaration) || node;

/** Find the constants that hold a function. With a type of its own, such a constant cannot be a declaration. */
const functionConstants = ({ body }: ESTree.Program): string[] =>
  body.map(declarationOf).flatMap((node) => {
    if (node.type !== 'VariableDeclaration' || node.kind !== 'const') return [];
    return node.declarations.flatMap(({ id, init }) =>
      id.type === 'Identifier' && !id.typeAnnotation && /^(?:Arrow)?FunctionExpression$/.test(init?.type ?? '')
        ? [`${id.name}: expected a function declaration, got a constant`]
        : [],
    );
  });

/** Find the modules that are imported several times. An import of the whole namespace cannot be part of another import. */
const repeatedImports = ({ body }: ESTree.Program): string[] => {
  const sources = body.flatMap((node) =>
    node.type === 'ImportDeclaration' && node.specifiers.every(({ type }) => type !== 'ImportNamespaceSpecifier')
      ? [node.source.value]
      : [],
  );
  const repeated = new Set(sources.filter((source, at) => sources.indexOf(source) !== at));
  return [...repeated].map((source) => `expected one import of ${source}, got several`);
};

/** Find line comments directly above declarations. */
const lineComments = ({ body }: ESTree.Program, code: string): string[] =>
  body.flatMap((node) => {
    if (!DECLARATION.test(declarationOf(node).type)) return [];
    const [, comment] = /(?:^|\n)[^\S\n]*\/\/(.*)\n[^\S\n]*$/.exec(code.slice(0, node.start)) ?? [];
    return comment === undefined || DIRECTIVE.test(comment) ? [] : [`expected a docstring, got //${comment}`];
  });

/** Return a sentence for each declaration that is written in another style than the others. */
export const dialectFaults = (program: ESTree.Program, code: string): string[] => [
  ...functionConstants(program),
  ...repeatedImports(program),
  ...lineComments(program, code),
];

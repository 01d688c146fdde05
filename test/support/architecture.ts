/**
 * The import and syntax rules of `src/`, as functions of a list of modules. `test/architecture.test.ts` applies them to `src/`,
 * and to small artificial modules that each break one rule. A rule returns one line for each violation.
 */

import { type ESTree, parseSync, Visitor } from 'vite';
import { dialectFaults } from './dialect.ts';

/** A file in `src/`: its relative path and its text. */
export interface SourceFile {
  readonly path: string;
  readonly code: string;
}

/** A function declaration, arrow function, method or function expression. */
export interface FunctionLines {
  readonly name: string;
  readonly lines: number;
}

export interface Module extends SourceFile {
  /** Imports, re-exports and `import()`, including types: the path from `src/` for a local file, otherwise the specifier. */
  readonly imports: readonly string[];
  /** Those that exist at run time: at least one imported name is not a type. */
  readonly runtimeImports: readonly string[];
  readonly functions: readonly FunctionLines[];
  readonly reExportsOnly: boolean;
  readonly hasExportAll: boolean;
  readonly hasDefaultExport: boolean;
  readonly hasEnum: boolean;
  readonly hasNamespace: boolean;
  readonly dialectFaults: readonly string[];
}

/** Replaces the specifier of an `import()` whose argument is not a literal. */
const COMPUTED = '(computed)';

/** Parse a file. */
export const readModule = ({ path, code }: SourceFile): Module => {
  const { module, program, errors } = parseSync(path, code, { lang: path.endsWith('x') ? 'tsx' : 'ts' });
  if (errors.length) throw new SyntaxError(`${path}: ${errors[0]!.message}`);

  const imports = new Set<string>();
  const runtimeImports = new Set<string>();
  const add = (specifier: string, isType = false) => {
    const to = specifier.startsWith('.') ? new URL(specifier, `file:///${path}`).pathname.slice(1) : specifier;
    imports.add(to);
    if (!isType) runtimeImports.add(to);
  };
  for (const { moduleRequest, entries } of module.staticImports)
    add(moduleRequest.value, entries.length > 0 && entries.every(({ isType }) => isType));
  for (const { entries } of module.staticExports)
    for (const { moduleRequest, isType } of entries) if (moduleRequest) add(moduleRequest.value, isType);

  let hasEnum = false;
  let hasNamespace = false;
  new Visitor({
    // For the parser, `declare global` is a namespace. It is the way to declare a property of `window`.
    TSModuleDeclaration: ({ id }) => {
      hasNamespace ||= !(id.type === 'Identifier' && id.name === 'global');
    },
    TSEnumDeclaration: () => {
      hasEnum = true;
    },
    ImportExpression: ({ source }) => add(source.type === 'Literal' ? String(source.value) : COMPUTED),
    TSImportType: ({ source }) => add(source.value, true),
  }).visit(program);

  return {
    path,
    code,
    imports: [...imports],
    runtimeImports: [...runtimeImports],
    functions: functionsIn(program, code),
    reExportsOnly: program.body.every(
      (node) => node.type === 'ExportAllDeclaration' || (node.type === 'ExportNamedDeclaration' && node.source),
    ),
    hasExportAll: program.body.some(({ type }) => type === 'ExportAllDeclaration'),
    hasEnum,
    hasNamespace,
    dialectFaults: dialectFaults(program, code),
    hasDefaultExport: module.staticExports.some(({ entries }) =>
      entries.some(({ exportName }) => exportName.kind === 'Default' || exportName.name === 'default'),
    ),
  };
};

/** Count the lines of every function. Nested functions also count towards the functions around them. */
const functionsIn = (program: ESTree.Program, code: string): FunctionLines[] => {
  const names = new Map<unknown, string>();
  const functions: FunctionLines[] = [];
  const nameOf = (key: ESTree.Node): string | undefined => (key.type === 'Identifier' ? key.name : undefined);
  const name = (value: unknown, key: ESTree.Node) => names.set(value, nameOf(key) ?? 'computed name');
  const count = (node: ESTree.Function | ESTree.ArrowFunctionExpression) => {
    const ownName = 'id' in node && node.id ? node.id.name : names.get(node);
    const lines = code.slice(node.start, node.end).split('\n').length;
    functions.push({ name: ownName ?? 'anonymous function', lines });
  };
  // A visitor reaches the parent, which contains the name, before the function.
  new Visitor({
    VariableDeclarator: ({ id, init }) => name(init, id),
    Property: ({ key, value }) => name(value, key),
    PropertyDefinition: ({ key, value }) => name(value, key),
    MethodDefinition: ({ key, value }) => name(value, key),
    FunctionDeclaration: count,
    FunctionExpression: count,
    ArrowFunctionExpression: count,
  }).visit(program);
  return functions;
};

/** A rule: returns a sentence for each violation in the modules. */
export type Rule = (modules: readonly Module[]) => string[];

/** The folders that a folder may import, besides itself and `token`. */
const FOLDERS: Record<string, readonly string[]> = {
  token: [],
  session: [],
  page: ['session'],
  server: [],
  database: [],
  mapping: ['server', 'database'],
  operator: ['database'],
  cli: ['session', 'page', 'server', 'database', 'mapping', 'operator'],
  // Runs the whole system in one process.
  testing: ['session', 'page', 'server', 'database', 'mapping', 'operator', 'cli'],
};

/** The files that other folders may import directly. All other files are imported through the `index.ts` of their folder. */
const SHARED = [
  // Helpers that `tessera-id/token` does not publish.
  'token/bytes.ts',
  'token/checks.ts',
  'token/cipher.ts',
  'token/development.ts',
  'token/errors.ts',
  // The part that page bundles need: `token/index.ts` also exports `dii.ts`, and thus a hash library.
  'token/envelope.ts',
  'token/phase.ts',
  'token/token-set.ts',
  // Messages that the script tag shares with a session. `session/index.ts` is public.
  'session/explain/entry.ts',
  'session/explain/nearest.ts',
  'session/explain/warnings.ts',
  // For the script tags and the drop-in, which also read properties of the document that named elements can hide.
  'session/browser/lifecycle.ts',
  // The drop-in's store returns the record that follows from a copy, and limits the time of its database.
  'session/rules/host-changes.ts',
  'session/rules/record.ts',
  'session/timeout.ts',
  // These need Node. `database/index.ts` does not: the operator compiles and runs without Node.
  'database/database.ts',
  'database/database-folder.ts',
  // The stored mappings accept the same DII and options as the client. `tessera-id/server` publishes neither check.
  'server/checks.ts',
  'server/dii.ts',
  // Reading a slow source, and work on batches with the results in order.
  'server/batch.ts',
  'server/source-reader.ts',
  // A pause that a signal can end.
  'server/retry.ts',
  // The command looks up the roles that a request requires: by its path, in the endpoints of the operator.
  'server/paths.ts',
  'operator/endpoints/sealed-endpoints.ts',
  // The entry point `tessera-id/operator/node`.
  'operator/node.ts',
  // The command has these options, and checks them before it opens a port.
  'operator/options/checks.ts',
  'operator/options/resolve.ts',
  'operator/options/table.ts',
  // The path of the health check, which fails while the command drains. `operator/index.ts` is public.
  'operator/http/router.ts',
];

/** Which files and folders may import which packages. Unlisted packages may not be imported at all. */
const PACKAGES: Record<string, readonly string[]> = {
  'idb-keyval': ['session/browser/store.ts'],
  '@noble/ciphers': ['token/noble-gcm.ts'],
  '@noble/hashes': ['token/dii.ts', 'server', 'mapping', 'operator', 'database', 'cli'],
  hono: ['operator', 'cli'],
  '@hono/node-server': ['operator/node.ts', 'server/node.ts', 'cli'],
  commander: ['cli'],
  picocolors: ['cli'],
  'jsonc-parser': ['cli'],
  '@bomb.sh/tab': ['cli/completion.ts'],
  'csv-parse': ['cli'],
  'csv-stringify': ['cli'],
  'cli-progress': ['cli'],
  pino: ['cli'],
  'prom-client': ['operator/ports/metrics.ts'],
  '@electric-sql/pglite': ['database'],
  pg: ['database'],
  react: ['page/react.ts', 'page/react.tsx'],
  // `tessera-noble.js` beside the script tag, whose address is known only in the page.
  // The demo, which is beside the command both in `dist/` and in the source.
  [COMPUTED]: ['page/noble.ts', 'cli/demo.ts'],
  // For the version number.
  'package.json': ['page/script.ts', 'cli'],
  'node:': ['operator/node.ts', 'server/node.ts', 'operator/http/node-sockets.ts', 'database', 'cli'],
};

/** The folders and files of the operator, from the bottom to the top: each imports only itself and those before it. */
const OPERATOR = [
  'crypto',
  // Interfaces through which the others reach storage, log and metrics; roles.
  'ports',
  'identity',
  'options',
  'tokens',
  'state',
  'administration',
  // The parts that endpoints use.
  'service.ts',
  'endpoints',
  'http',
  'node.ts',
  'operator.ts',
  'create.ts',
  'index.ts',
];

const RULES = 'session/rules';
const EXPLAIN = 'session/explain';
const BROWSER = 'session/browser';
const MAX_FILE_LINES = 250;
const MAX_FUNCTION_LINES = 60;

const folderOf = (path: string): string => path.split('/')[0]!;
const isSource = (path: string): boolean => folderOf(path) in FOLDERS && /\.tsx?$/.test(path);
const isUnder = (path: string, place: string): boolean => path === place || path.startsWith(`${place}/`);

/** The package of a specifier; `node:` for every Node module. */
export const packageOf = (specifier: string): string =>
  specifier.startsWith('node:')
    ? 'node:'
    : specifier
        .split('/')
        .slice(0, specifier.startsWith('@') ? 2 : 1)
        .join('/');

const eachImport = (
  modules: readonly Module[],
  faultOf: (from: string, to: string, isType: boolean) => string | false,
): string[] =>
  modules.flatMap(({ path, imports, runtimeImports }) =>
    imports.flatMap((to) => {
      const fault = faultOf(path, to, !runtimeImports.includes(to));
      return fault ? [`${path} imports ${to}: ${fault}`] : [];
    }),
  );

const eachModule = (modules: readonly Module[], faultOf: (module: Module) => string | false): string[] =>
  modules.flatMap((module) => {
    const fault = faultOf(module);
    return fault ? [`${module.path}: ${fault}`] : [];
  });

/** Every file is in a known folder, and a folder imports only permitted folders. */
export const folderRule: Rule = (modules) => [
  ...eachModule(
    modules,
    ({ path }) => !isSource(path) && `expected one of the folders ${Object.keys(FOLDERS).join(', ')}`,
  ),
  ...eachImport(modules, (from, to) => {
    const [own, other] = [folderOf(from), folderOf(to)];
    const isPermitted = own === other || other === 'token' || FOLDERS[own]?.includes(other);
    return isSource(to) && !isPermitted && `${own}/ must not import ${other}/`;
  }),
];

/** A folder is imported through its `index.ts`, or through a file that is listed as shared. */
export const entranceRule: Rule = (modules) =>
  eachImport(
    modules,
    (from, to) =>
      isSource(to) &&
      folderOf(from) !== folderOf(to) &&
      to !== `${folderOf(to)}/index.ts` &&
      !SHARED.includes(to) &&
      `expected ${folderOf(to)}/index.ts, or a file listed as shared`,
  );

/**
 * The rules of a session are pure: they import `token/` and one another. So do the explanations, except for types, so that every file
 * may import them. The files around browser interfaces are independent.
 */
export const sessionRule: Rule = (modules) =>
  eachImport(modules, (from, to, isType) => {
    const closed = [RULES, EXPLAIN].find((folder) => isUnder(from, folder));
    if (closed && !(isType && closed === EXPLAIN) && !isUnder(to, closed) && !isUnder(to, 'token'))
      return `${closed}/ imports only token/ and itself`;
    return isUnder(from, BROWSER) && isUnder(to, BROWSER) && `files of ${BROWSER}/ do not import each other`;
  });

/** No folder of the operator imports one above it. Therefore, an endpoint knows nothing of HTTP, and a store nothing of tokens. */
export const operatorRule: Rule = (modules) => {
  const partOf = (path: string): string => path.split('/')[1]!;
  const isOfOperator = (path: string): boolean => isUnder(path, 'operator');
  return [
    ...eachModule(
      modules,
      ({ path }) =>
        isOfOperator(path) && !OPERATOR.includes(partOf(path)) && `expected in operator/ one of ${OPERATOR.join(', ')}`,
    ),
    ...eachImport(modules, (from, to) => {
      if (!isOfOperator(from) || !isOfOperator(to)) return false;
      const [own, other] = [partOf(from), partOf(to)];
      return OPERATOR.indexOf(own) < OPERATOR.indexOf(other) && `operator/${other} is above operator/${own}`;
    }),
  ];
};

/** A package is imported only where it is permitted. */
export const packageRule: Rule = (modules) =>
  eachImport(modules, (from, to) => {
    if (isSource(to)) return false;
    const places = PACKAGES[packageOf(to)];
    return !places?.some((place) => isUnder(from, place)) && `permitted in ${places?.join(', ') ?? 'no file'}`;
  });

/** No import cycle, including imports of types. */
export const cycleRule: Rule = (modules) => {
  const byPath = new Map(modules.map((module) => [module.path, module]));
  const done = new Set<string>();
  const found: string[] = [];
  const walk = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) found.push(`cycle: ${[...trail.slice(start), path].join(' -> ')}`);
    if (start >= 0 || done.has(path)) return;
    for (const to of byPath.get(path)?.imports ?? []) walk(to, [...trail, path]);
    done.add(path);
  };
  for (const { path } of modules) walk(path, []);
  return found;
};

/** An `index.ts` contains only re-exports, which list their exports by name. */
export const indexRule: Rule = (modules) => [
  ...eachModule(
    modules,
    ({ path, reExportsOnly }) => path.endsWith('/index.ts') && !reExportsOnly && 'expected only re-exports',
  ),
  ...eachModule(modules, ({ hasExportAll }) => hasExportAll && 'expected exports by name, got export *'),
];

/** No default export, no enum, no namespace. */
export const syntaxRule: Rule = (modules) => [
  ...eachModule(modules, ({ hasDefaultExport }) => hasDefaultExport && 'expected no default export'),
  ...eachModule(modules, ({ hasEnum }) => hasEnum && 'expected no enum'),
  ...eachModule(modules, ({ hasNamespace }) => hasNamespace && 'expected no namespace'),
];

/** At the top level: functions are declarations, comments are docstrings, and a module is imported once. */
export const dialectRule: Rule = (modules) =>
  modules.flatMap(({ path, dialectFaults }) => dialectFaults.map((fault) => `${path}: ${fault}`));

/** Files and functions are short. */
export const lengthRule: Rule = (modules) => [
  ...eachModule(modules, ({ code }) => {
    const lines = code.trimEnd().split('\n').length;
    return lines > MAX_FILE_LINES && `expected at most ${MAX_FILE_LINES} lines, got ${lines}`;
  }),
  ...modules.flatMap(({ path, functions }) =>
    functions
      .filter(({ lines }) => lines > MAX_FUNCTION_LINES)
      .map(({ name, lines }) => `${path}: ${name}: expected at most ${MAX_FUNCTION_LINES} lines, got ${lines}`),
  ),
];

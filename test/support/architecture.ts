/**
 * The rules of the house, as functions of a list of modules: the test feeds them `src/`, and small made-up modules that
 * break one rule each. Every rule answers with one line per violation; no line, no violation.
 */

import { parseSync, Visitor } from 'vite';

/** A file under `src/`: its path from there, and its text. */
export interface SourceFile {
  readonly path: string;
  readonly code: string;
}

/** One import, re-export or `import()` of a module. */
export interface Import {
  /** Path from `src/` for a file of ours; else the specifier. */
  readonly to: string;
  /** Whether nothing of it is left when the types are gone. */
  readonly typeOnly: boolean;
}

export interface Module extends SourceFile {
  readonly imports: readonly Import[];
  /** Kinds of the top-level statements, as ESTree names them. */
  readonly statements: readonly string[];
  readonly reExportsOnly: boolean;
  readonly hasDefaultExport: boolean;
  readonly hasNamespace: boolean;
}

/** What stands for the specifier of an `import()` of something that is no literal. */
const COMPUTED = '(computed)';

/** Parse a file. */
export const readModule = ({ path, code }: SourceFile): Module => {
  const { module, program, errors } = parseSync(path, code, { lang: path.endsWith('x') ? 'tsx' : 'ts' });
  if (errors.length) throw new SyntaxError(`${path}: ${errors[0]!.message}`);

  const imports: Import[] = [];
  const add = (specifier: string, typeOnly: boolean) => {
    const to = specifier.startsWith('.') ? new URL(specifier, `file:///${path}`).pathname.slice(1) : specifier;
    imports.push({ to, typeOnly });
  };
  for (const { moduleRequest, entries } of module.staticImports) {
    add(moduleRequest.value, entries.length > 0 && entries.every(({ isType }) => isType));
  }
  for (const { entries } of module.staticExports) {
    const sources = new Map<string, boolean>();
    for (const { moduleRequest, isType } of entries) {
      if (moduleRequest) sources.set(moduleRequest.value, (sources.get(moduleRequest.value) ?? true) && isType);
    }
    for (const [specifier, typeOnly] of sources) add(specifier, typeOnly);
  }
  let hasNamespace = false;
  new Visitor({
    // `declare global` is one as well, and the way to name a property of `window`.
    TSModuleDeclaration: ({ id }) => {
      hasNamespace ||= !(id.type === 'Identifier' && id.name === 'global');
    },
    ImportExpression: ({ source }) => add(source.type === 'Literal' ? String(source.value) : COMPUTED, false),
    TSImportType: ({ source }) => add(source.value, true),
  }).visit(program);

  return {
    path,
    code,
    imports,
    statements: program.body.map((node) =>
      'declaration' in node && node.declaration ? node.declaration.type : node.type,
    ),
    reExportsOnly: program.body.every(
      (node) => node.type === 'ExportAllDeclaration' || (node.type === 'ExportNamedDeclaration' && node.source),
    ),
    hasNamespace,
    hasDefaultExport: module.staticExports.some(({ entries }) =>
      entries.some(({ exportName }) => exportName.kind === 'Default' || exportName.name === 'default'),
    ),
  };
};

/** A rule: every way in which the modules break it, in words. */
export type Rule = (modules: readonly Module[]) => string[];

/** Who may import whom. A room may always import itself. */
const ROOMS: Record<string, readonly string[]> = {
  token: [],
  session: ['token'],
  page: ['session', 'token'],
  server: ['token'],
  database: ['token'],
  mapping: ['server', 'database', 'token'],
  operator: ['database', 'token'],
  cli: ['token', 'server', 'database', 'mapping', 'operator'],
};

/** Which files and rooms may import what from outside. What is not named here may be imported by nobody. */
const OUTSIDE: Record<string, readonly string[]> = {
  'idb-keyval': ['session/store.ts'],
  '@noble/ciphers': ['token/cipher.ts'],
  '@noble/hashes': ['token/dii.ts', 'server', 'mapping', 'operator', 'database', 'cli'],
  hono: ['operator', 'cli'],
  '@hono/node-server': ['operator/node.ts', 'cli'],
  commander: ['cli'],
  'csv-parse': ['cli'],
  'csv-stringify': ['cli'],
  'cli-progress': ['cli'],
  pino: ['cli'],
  'rate-limiter-flexible': ['operator/state/rate-limit.ts'],
  'prom-client': ['operator/metrics.ts'],
  '@electric-sql/pglite': ['database'],
  pg: ['database'],
  react: ['page/react.ts', 'page/react.tsx'],
  // The sibling file of the script tag: its address is known in the page only.
  [COMPUTED]: ['page/noble.ts'],
  // For the version.
  'package.json': ['page/script.ts', 'cli'],
  'node:': ['operator/node.ts', 'database', 'cli'],
};

/** What every file of a session may use. All its other files are steps: when they run is for the hub alone to know. */
const SHARED = ['contract', 'deadline', 'options', 'patience', 'record'].map((name) => `session/${name}.ts`);
const HUB = 'session/session.ts';
const CONTENTS = 'session/index.ts';
const isStep = (path: string): boolean => roomOf(path) === 'session' && ![...SHARED, HUB, CONTENTS].includes(path);

const MOST_LINES = 300;

const roomOf = (path: string): string => path.split('/')[0]!;
const isOurs = (path: string): boolean => roomOf(path) in ROOMS && /\.tsx?$/.test(path);
const isUnder = (path: string, place: string): boolean => path === place || path.startsWith(`${place}/`);

/** The package that a specifier names; `node:` for every module of Node. */
export const packageOf = (specifier: string): string =>
  specifier.startsWith('node:')
    ? 'node:'
    : specifier
        .split('/')
        .slice(0, specifier.startsWith('@') ? 2 : 1)
        .join('/');

const eachImport = (modules: readonly Module[], broken: (from: string, to: Import) => string | false): string[] =>
  modules.flatMap(({ path, imports }) =>
    imports.flatMap((to) => {
      const why = broken(path, to);
      return why ? [`${path} imports ${to.to}: ${why}`] : [];
    }),
  );

const eachModule = (modules: readonly Module[], broken: (module: Module) => string | false): string[] =>
  modules.flatMap((module) => {
    const why = broken(module);
    return why ? [`${module.path}: ${why}`] : [];
  });

/** Rooms import only the rooms that design allows; every file is in a room. */
export const roomRule: Rule = (modules) => [
  ...eachModule(modules, ({ path }) => !isOurs(path) && `expected one of the rooms ${Object.keys(ROOMS).join(', ')}`),
  ...eachImport(
    modules,
    (from, { to }) =>
      isOurs(to) &&
      roomOf(from) !== roomOf(to) &&
      !ROOMS[roomOf(from)]?.includes(roomOf(to)) &&
      `the room ${roomOf(from)} may not know ${roomOf(to)}`,
  ),
];

/** Inside `session/`, only the hub runs the steps. Types may be shared. */
export const hubRule: Rule = (modules) =>
  eachImport(
    modules,
    (from, { to, typeOnly }) =>
      isStep(to) && !typeOnly && from !== HUB && from !== CONTENTS && `only ${HUB} runs a step`,
  );

/** What comes from outside comes in at one place each. */
export const outsideRule: Rule = (modules) =>
  eachImport(modules, (from, { to }) => {
    if (isOurs(to)) return false;
    const places = OUTSIDE[packageOf(to)];
    return !places?.some((place) => isUnder(from, place)) && `allowed in ${places?.join(', ') ?? 'no file'}`;
  });

/** No cycle, not even of types. */
export const cycleRule: Rule = (modules) => {
  const byPath = new Map(modules.map((module) => [module.path, module]));
  const done = new Set<string>();
  const found: string[] = [];
  const walk = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) found.push(`cycle: ${[...trail.slice(start), path].join(' -> ')}`);
    if (start >= 0 || done.has(path)) return;
    for (const { to } of byPath.get(path)?.imports ?? []) walk(to, [...trail, path]);
    done.add(path);
  };
  for (const { path } of modules) walk(path, []);
  return found;
};

/** An `index.ts` is a contents page and nothing else. */
export const contentsRule: Rule = (modules) =>
  eachModule(
    modules,
    ({ path, reExportsOnly }) => path.endsWith('/index.ts') && !reExportsOnly && 'expected only re-exports',
  );

/** No default export, no enum, no namespace. */
export const syntaxRule: Rule = (modules) => [
  ...eachModule(modules, ({ hasDefaultExport }) => hasDefaultExport && 'expected no default export'),
  ...eachModule(modules, ({ statements }) => statements.includes('TSEnumDeclaration') && 'expected no enum'),
  ...eachModule(modules, ({ hasNamespace }) => hasNamespace && 'expected no namespace'),
];

/** A file can be read in one go. */
export const lengthRule: Rule = (modules) =>
  eachModule(modules, ({ code }) => {
    const lines = code.trimEnd().split('\n').length;
    return lines > MOST_LINES && `expected ${MOST_LINES} lines at most, got ${lines}`;
  });

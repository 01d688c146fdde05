/**
 * The list of all build outputs. `exports` and `bin` in package.json list the ES modules and the command: `dist/NAME.js` is built
 * from `src/NAME.ts`. The script-tag files are listed here.
 */

import manifest from '../package.json' with { type: 'json' };

/** Convert `./dist/NAME.js` or `dist/NAME.js` to `NAME`. */
function nameOf(file: string): string {
  return file.replace(/^(\.\/)?dist\/(.+)\.js$/, '$2');
}

/** Import path within the package -> source file below `src/`, without its extension. */
export const entries: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(manifest.exports).flatMap(([path, target]) =>
    typeof target === 'string' ? [] : [[path, nameOf(target.default)]],
  ),
);

/**
 * Source files of the entry points with a development build: those whose export condition `development` refers to
 * `dist/development/NAME.js`.
 */
export const developmentEntries: readonly string[] = Object.values(manifest.exports).flatMap((target) =>
  typeof target === 'object' && 'development' in target ? [nameOf(target.default)] : [],
);

/** Source file of the `tessera` command below `src/`, without its extension. */
export const command = nameOf(manifest.bin.tessera);

/** A file for a `<script>` tag, or one that such a file fetches. */
export interface ScriptFile {
  readonly source: string;
  /** `iife` for a `<script>` tag; `es` for a module that is loaded by `import()`. */
  readonly format: 'iife' | 'es';
  /** The module that replaces `src/token/noble.ts`. */
  readonly noble?: string;
  /** Full error messages, and warnings in the console; see `src/token/development.ts`. Such a file has no size limit. */
  readonly isDevelopment?: true;
  /** Nearly all of the file runs while the page loads, so an engine should compile it at once, not function by function. */
  readonly isEager?: true;
}

/** File name in `dist/` -> its sources and format. */
export const scripts: Readonly<Record<string, ScriptFile>> = {
  'tessera.js': {
    source: 'src/page/script/script.ts',
    format: 'iife',
    noble: 'src/page/script/noble.ts',
    isEager: true,
  },
  'tessera-uid2.js': {
    source: 'src/page/uid2/script.ts',
    format: 'iife',
    noble: 'src/page/script/noble.ts',
    isEager: true,
  },
  'tessera-noble.js': { source: 'src/token/noble-gcm.ts', format: 'es' },
  'tessera.full.js': { source: 'src/page/script/script.ts', format: 'iife', noble: 'build/noble.ts', isEager: true },
  'tessera.dev.js': {
    source: 'src/page/script/script.ts',
    format: 'iife',
    noble: 'build/noble.ts',
    isDevelopment: true,
  },
  'tessera-uid2.dev.js': {
    source: 'src/page/uid2/script.ts',
    format: 'iife',
    noble: 'build/noble.ts',
    isDevelopment: true,
  },
  'tessera-vitals.js': { source: 'src/page/vitals/script.ts', format: 'iife' },
  'tessera-inspector.js': { source: 'src/page/inspector/script.ts', format: 'iife' },
};

/** The demo that `tessera demo` starts: a file of `demo/`, without its extension. Its pages are copied beside it. */
export const demo = 'demo/main';

/**
 * The modes of `vite.config.ts`: one build each. `production` is Vite's default and builds the ES modules; `development` builds
 * those for the export condition of the same name.
 */
export const modes: readonly string[] = ['production', 'development', 'programs', ...Object.keys(scripts)];

/**
 * Dependencies and optional peers that the user's package manager installs. They are never bundled into ES modules or the
 * command.
 */
export const external = [
  'idb-keyval',
  /^@noble\/ciphers(\/|$)/,
  /^react(\/|$)/,
  /^@electric-sql\/pglite(\/|$)/,
  /^pg(\/|$)/,
  /^node:/,
];

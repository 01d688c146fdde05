/**
 * The real session code as a function of the globals of a page, so that each tab of a simulated profile has its own copy.
 *
 * It is bundled and compiled once for each run, so a tab costs only the evaluation of its modules. A rule may be replaced, to
 * show that the model can fail.
 */

import { resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';
import * as tabs from '../../src/session/browser/tabs.ts';
import * as commit from '../../src/session/commit.ts';
import * as consent from '../../src/session/consent.ts';
import * as reconcile from '../../src/session/reconcile.ts';
import * as attemptChanges from '../../src/session/rules/attempt-changes.ts';
import * as decide from '../../src/session/rules/decide.ts';
import * as hostChanges from '../../src/session/rules/host-changes.ts';
import * as record from '../../src/session/rules/record.ts';
import * as retry from '../../src/session/rules/retry.ts';
import * as sessionEvents from '../../src/session/rules/session-events.ts';
import * as shownRecord from '../../src/session/shown-record.ts';
import * as timeout from '../../src/session/timeout.ts';

export type SessionModule = typeof import('../../src/session/index.ts');

/** Globals that the code reads by name. Those that a simulated page lacks are undefined. */
const GLOBALS = [
  ...[
    'globalThis',
    'window',
    'self',
    'document',
    'Document',
    'navigator',
    'location',
    'performance',
    'Date',
    'Math',
    'crypto',
  ],
  ...['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'requestIdleCallback', 'process'],
  ...['addEventListener', 'removeEventListener', 'dispatchEvent', 'fetch', 'indexedDB', 'BroadcastChannel'],
  ...['localStorage', 'sessionStorage', 'scheduler', 'reportError'],
];

/** A module of the session with some of its exports replaced. */
export interface AlteredRule {
  /** The module, relative to `src/session`. */
  readonly path: string;
  /** Names of the exports that are replaced. */
  readonly names: readonly string[];
  /** Given the exports of the real module in a page, returns the replacements. */
  readonly alter: (real: never) => object;
}

/** Modules whose exports a test may replace. */
const MODULES = {
  attemptChanges: ['rules/attempt-changes.ts', attemptChanges],
  commit: ['commit.ts', commit],
  hostChanges: ['rules/host-changes.ts', hostChanges],
  sessionEvents: ['rules/session-events.ts', sessionEvents],
  timeout: ['timeout.ts', timeout],
  tabs: ['browser/tabs.ts', tabs],
  consent: ['consent.ts', consent],
  reconcile: ['reconcile.ts', reconcile],
  decide: ['rules/decide.ts', decide],
  record: ['rules/record.ts', record],
  retry: ['rules/retry.ts', retry],
  shownRecord: ['shown-record.ts', shownRecord],
} as const;
type Modules = typeof MODULES;

/**
 * Alter a module: importers receive the returned exports in place of its own. Calls inside the module are not affected.
 *
 * @param alter  returns the replacements, given the module's own exports as one page has them.
 */
export const alterModule = <M extends keyof Modules>(
  module: M,
  alter: (real: Modules[M][1]) => Partial<Modules[M][1]>,
): AlteredRule => {
  const [path, real] = MODULES[module];
  return { path, names: Object.keys(alter(real as Modules[M][1])), alter: alter as AlteredRule['alter'] };
};

const SESSION = new URL('../../src/session/', import.meta.url).pathname;

/** Resolves the altered module to one that exports what the real one does, with the replacements of the page's `alter`. */
const replaceModule = ({ path, names }: AlteredRule): Plugin => ({
  name: 'altered-rule',
  setup: ({ onResolve, onLoad }) => {
    const real = SESSION + path;
    onResolve({ filter: /\.ts$/ }, ({ path: imported, resolveDir, namespace }) =>
      namespace === 'file' && resolve(resolveDir, imported) === real ? { path: real, namespace: 'altered' } : undefined,
    );
    onResolve({ filter: /^real$/, namespace: 'altered' }, () => ({ path: real }));
    onLoad({ filter: /./, namespace: 'altered' }, () => ({
      contents: [
        `import * as real from 'real'; export * from 'real'; const altered = alter(real);`,
        ...names.map((name) => `export const ${name} = altered.${name};`),
      ].join('\n'),
      resolveDir: SESSION,
    }));
  },
});

const bundle = async (entry: string, plugins: Plugin[] = []): Promise<string> => {
  const { outputFiles } = await build({
    entryPoints: [new URL(entry, import.meta.url).pathname],
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'module',
    platform: 'browser',
    target: 'es2022',
    plugins,
  });
  return outputFiles[0]!.text;
};

/**
 * Bundle the session.
 *
 * @returns a function that loads it into a page, given the page's global object.
 */
export const bundleSession = async (altered?: AlteredRule): Promise<(page: object) => SessionModule> => {
  const text = await bundle('../../src/session/index.ts', altered && [replaceModule(altered)]);
  if (/AbortSignal\.timeout/.test(text))
    throw new Error('expected no AbortSignal.timeout in the session: it ignores virtual time');
  const load = new Function('alter', ...GLOBALS, `${text};return module`);
  return (page) => load(altered?.alter, ...GLOBALS.map((name) => (page as Record<string, unknown>)[name]));
};

const databasesText = await bundle('../../node_modules/fake-indexeddb/build/esm/index.js');

export type FakeDatabases = typeof import('fake-indexeddb');

/**
 * Load fake-indexeddb with a scheduler of our own in place of `setImmediate`.
 *
 * @param later  schedules a task.
 */
export const loadDatabases = (later: (task: () => void) => void): FakeDatabases => {
  const own = Object.create(globalThis, { setImmediate: { value: later } });
  return new Function('globalThis', `${databasesText};return module`)(own);
};

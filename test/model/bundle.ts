/**
 * The real session code as a function of the globals of a page, so that each tab of a simulated profile has its own copy.
 *
 * It is bundled and compiled once for each run, so a tab costs only the evaluation of its modules. A line may be altered, to
 * show that the model can fail.
 */

import { readFile } from 'node:fs/promises';
import { build, type Plugin } from 'esbuild';

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

/** One line of the session, altered. */
export interface Alteration {
  /** The file, relative to `src/session`. */
  readonly file: string;
  /** What it contains exactly once, and what takes its place. */
  readonly from: string;
  readonly to: string;
}

const SESSION = new URL('../../src/session/', import.meta.url).pathname;

const alter = ({ file, from, to }: Alteration): Plugin => ({
  name: 'alteration',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      if (path !== SESSION + file) return undefined;
      const parts = (await readFile(path, 'utf8')).split(from);
      if (parts.length !== 2) throw new Error(`${file}: expected "${from}" once, found it ${parts.length - 1} times`);
      return { contents: parts.join(to), loader: 'ts' };
    });
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
export const bundleSession = async (altered?: Alteration): Promise<(page: object) => SessionModule> => {
  const text = await bundle('../../src/session/index.ts', altered && [alter(altered)]);
  if (/AbortSignal\.timeout/.test(text))
    throw new Error('expected no AbortSignal.timeout in the session: it ignores virtual time');
  const load = new Function(...GLOBALS, `${text};return module`);
  return (page) => load(...GLOBALS.map((name) => (page as Record<string, unknown>)[name]));
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

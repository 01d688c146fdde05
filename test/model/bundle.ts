/**
 * The real session code as a function of the globals of a page, so that each tab of a simulated profile has its own copy.
 *
 * It is bundled and compiled once, so a tab costs only the evaluation of its modules. The code may be altered before, to
 * show that the model can fail.
 */

import { buildSync } from 'esbuild';

export type SessionModule = typeof import('../../src/session/index.ts');

/** Globals that the code reads by name. Those that a simulated page lacks are undefined. */
const GLOBALS = [
  ...['globalThis', 'window', 'self', 'document', 'navigator', 'location', 'performance', 'Date', 'Math', 'crypto'],
  ...['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'requestIdleCallback', 'process'],
  ...['addEventListener', 'removeEventListener', 'dispatchEvent', 'fetch', 'indexedDB', 'BroadcastChannel'],
  ...['localStorage', 'sessionStorage', 'scheduler', 'reportError'],
];

/** An alteration of the bundled text: its name, a pattern that must match exactly once, and the replacement. */
export interface Mutation {
  readonly what: string;
  readonly find: RegExp;
  readonly replace: string;
}

const textOf = (entry: string): string => {
  const { outputFiles } = buildSync({
    entryPoints: [new URL(entry, import.meta.url).pathname],
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'module',
    platform: 'browser',
    target: 'es2022',
  });
  return outputFiles[0]!.text;
};

let sessionText: string | undefined;

/**
 * Bundle the session.
 *
 * @returns a function that loads it into a page, given the page's global object.
 */
export const bundleSession = (mutation?: Mutation): ((page: object) => SessionModule) => {
  sessionText ??= textOf('../../src/session/index.ts');
  let text = sessionText;
  if (/AbortSignal\.timeout/.test(text))
    throw new Error('expected no AbortSignal.timeout in the session: it ignores virtual time');
  if (mutation) {
    const found = text.match(new RegExp(mutation.find, 'g'))?.length ?? 0;
    if (found !== 1) throw new Error(`${mutation.what}: expected one place to alter, found ${found}`);
    text = text.replace(mutation.find, mutation.replace);
  }
  const load = new Function(...GLOBALS, `${text};return module`);
  return (page) => load(...GLOBALS.map((name) => (page as Record<string, unknown>)[name]));
};

export type FakeDatabases = typeof import('fake-indexeddb');

/**
 * Load fake-indexeddb with a scheduler of our own in place of `setImmediate`.
 *
 * @param later  schedules a task.
 */
export const loadDatabases = (later: (task: () => void) => void): FakeDatabases => {
  const own = Object.create(globalThis, { setImmediate: { value: later } });
  return new Function('globalThis', `${textOf('../../node_modules/fake-indexeddb/build/esm/index.js')};return module`)(
    own,
  );
};

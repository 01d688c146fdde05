/**
 * The session's real code as a function of the globals of a page, so that each tab of a world has its own.
 *
 * It is bundled once and compiled once: a tab costs the evaluation of its modules. The code may be altered before, which is
 * how the model shows that it can fail.
 */

import { buildSync } from 'esbuild';

export type SessionModule = typeof import('../../src/session/index.ts');

/** Names that a page's code reaches without saying `globalThis`. Those that a page of the model lacks are undefined. */
const GLOBALS = [
  ...['globalThis', 'window', 'self', 'document', 'navigator', 'location', 'performance', 'Date', 'Math', 'crypto'],
  ...['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'requestIdleCallback', 'process'],
  ...['addEventListener', 'removeEventListener', 'dispatchEvent', 'fetch', 'indexedDB', 'BroadcastChannel'],
  ...['localStorage', 'sessionStorage', 'scheduler', 'reportError'],
];

/** An alteration of the bundled text: what it is called, what is found (exactly once), what takes its place. */
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
 * @returns loads it into a page, whose global object has the globals as its members.
 */
export const bundleSession = (mutation?: Mutation): ((page: object) => SessionModule) => {
  sessionText ??= textOf('../../src/session/index.ts');
  let text = sessionText;
  if (/AbortSignal\.timeout/.test(text)) throw new Error('AbortSignal.timeout knows no virtual time');
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
 * Load fake-indexeddb, with what it leaves to later in hands of ours.
 *
 * @param later  takes a task.
 */
export const loadDatabases = (later: (task: () => void) => void): FakeDatabases => {
  const own = Object.create(globalThis, { setImmediate: { value: later } });
  return new Function('globalThis', `${textOf('../../node_modules/fake-indexeddb/build/esm/index.js')};return module`)(
    own,
  );
};

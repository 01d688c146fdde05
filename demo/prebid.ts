/**
 * Prebid.js as a publisher downloads it: the prebuilt files of its npm package, in the order in which Prebid's own build
 * concatenates them.
 */

import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { root } from '../build/dist.ts';

const CHUNKS = pathToFileURL(`${root}demo/prebid/node_modules/prebid.js/dist/chunks/`);
const CORE = 'prebid-core.js';

/** Build one script from the core, the given modules, and the call that processes the queue `pbjs.que`. */
export async function prebidScript(modules: readonly string[]): Promise<string> {
  const needs = JSON.parse(await readFile(new URL('dependencies.json', CHUNKS), 'utf8')) as Record<string, string[]>;
  const files = modules.map((name) => `${name}.js`);
  const shared = [CORE, ...files].flatMap((file) => needs[file] ?? []);
  const parts = [...new Set([CORE, ...shared, ...files])].map((file) => readFile(new URL(file, CHUNKS), 'utf8'));
  return [...(await Promise.all(parts)), 'pbjs.processQueue();'].join('\n');
}

/** The version of an installed package. */

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/**
 * Return the version of a package whose entry is in a folder below its root.
 *
 * @returns undefined if it is unknown, because the package is not installed or a bundler has included it.
 */
export async function installedVersion(name: string): Promise<string | undefined> {
  try {
    // Not every package exports its `package.json`.
    const entry = createRequire(import.meta.url).resolve(name);
    const { version } = JSON.parse(await readFile(join(dirname(entry), '../package.json'), 'utf8'));
    return typeof version === 'string' ? version : undefined;
  } catch {
    return undefined;
  }
}

/// <reference types="node" />
/**
 * Writes address and credentials for the other commands: as lines for a shell, or into a file of variables.
 */

import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { unreadable, unwritable } from './paths.ts';

/** Variables by name. */
export type Variables = Readonly<Record<string, string>>;

// Characters that mean nothing to a shell.
const shellWord = (value: string): string =>
  /^[\w.+/=:@%,-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;

/**
 * Format variables as lines that can be pasted into a shell.
 *
 * @example exportLines({ TESSERA_BASE_URL: 'http://127.0.0.1:8080' }) // ['export TESSERA_BASE_URL=http://127.0.0.1:8080']
 */
export function exportLines(variables: Variables): string[] {
  return Object.entries(variables).map(([name, value]) => `export ${name}=${shellWord(value)}`);
}

const readExisting = async (path: string): Promise<string> => {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw unreadable(path, error, '--env-file');
  }
};

/**
 * Check that a file of variables can be written, without changing it.
 *
 * @throws {RangeError} if it cannot.
 */
export async function checkEnvFile(path: string): Promise<void> {
  await readExisting(path);
  const probe = `${path}.${randomUUID()}`;
  try {
    await writeFile(probe, '', { mode: 0o600 });
    await rm(probe);
  } catch (error) {
    throw unwritable(path, error, '--env-file');
  }
}

/**
 * Set variables in a file; other lines stay. The file has mode 0600 afterwards, and nobody sees half of it.
 *
 * @throws {RangeError} if it cannot be written.
 */
export async function writeEnvFile(path: string, variables: Variables): Promise<void> {
  const isSet = (line: string): boolean =>
    Object.hasOwn(variables, /^\s*(?:export\s+)?(\w+)\s*=/.exec(line)?.[1] ?? '');
  const kept = (await readExisting(path)).split('\n').filter((line) => !isSet(line));
  while (kept.at(-1) === '') kept.pop();
  // Single quotes: neither Node's parser nor a shell changes what they enclose. A key with a single quote has double quotes.
  const quote = (value: string): string => (value.includes("'") ? `"${value}"` : `'${value}'`);
  const lines = Object.entries(variables).map(
    ([name, value]) => `${name}=${/^[\w.+/=:-]+$/.test(value) ? value : quote(value)}`,
  );
  const temporary = `${path}.${randomUUID()}`;
  try {
    const found = await stat(path).catch(() => undefined);
    if (found && !found.isFile()) throw Object.assign(new Error('no file'), { code: 'EISDIR' });
    await writeFile(temporary, `${[...kept, ...lines].join('\n')}\n`, { mode: 0o600 });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw unwritable(path, error, '--env-file');
  }
}

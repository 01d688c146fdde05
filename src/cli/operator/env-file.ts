/// <reference types="node" />
/** Writes address and credentials for the other commands, as lines for a shell or into a file of variables. */

import { randomUUID } from 'node:crypto';
import { constants, type FileHandle, open, rename, rm, writeFile } from 'node:fs/promises';
import { checkOwnFile, unwritable } from '../input/paths.ts';

export type Variables = Readonly<Record<string, string>>;

/** Characters without a special meaning in a shell. */
function shellWord(value: string): string {
  return /^[\w.+/=:@%,-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;
}

/** Lines for a shell: `export TESSERA_BASE_URL=http://127.0.0.1:8080`. */
export function exportLines(variables: Variables): string[] {
  return Object.entries(variables).map(([name, value]) => `export ${name}=${shellWord(value)}`);
}

async function readExisting(path: string): Promise<string> {
  let file: FileHandle | undefined;
  try {
    // Without waiting for the writer of a pipe.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    checkOwnFile(await file.stat());
    return await file.readFile('utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw unwritable(path, error, '--env');
  } finally {
    await file?.close();
  }
}

/** Throw a {@link RangeError} if a file of variables cannot be written. Changes nothing. */
export async function checkEnvFile(path: string): Promise<void> {
  await readExisting(path);
  const probe = `${path}.${randomUUID()}`;
  try {
    await writeFile(probe, '', { mode: 0o600 });
    await rm(probe);
  } catch (error) {
    throw unwritable(path, error, '--env');
  }
}

/** Set variables in a file; other lines stay. The file has mode 0600 afterwards, and nobody can see it half written. */
export async function writeEnvFile(path: string, variables: Variables): Promise<void> {
  const isSet = (line: string): boolean =>
    Object.hasOwn(variables, /^\s*(?:export\s+)?(\w+)\s*=/.exec(line)?.[1] ?? '');
  const kept = (await readExisting(path)).split('\n').filter((line) => !isSet(line));
  while (kept.at(-1) === '') kept.pop();
  // In single quotes, neither Node's parser nor a shell changes anything. A key with a single quote gets double quotes.
  const quote = (value: string): string => (value.includes("'") ? `"${value}"` : `'${value}'`);
  const lines = Object.entries(variables).map(
    ([name, value]) => `${name}=${/^[\w.+/=:-]+$/.test(value) ? value : quote(value)}`,
  );
  const temporary = `${path}.${randomUUID()}`;
  try {
    await writeFile(temporary, `${[...kept, ...lines].join('\n')}\n`, { mode: 0o600 });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw unwritable(path, error, '--env');
  }
}

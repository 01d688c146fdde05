/// <reference types="node" />
/** Where the files of a database are in its folder. */

import { stat } from 'node:fs/promises';
import { join } from 'node:path';

/** The path of PostgreSQL's files in the folder of a database. They get this name once they are complete. */
export function filesOf(folder: string): string {
  return join(folder, 'pglite');
}

/** Tell whether a folder contains a database. In any other folder, `openDatabase` would create one. */
export async function hasDatabase(folder: string): Promise<boolean> {
  return (await stat(filesOf(folder)).catch(() => undefined))?.isDirectory() === true;
}

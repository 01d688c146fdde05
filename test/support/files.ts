/** Programs on this machine. */

import { access, constants } from 'node:fs/promises';

/** The first of the paths that names a program that may be run. */
export const firstThatRuns = async (paths: readonly string[]): Promise<string | undefined> => {
  for (const path of paths) {
    const runs = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (runs) return path;
  }
  return undefined;
};

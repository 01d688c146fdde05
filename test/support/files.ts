/** Find installed programs. */

import { access, constants } from 'node:fs/promises';

/** The first of the paths that is an executable file. */
export const firstThatRuns = async (paths: readonly string[]): Promise<string | undefined> => {
  for (const path of paths) {
    const isExecutable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isExecutable) return path;
  }
  return undefined;
};

/** Finds installed programs. */

import { access, constants } from 'node:fs/promises';

/** With `npm run fresh`, the tests use only the browser in package.json. */
const areHidden = process.env['TESSERA_ENGINES'] === 'packaged';

/** Return the first of the paths that is an executable file; none with `TESSERA_ENGINES=packaged`. */
export const firstThatRuns = async (paths: readonly string[]): Promise<string | undefined> => {
  for (const path of areHidden ? [] : paths) {
    const isExecutable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isExecutable) return path;
  }
  return undefined;
};

/** Find installed programs. */

import { access, constants } from 'node:fs/promises';

// `npm run fresh`: the tests have the browser of package.json alone.
const areHidden = process.env['TESSERA_ENGINES'] === 'packaged';

/** The first of the paths that is an executable file; none with `TESSERA_ENGINES=packaged`. */
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

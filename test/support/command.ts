import { fileURLToPath } from 'node:url';

/** The built command, as users start it. Starting the sources would compile them in every process. */
export const COMMAND = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

/** Standard streams for a program of the command line that is only looked at: nothing is read or written. */

import type { createProgram } from '../src/cli/program.ts';

export const silentIo: Parameters<typeof createProgram>[2] = {
  env: {},
  stdin: async function* () {},
  out: () => {},
  err: () => {},
  flushed: async () => {},
  stopped: async () => {},
};

/** Standard streams for a command-line program that is only inspected: nothing is read or written. */

import type { createProgram } from '../src/cli/program.ts';

export const silentIo: Parameters<typeof createProgram>[2] = {
  env: {},
  stdin: async function* () {},
  out: () => {},
  err: () => {},
  data: () => {},
  flushed: async () => {},
  stopped: async () => {},
};

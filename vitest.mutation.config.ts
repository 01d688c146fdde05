/** The tests that `npm run mutation` runs against each mutant: those of the pure folders, which are fast. */

import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/session/rules/**/*.test.ts', 'test/token/**/*.test.ts'],
    // Loading the modules again for each file takes longer than the tests.
    isolate: false,
    setupFiles: ['test/support/properties.ts'],
    env: { PROPERTY_RUNS: '30' },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});

/** `npm run worlds`: the story of a session, told on pages that differ from an ordinary one (CONTRIBUTING.md, "A report from the field"). */

import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/worlds/**/*.test.ts'],
    maxConcurrency: 8,
    globalSetup: ['test/support/built.ts', 'test/support/engines.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 60_000 } },
  },
});

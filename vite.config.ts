import { defineConfig } from 'vitest/config';

// Five ways to run a test, by its folder. Whatever is not named here runs in Node.
const page = ['test/session/**/*.test.ts', 'test/page/**/*.test.ts'];
const database = [
  'test/database/**/*.test.ts',
  'test/operator-nodes/**/*.test.ts',
  'test/mapping/**/*.test.ts',
  'test/cli/map*.test.ts',
];
const model = ['test/model/**/*.test.ts'];
const built = [
  'test/browser/**/*.test.ts',
  'test/engines/**/*.test.ts',
  'test/package.test.ts',
  'test/consumers.test.ts',
];

export default defineConfig({
  // Under `npm test` types are checked by `tsc`, before.
  test: {
    // All cores: by default one is left idle, of two that is half.
    maxWorkers: '100%',
    // `npm run coverage`: of what runs in a page.
    coverage: {
      provider: 'v8',
      include: ['src/session/**', 'src/token/**'],
      reporter: 'text',
      thresholds: { branches: 95 },
    },
    projects: [
      {
        test: {
          name: 'node',
          include: ['test/**/*.test.ts'],
          exclude: [...page, ...database, ...model, ...built],
        },
      },
      {
        test: {
          name: 'page',
          include: page,
          environment: 'happy-dom',
          setupFiles: ['fake-indexeddb/auto'],
        },
      },
      {
        // Thousands of simulated profiles: too long for every save.
        test: {
          name: 'model',
          include: model,
        },
      },
      {
        // A real PostgreSQL and PGlite: see test/database/engines.ts.
        test: {
          name: 'database',
          include: database,
          globalSetup: ['test/database/engines.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        // Real engines and the files of dist/, one test file after the other: two cores, and clocks that matter.
        test: {
          name: 'browser',
          include: built,
          globalSetup: ['test/support/built.ts'],
          fileParallelism: false,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});

import { defineConfig } from 'vitest/config';

// Six projects, by folder. Files that no pattern names run in Node. The library build is configured in vite.config.ts.
const page = ['test/session/**/*.test.ts', 'test/page/**/*.test.ts', 'test/fuzz/{page,drop-in}.test.ts'];
const database = [
  'test/database/**/*.test.ts',
  'test/operator-nodes/**/*.test.ts',
  'test/mapping/**/*.test.ts',
  'test/cli/{map*,keys,participants}.test.ts',
  'test/docs/{deploy,postgresql,proxy}.test.ts',
];
// No test depends on the speed of the machine, but a busy one takes long: Vitest's own limit is 5 s.
const limits = { testTimeout: 60_000, hookTimeout: 60_000 };
const model = ['test/model/**/*.test.ts'];
const browser = ['test/browser/**/*.test.ts', 'test/engines/**/*.test.ts'];
const built = [
  'test/package.test.ts',
  'test/consumers.test.ts',
  'test/examples.test.ts',
  'test/testing/runners.test.ts',
  'test/docs/{site,start}.test.ts',
];

export default defineConfig({
  // `npm test` runs `tsc` first: Vitest checks no types.
  test: {
    // All cores: the default leaves one idle, which is half of two.
    maxWorkers: '100%',
    // `npm run coverage`: the code that runs in a page.
    coverage: {
      provider: 'v8',
      include: ['src/session/**', 'src/token/**'],
      reporter: 'text',
      thresholds: { branches: 98 },
    },
    projects: [
      {
        test: {
          name: 'node',
          include: ['test/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...page, ...database, ...model, ...built, ...browser],
          ...limits,
        },
      },
      {
        test: {
          name: 'page',
          include: page,
          environment: 'happy-dom',
          setupFiles: ['fake-indexeddb/auto'],
          ...limits,
        },
      },
      {
        // Thousands of simulated profiles: too slow for `npm run test:watch`.
        test: {
          name: 'model',
          include: model,
          ...limits,
        },
      },
      {
        // A real PostgreSQL and PGlite: see test/database/engines.ts.
        test: {
          name: 'database',
          include: database,
          globalSetup: ['test/database/engines.ts'],
          // Jobs of 30,000 rows, in real time.
          testTimeout: 240_000,
          hookTimeout: 240_000,
        },
      },
      {
        // The package as its users install it, the examples and the documentation site: they need the files of dist/.
        test: {
          name: 'package',
          include: built,
          globalSetup: ['test/support/built.ts'],
          ...limits,
        },
      },
      {
        // Sessions in real browsers. One test file at a time: parallel browsers on two cores delay each other's timers.
        test: {
          name: 'browser',
          include: browser,
          globalSetup: ['test/support/built.ts', 'test/support/engines.ts'],
          fileParallelism: false,
          ...limits,
        },
      },
    ],
  },
});

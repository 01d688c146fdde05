import { availableParallelism } from 'node:os';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

// The projects of `npm test`, and those of `npm run test:rest`, whose names begin with `more-`: other engines, several processes,
// faults of disks and networks, long simulations, the package as its users install it. The library build is configured in
// vite.config.ts.

const page = ['test/session/**/*.test.ts', 'test/page/**/*.test.ts', 'test/fuzz/{page,drop-in}.test.ts'];
/** On the source of the production build. */
const production = ['test/session/production-errors.test.ts'];
/** A real PostgreSQL, PGlite, and the built command: see test/database/engines.ts and test/support/command.ts. */
const database = [
  'test/database/{contract,engine-errors}.test.ts',
  'test/mapping/{contract,pages}.test.ts',
  'test/operator-nodes/on-postgres.test.ts',
  'test/cli/{help,main,map}.test.ts',
];
const moreDatabase = [
  'test/database/**/*.test.ts',
  'test/mapping/**/*.test.ts',
  'test/operator-nodes/**/*.test.ts',
  'test/cli/{keys,log-reader,map-process,participants}.test.ts',
  'test/operator/{buckets,load}.test.ts',
  'test/docs/{deploy,postgresql,proxy}.test.ts',
];
const simulated = ['test/model/{faults,interleavings}.test.ts'];
const model = ['test/model/**/*.test.ts'];
/** The main journeys in Chromium. */
const chromium = ['test/browser/{consent,script-tag,tab-ends,uid2}.test.ts', 'test/worlds/chromium.test.ts'];
const browser = ['test/browser/**/*.test.ts', 'test/engines/**/*.test.ts', 'test/worlds/**/*.test.ts'];
const built = [
  'test/package.test.ts',
  'test/file-names.test.ts',
  'test/consumers.test.ts',
  'test/examples.test.ts',
  'test/hosts/*.test.ts',
  'test/testing/runners.test.ts',
  'test/docs/{site,start}.test.ts',
];

// Threads start faster than processes, which the tests of databases and browsers use.
const project = (
  name: string,
  include: string[],
  more: TestProjectInlineConfiguration['test'] = {},
): TestProjectInlineConfiguration => ({
  // No test depends on the speed of the machine, but a busy one takes long: Vitest's own limits are 5 s, and 1 s for a poll.
  test: {
    name,
    include,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 60_000 } },
    ...more,
  },
});
const onDatabases = {
  globalSetup: ['test/support/dist.ts', 'test/database/engines.ts'],
  // Jobs of 30,000 rows, in real time.
  testTimeout: 240_000,
  hookTimeout: 240_000,
};
const inBrowsers = {
  // After all other tests, and no more at once than there are cores: a page on a busy machine gives its store up after 1.5 s.
  sequence: { groupOrder: 1 },
  maxWorkers: availableParallelism(),
  globalSetup: ['test/support/built.ts', 'test/support/engines.ts'],
};

export default defineConfig({
  // `npm test` runs `tsc` first: Vitest checks no types.
  test: {
    // One more than there are cores, because tests of networks and databases wait. The default is one less.
    maxWorkers: availableParallelism() + 1,
    // `npm run coverage`: the code that runs in a page.
    coverage: {
      provider: 'v8',
      include: ['src/session/**', 'src/token/**'],
      reporter: 'text',
      thresholds: { branches: 98 },
    },
    projects: [
      project('node', ['test/**/*.test.ts'], {
        pool: 'threads',
        isolate: false,
        exclude: [
          '**/node_modules/**',
          ...page,
          ...database,
          ...moreDatabase,
          ...model,
          ...built,
          ...browser,
          'test/worlds/**',
        ],
      }),
      project('page', page, {
        pool: 'threads',
        environment: 'happy-dom',
        exclude: production,
        // The files of hosts/ import the package by its name.
        alias: { 'tessera-id/token': `${import.meta.dirname}/src/token/index.ts` },
        setupFiles: 'test/support/own-globals.ts',
        isolate: false,
      }),
      project('production', production, {
        pool: 'threads',
        environment: 'happy-dom',
        setupFiles: 'test/support/own-globals.ts',
      }),
      project('model', simulated, { pool: 'threads', env: { MODEL_SHARE: '0.05' } }),
      project('database', database, onDatabases),
      project('chromium', chromium, inBrowsers),
      project('more-model', model, { env: { MODEL_SHARE: '0.12', MODEL_SEED: process.env['MODEL_SEED'] ?? '6' } }),
      project('more-database', moreDatabase, { ...onDatabases, exclude: database }),
      project('more-built', built, { globalSetup: ['test/support/built.ts', 'test/support/pack.ts'] }),
      project('more-browser', browser, { ...inBrowsers, exclude: chromium }),
    ],
  },
});

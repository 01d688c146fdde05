import { availableParallelism } from 'node:os';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import Sequencer from './test/support/sequencer.ts';

// The projects of `npm test`, which need no root and no server, and those of `npm run test:rest`, whose names begin with `more-`:
// PostgreSQL and several nodes, the built command, other browsers, most of the model, the package as its users install it. The library
// build is configured in vite.config.ts. What takes long and seldom fails alone is the project of `npm run test:nightly`.

const page = [
  'test/session/*.test.ts',
  'test/page/**/*.test.ts',
  'test/react-native/host.test.ts',
  'test/fuzz/{page,drop-in}.test.ts',
];
/** On the source of the production build. */
const production = ['test/session/production-errors.test.ts'];
const pglite = ['test/database/{contract-pglite,engine-errors,location}.test.ts'];
/** PostgreSQL, PGlite and the built command: see test/database/engines.ts and test/support/command.ts. */
const database = [
  'test/database/**/*.test.ts',
  'test/mapping/**/*.test.ts',
  'test/operator-nodes/**/*.test.ts',
  'test/cli/{help,keys,log-reader,main,map,map-process,participants}.test.ts',
  'test/operator/{buckets,load}.test.ts',
  'test/docs/{deploy,postgresql,proxy}.test.ts',
];
const simulated = ['test/model/{faults,interleavings}.test.ts'];
const model = ['test/model/**/*.test.ts'];
/** The main journeys in Chromium. */
const chromium = ['test/browser/{consent,script-tag,uid2}.test.ts', 'test/worlds/chromium.test.ts'];
const browser = ['test/browser/**/*.test.ts', 'test/worlds/**/*.test.ts'];
/** The package, and what takes other compilers, packages or programs. */
const built = [
  'test/{bundles,consumers,examples,file-names,package,packages}.test.ts',
  'test/bench/report.test.ts',
  'test/docs/{alerts,site,types}.test.ts',
  'test/hosts/*.test.ts',
  'test/testing/runners.test.ts',
];

/** The guides with packages of the registry, what measures the model, large files, and on PGlite what is not about the engine. */
const nightly = ['test/docs/start.test.ts', 'test/model/altered-rules.test.ts', 'test/cli/map-large.test.ts'];
const onBoth = ['test/mapping/{faults,kill,shared-source}.test.ts', 'test/cli/participants.test.ts'];

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
/** Files share the modules of their thread. In CI, they and their tests run in any order; the output names the seed. */
const inThreads = { pool: 'threads', isolate: false, sequence: { shuffle: !!process.env['CI'] } } as const;
const onPages = { environment: 'happy-dom', setupFiles: 'test/support/own-globals.ts' } as const;
const inBrowsers = {
  // After all other tests: pages mostly wait, and compilers beside them do not.
  sequence: { groupOrder: 1 },
  maxWorkers: 3 * availableParallelism(),
  globalSetup: ['test/support/built.ts', 'test/support/engines.ts'],
};

export default defineConfig({
  // `npm test` runs `tsc` first: Vitest checks no types.
  test: {
    // One more than there are cores, because tests of networks and databases wait. The default is one less.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: Sequencer },
    // `npm run coverage`: the code that runs in a page.
    coverage: {
      provider: 'v8',
      include: ['src/session/**', 'src/token/**'],
      reporter: 'text',
      thresholds: { branches: 98 },
    },
    projects: [
      project('node', ['test/**/*.test.ts'], {
        ...inThreads,
        exclude: ['**/node_modules/**', ...page, ...database, ...model, ...built, ...browser, ...nightly],
      }),
      project('page', page, {
        ...inThreads,
        ...onPages,
        exclude: production,
      }),
      project('production', production, { ...inThreads, ...onPages }),
      project('model', simulated, { ...inThreads, env: { MODEL_SHARE: '0.04' } }),
      project('pglite', pglite, { globalSetup: 'test/database/pglite-folder.ts' }),
      project('chromium', chromium, inBrowsers),
      project('more-model', model, {
        exclude: nightly,
        env: { MODEL_SHARE: '0.12', MODEL_SEED: process.env['MODEL_SEED'] ?? '6' },
      }),
      project('more-database', database, {
        exclude: pglite,
        globalSetup: ['test/support/dist.ts', 'test/database/engines.ts'],
        // Jobs of 30,000 rows, in real time.
        testTimeout: 240_000,
        hookTimeout: 240_000,
      }),
      project('more-built', built, { globalSetup: ['test/support/built.ts', 'test/support/pack.ts'] }),
      project('more-browser', browser, { ...inBrowsers, exclude: chromium }),
      ...(process.env['NIGHTLY']
        ? [
            project('nightly', [...nightly, ...onBoth], {
              globalSetup: ['test/support/built.ts', 'test/support/pack.ts', 'test/database/engines.ts'],
              testTimeout: 240_000,
              hookTimeout: 240_000,
            }),
          ]
        : []),
    ],
  },
});

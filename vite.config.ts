/**
 * The library build. One Vite build cannot emit ES modules, a command for Node and self-contained scripts, so each has a mode:
 *
 *   vite build                    the ES modules that package.json exports
 *   vite build --mode development the same for the export condition `development`
 *   vite build --mode command     the `tessera` command
 *   vite build --mode demo        the demo that the command starts
 *   vite build --mode tessera.js  one script-tag file, by its name
 *
 * `npm run build` runs all modes (build/dist.ts), from the list in build/entries.ts. The tests have vitest.config.ts.
 */

import { type BuildEnvironmentOptions, defineConfig, type UserConfig } from 'vite';
import { command, demo, developmentEntries, entries, external, type ScriptFile, scripts } from './build/entries.ts';

/** Absolute, as an alias must be. */
const path = (file: string) => `${import.meta.dirname}/${file}`;

/** The constant that `src/token/development.ts` reads. */
const PRODUCTION = { __TESSERA_PRODUCTION__: 'true' };

/**
 * ES modules, not minified: the user's bundler minifies. What they share is in `chunks/`.
 *
 * @param names   source files below `src/`, without their extension.
 * @param folder  below `dist/`, with a final slash.
 */
const modules = (names: readonly string[], folder: string, define: Record<string, string>): UserConfig => ({
  define,
  resolve: { alias: { util: path('build/util.ts') } },
  build: {
    minify: false,
    sourcemap: true,
    lib: { entry: Object.fromEntries(names.map((name) => [name, path(`src/${name}.ts`)])), formats: ['es'] },
    rolldownOptions: {
      external,
      output: {
        entryFileNames: `${folder}[name].js`,
        chunkFileNames: `${folder}chunks/[name]-[hash].js`,
        // React's server components stop here. In the source, Rolldown would warn about it.
        banner: ({ name }) => (name === 'page/react' ? "'use client';" : ''),
      },
    },
  },
});

/**
 * A program for Node, not minified and without a source map, which would serve almost nobody: those of the programs would be a
 * quarter of the package. Its dependencies are bundled, except those of package.json's `dependencies` and peers, and esbuild,
 * which is native: only a clone has it.
 *
 * @param name    the file in `dist/`, without its extension.
 * @param source  the file that it is built from, without its extension.
 */
const program = (name: string, source: string): UserConfig => ({
  build: {
    ssr: true,
    minify: false,
    rolldownOptions: {
      input: { [name]: path(`${source}.ts`) },
      external: [...external, 'esbuild'],
      output: { entryFileNames: '[name].js', chunkFileNames: `${name.split('/')[0]}/[name]-[hash].js` },
    },
  },
  ssr: { noExternal: true },
});

/** The demo in the package: `dist/` is built already, and its root is elsewhere. */
const packagedDemo: UserConfig = {
  ...program(demo, demo),
  resolve: { alias: { '../build/dist.ts': path('build/demo.ts') } },
};

/** The notice that the licence of noble demands in every copy: minifying removes comments. */
const noticeOf = ({ moduleIds }: { readonly moduleIds: readonly string[] }): string =>
  moduleIds.some((module) => module.includes('/node_modules/@noble/ciphers/'))
    ? '/*! Contains @noble/ciphers, Copyright (c) 2022 Paul Miller (https://paulmillr.com), MIT License. Text: licenses/ of tessera-id */'
    : '';

/**
 * V8's hint, a comment in the first line: compile the file at once, in the background while it arrives. Without it V8 only scans
 * most functions, and compiles them one by one on the main thread when they are called. Other engines ignore it.
 */
const COMPILE_EAGERLY = '//# allFunctionsCalledOnLoad';

/** One script-tag file, self-contained and minified. */
function script(name: string, { source, format, noble, isDevelopment, isEager }: ScriptFile): UserConfig {
  const hints = isEager ? [COMPILE_EAGERLY] : [];
  return {
    define: isDevelopment ? {} : PRODUCTION,
    resolve: { alias: noble ? { './noble.ts': path(noble) } : {} },
    build: {
      // No comment in the file: a page that serves the file alone would cause a request that fails.
      sourcemap: 'hidden',
      // Script-tag files have no exports, but Vite demands the name of a global for the `iife` format.
      lib: { entry: path(source), formats: [format], name: 'tessera', fileName: () => name },
      // `build.minify` keeps the white space of `es` libraries; this does not.
      rolldownOptions: { output: { minify: true, postBanner: (chunk) => [...hints, noticeOf(chunk)].join('\n') } },
    },
  };
}

export default defineConfig(({ mode }) => {
  const others: Record<string, UserConfig> = {
    command: program(command, `src/${command}`),
    demo: packagedDemo,
    development: modules(developmentEntries, 'development/', {}),
  };
  const config = scripts[mode]
    ? script(mode, scripts[mode])
    : (others[mode] ?? modules(Object.values(entries), '', PRODUCTION));
  const build: BuildEnvironmentOptions = {
    target: 'es2022',
    emptyOutDir: false,
    reportCompressedSize: false,
    // Names, versions and licence texts of the packages that are bundled.
    license: { fileName: `licenses/${mode === 'production' ? 'modules' : mode}.md` },
  };
  return { ...config, publicDir: false, build: { ...build, ...config.build } };
});

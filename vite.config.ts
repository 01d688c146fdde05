/**
 * The library build. One Vite build cannot emit ES modules, a Node command and self-contained scripts, so each has a mode:
 *
 *   vite build                    the ES modules that package.json exports
 *   vite build --mode development the same for the export condition `development`
 *   vite build --mode programs    the `tessera` command, and the demo that it starts
 *   vite build --mode tessera.js  one script-tag file, by its name
 *
 * `npm run build` (build/dist.ts) runs all modes in the list in build/entries.ts. The tests use vitest.config.ts.
 */

import { relative, resolve } from 'node:path';
import { type BuildEnvironmentOptions, defineConfig, type UserConfig } from 'vite';
import { command, demo, developmentEntries, entries, external, type ScriptFile, scripts } from './build/entries.ts';
import manifest from './package.json' with { type: 'json' };

/** Return an absolute path, which an alias must be. */
const path = (file: string) => `${import.meta.dirname}/${file}`;

/** The constant that `src/token/development.ts` reads. */
const PRODUCTION = { __TESSERA_PRODUCTION__: 'true' };

/**
 * Build ES modules. They are not minified, because the user's bundler minifies, and keep their comments, so they have no source
 * maps: they read like the sources. Shared code is in `chunks/`.
 *
 * @param names   source files below `src/`, without their extension.
 * @param folder  below `dist/`, with a final slash.
 */
const modules = (names: readonly string[], folder: string, define: Record<string, string>): UserConfig => ({
  define,
  resolve: { alias: { util: path('build/util.ts') } },
  build: {
    minify: false,
    lib: { entry: Object.fromEntries(names.map((name) => [name, path(`src/${name}.ts`)])), formats: ['es'] },
    rolldownOptions: {
      external,
      output: {
        entryFileNames: `${folder}[name].js`,
        chunkFileNames: `${folder}chunks/[name]-[hash].js`,
        // React's server components stop here. Rolldown would warn about this line in the source.
        banner: ({ name }) => (name === 'page/react' ? "'use client';" : ''),
      },
    },
  },
});

/**
 * The programs for Node: the command and the demo, which share chunks. They have no source maps, so lines and the names of
 * functions stay, for stack traces; comments and the names of other variables do not. Their dependencies are bundled, except those
 * in package.json's `dependencies` and peers, and esbuild, which is native and exists only in a clone.
 */
const programs: UserConfig = {
  // `dist/` is already built, and the root is elsewhere.
  resolve: {
    alias: { '../build/dist.ts': path('build/demo.ts'), '../build/packages.ts': path('build/demo.ts') },
  },
  build: {
    ssr: true,
    minify: false,
    rolldownOptions: {
      input: { [command]: path(`src/${command}.ts`), [demo]: path(`${demo}.ts`) },
      external: [...external, 'esbuild'],
      output: {
        entryFileNames: '[name].js',
        chunkFileNames: 'cli/[name]-[hash].js',
        comments: false,
        minify: { mangle: { keepNames: true, toplevel: true }, codegen: { removeWhitespace: false } },
      },
    },
  },
  ssr: { noExternal: true },
};

/** The notice that the licence of noble requires in every copy, because minifying removes comments. */
const noticeOf = ({ moduleIds }: { readonly moduleIds: readonly string[] }): string =>
  moduleIds.some((module) => module.includes('/node_modules/@noble/ciphers/'))
    ? '/*! Contains @noble/ciphers, Copyright (c) 2022 Paul Miller (https://paulmillr.com), MIT License. Text: licenses/ of tessera-id */'
    : '';

/**
 * V8's hint, a comment in the first line: compile the file at once, in the background while it arrives. Without it, V8 only scans
 * most functions, and compiles each on the main thread when it is called. Other engines ignore the hint.
 */
const COMPILE_EAGERLY = '//# allFunctionsCalledOnLoad';

/**
 * Where a source map finds a source: in the repository, at the tag of the version. With its sources, a map would be four times as
 * large as its script.
 */
const sourceOf = (file: string): string =>
  `https://raw.githubusercontent.com/tessera-id/tessera/v${manifest.version}/${relative(import.meta.dirname, file)}`;

/** One script-tag file, self-contained; the development build as its readers want it, the others minified. */
function script(name: string, { source, format, noble, isDevelopment, isEager }: ScriptFile): UserConfig {
  const hints = isEager ? [COMPILE_EAGERLY] : [];
  return {
    define: isDevelopment ? {} : PRODUCTION,
    resolve: { alias: noble ? { './noble.ts': path(noble) } : {} },
    build: {
      // No comment in the file, because a page that serves the file without its map would cause a failing request.
      sourcemap: isDevelopment ? false : 'hidden',
      minify: !isDevelopment && 'terser',
      // What compresses best. Terser may leave out reads whose value is not used and parameters, and make arrows of function
      // expressions: no read has an effect, and no function reads `this` or is asked for its `length`.
      terserOptions: {
        ecma: 2020,
        compress: {
          hoist_funs: true,
          inline: false,
          keep_fargs: false,
          passes: 4,
          pure_getters: true,
          unsafe_arrows: true,
        },
      },
      // Script-tag files have no exports, but Vite requires the name of a global for the `iife` format.
      lib: { entry: path(source), formats: [format], name: 'tessera', fileName: () => name },
      // Terser's files are 2 % smaller. It keeps the white space of `es` libraries, so Rolldown minifies too.
      rolldownOptions: {
        output: {
          minify: !isDevelopment,
          postBanner: (chunk) => [...hints, noticeOf(chunk)].filter(Boolean).join('\n'),
          sourcemapExcludeSources: true,
          sourcemapPathTransform: (source, map) => sourceOf(resolve(map, '..', source)),
        },
      },
    },
  };
}

export default defineConfig(({ mode }) => {
  const others: Record<string, UserConfig> = {
    programs,
    development: modules(developmentEntries, 'development/', {}),
  };
  const config = scripts[mode]
    ? script(mode, scripts[mode])
    : (others[mode] ?? modules(Object.values(entries), '', PRODUCTION));
  const build: BuildEnvironmentOptions = {
    target: 'es2022',
    emptyOutDir: false,
    reportCompressedSize: false,
    // Names, versions and licence texts of the bundled packages.
    license: { fileName: `licenses/${mode === 'production' ? 'modules' : mode}.md` },
  };
  // How long Terser takes is nothing that a reader of the output could act upon.
  const rolldownOptions = { ...config.build?.rolldownOptions, checks: { bundlerTimings: false } };
  return { ...config, publicDir: false, build: { ...build, ...config.build, rolldownOptions } };
});

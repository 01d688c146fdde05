/**
 * The library build. One Vite build cannot emit ES modules, a Node command and self-contained scripts, so each has a mode:
 *
 *   vite build                    the ES modules that package.json exports
 *   vite build --mode development the same for the export condition `development`
 *   vite build --mode command     the `tessera` command
 *   vite build --mode demo        the demo that the command starts
 *   vite build --mode tessera.js  one script-tag file, by its name
 *
 * `npm run build` (build/dist.ts) runs all modes in the list in build/entries.ts. The tests use vitest.config.ts.
 */

import { type BuildEnvironmentOptions, defineConfig, type UserConfig } from 'vite';
import { command, demo, developmentEntries, entries, external, type ScriptFile, scripts } from './build/entries.ts';

/** Return an absolute path, which an alias must be. */
const path = (file: string) => `${import.meta.dirname}/${file}`;

/** The constant that `src/token/development.ts` reads. */
const PRODUCTION = { __TESSERA_PRODUCTION__: 'true' };

/**
 * Build ES modules. They are not minified, because the user's bundler minifies. Shared code is in `chunks/`.
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
        // React's server components stop here. Rolldown would warn about this line in the source.
        banner: ({ name }) => (name === 'page/react' ? "'use client';" : ''),
      },
    },
  },
});

/**
 * Build a program for Node, neither minified nor with a source map: the source maps of the programs would be a quarter of the
 * package and useful to almost nobody. Its dependencies are bundled, except those in package.json's `dependencies` and peers, and
 * esbuild, which is native and exists only in a clone.
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

/** The demo in the package, whose `dist/` is already built and whose root is elsewhere. */
const packagedDemo: UserConfig = {
  ...program(demo, demo),
  resolve: { alias: { '../build/dist.ts': path('build/demo.ts'), '../build/packages.ts': path('build/demo.ts') } },
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

/** One script-tag file, self-contained and minified. */
function script(name: string, { source, format, noble, isDevelopment, isEager }: ScriptFile): UserConfig {
  const hints = isEager ? [COMPILE_EAGERLY] : [];
  return {
    define: isDevelopment ? {} : PRODUCTION,
    resolve: { alias: noble ? { './noble.ts': path(noble) } : {} },
    build: {
      // No comment in the file, because a page that serves the file without its map would cause a failing request.
      sourcemap: 'hidden',
      // Script-tag files have no exports, but Vite requires the name of a global for the `iife` format.
      lib: { entry: path(source), formats: [format], name: 'tessera', fileName: () => name },
      // `build.minify` keeps the white space of `es` libraries; this option does not.
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
    // Names, versions and licence texts of the bundled packages.
    license: { fileName: `licenses/${mode === 'production' ? 'modules' : mode}.md` },
  };
  return { ...config, publicDir: false, build: { ...build, ...config.build } };
});

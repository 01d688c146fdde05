/**
 * The builds of `dist/`, one function each; `build.ts` runs them all. Every function gives its files back in memory, so
 * that tests look at exactly the bytes that are shipped without touching the disk.
 */

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { minify } from 'terser';
import { build, type InlineConfig, type Plugin, type Rolldown } from 'vite';
import { command, entries, external, internalNames, type Replacement, type ScriptFile, scripts } from './entries.ts';
import { flatten } from './flatten.ts';

/** The folder of package.json, with its slash. */
export const root = fileURLToPath(new URL('..', import.meta.url));

/** A file to be written below `dist/`. */
export interface BuiltFile {
  readonly path: string;
  readonly code: string;
  /** Source files and modules of dependencies that left something in it. */
  readonly modules: readonly string[];
  /** Paths of the files that it imports, and what is left to the user to install. */
  readonly imports: readonly string[];
  /** Those of them that are loaded only when they are needed. */
  readonly onDemand: readonly string[];
}

/** Nothing of ours is rewritten: a lower target trades class fields for 300 bytes of helpers, and wins no browser of use. */
const TARGET = 'es2022';

const bundle = async (config: InlineConfig): Promise<BuiltFile[]> => {
  const result = await build({
    configFile: false,
    root,
    logLevel: 'warn',
    ...config,
    build: { write: false, reportCompressedSize: false, modulePreload: false, ...config.build },
  });
  const outputs = (Array.isArray(result) ? result : [result]) as Rolldown.RolldownOutput[];
  return outputs
    .flatMap(({ output }) => output)
    .filter((file) => file.type === 'chunk')
    .map(({ fileName, code, modules, imports, dynamicImports }) => ({
      path: fileName,
      code,
      modules: Object.keys(modules).filter((id) => modules[id]!.renderedLength > 0),
      imports: [...imports, ...dynamicImports],
      onDemand: dynamicImports.filter((name) => !imports.includes(name)),
    }));
};

/**
 * Put one of our files in the place of a module. Unless `lazy`, that file is imported statically, and its `load()` called for
 * each `(await import(of))`: a lazy module would run too late to see `document.currentScript`, and the wrapper that makes
 * one lazy costs 300 bytes.
 */
const replaceModule = ({ of, by, lazy }: Replacement): Plugin => {
  const file = root + by;
  let replaced = 0;
  return {
    name: 'replace-module',
    enforce: 'pre',
    resolveId: (id, importer) => (id === of && importer !== file ? file : undefined),
    transform(code) {
      if (!code.includes(`import('${of}')`)) return;
      replaced++;
      if (lazy) return;
      const eager = code.replaceAll(`(await import('${of}'))`, '(await replacement.load())');
      if (eager.includes(`import('${of}')`)) this.error(`expected each import('${of}') as (await import('${of}'))`);
      return { code: `import * as replacement from '${of}';${eager}`, map: null };
    },
    buildEnd(error) {
      if (!error && !replaced) this.error(`expected an import('${of}') to replace, found none`);
    },
  };
};

/** Leave out the store that `idb-keyval` opens when it is given none: ours always is given one, but no minifier sees that. */
const noDefaultStore: Plugin = {
  name: 'no-default-store',
  transform(code, id) {
    if (!id.includes('/idb-keyval/')) return;
    const without = code.replaceAll(' = defaultGetStore()', '');
    if (without === code) this.error('expected default parameters of idb-keyval, found none: look at its source again');
    return { code: without, map: null };
  },
};

const flattened: Plugin = {
  name: 'flatten',
  renderChunk: (code) => ({ code: flatten(code), map: null }),
};

/** Build one script-tag file, everything inside, as small as it gets. */
export const buildScript = async (name: keyof typeof scripts): Promise<BuiltFile> => {
  const { from, format, replace }: ScriptFile = scripts[name];
  const [file] = await bundle({
    plugins: [noDefaultStore, ...(replace ? [replaceModule(replace)] : []), ...(format === 'iife' ? [flattened] : [])],
    build: {
      target: TARGET,
      lib: { entry: root + from, formats: [format], name: 'tessera', fileName: () => name },
      // Not by `build.minify`: Vite keeps the white space of `es` libraries.
      rolldownOptions: { output: { minify: { compress: true, mangle: false } } },
    },
  });
  return { ...file!, code: await smallest(file!.code, format) };
};

/** Minify once more: terser finds 2 % of brotli that the bundler's own minifier leaves, and shortens names better. */
const smallest = async (code: string, format: ScriptFile['format']): Promise<string> => {
  const result = await minify(code, {
    ecma: 2020,
    module: format === 'es',
    toplevel: true,
    // Without `unsafe_comps`: it takes `!(a <= b)` for `a > b`, which is wrong for what is not a number.
    compress: {
      passes: 3,
      ecma: 2020,
      inline: 3,
      // These make the text longer, and smaller for brotli.
      sequences: false,
      lhs_constants: false,
      negate_iife: false,
      hoist_funs: true,
      unsafe_methods: true,
      unsafe: true,
      unsafe_arrows: true,
      pure_getters: true,
    },
    mangle: format === 'iife' ? { properties: { regex: internalNames } } : true,
  });
  return `${result.code}\n`;
};

/** Build the ES modules that package.json exports, not minified, with what they share in `chunks/`. */
export const buildEntries = (): Promise<BuiltFile[]> =>
  bundle({
    resolve: { alias: { util: `${root}build/util.ts` } },
    build: {
      target: TARGET,
      minify: false,
      lib: {
        entry: Object.fromEntries(Object.values(entries).map((file) => [file, `${root}src/${file}.ts`])),
        formats: ['es'],
      },
      rolldownOptions: {
        external,
        output: { entryFileNames: '[name].js', chunkFileNames: 'chunks/[name]-[hash].js' },
      },
    },
  });

/** Build the `tessera` command for Node. */
export const buildCommand = (): Promise<BuiltFile[]> =>
  bundle({
    build: {
      ssr: true,
      target: TARGET,
      minify: false,
      rolldownOptions: {
        input: { [command.file]: root + command.from },
        external,
        output: {
          entryFileNames: '[name].js',
          chunkFileNames: 'cli/[name]-[hash].js',
        },
      },
    },
    ssr: { noExternal: true },
  });

/** Write the declarations of every room below `outDir`. Throws what `tsc` complains about. */
export const buildTypes = async (outDir: string): Promise<void> => {
  const tsc = `${root}node_modules/typescript/bin/tsc`;
  await promisify(execFile)(process.execPath, [tsc, '-p', `${root}tsconfig.build.json`, '--outDir', outDir]).catch(
    (failure: { stdout?: string }) => {
      throw new Error(`tsc: ${failure.stdout || failure}`);
    },
  );
};

/** Turn the `.ts` of import paths in a declaration file into `.js`: beside each `.d.ts` stands a `.js`, or nothing. */
export const asShipped = (declarations: string): string =>
  declarations.replace(/((?:from|import) ?\(?['"]\.{1,2}\/[^'"]+)\.tsx?(['"])/g, '$1.js$2');

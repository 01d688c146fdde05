/** How the scripts of each page are bundled, and what a client adds to a page. */

import { readFile } from 'node:fs/promises';
import { brotliCompressSync } from 'node:zlib';
import { type BuildOptions, build } from 'esbuild';
import { prebidScript } from '../../demo/prebid.ts';
import type { PageName, Peer } from './list.ts';

/** The modules of Prebid's bundle. */
const PREBID_MODULES = ['userId', 'uid2IdSystem'];
/** What the module adds to a page that has Prebid with user IDs. */
const PREBID_MODULE_FILES = ['uid2IdSystemShared.js', 'uid2Eids.js', 'uid2IdSystem.js'];

const root = new URL('../../', import.meta.url);
const textOf = (path: string): Promise<string> => readFile(new URL(path, root), 'utf8');
export const brotliOf = (text: string): number => brotliCompressSync(text).length;

/** Bundle and minify as a publisher's build does. */
const bundled = async (input: BuildOptions): Promise<string> => {
  const { outputFiles } = await build({
    ...input,
    bundle: true,
    minify: true,
    write: false,
    target: 'es2022',
    legalComments: 'none',
    define: { 'process.env.NODE_ENV': '"production"', 'process.env': '{}' },
  });
  return outputFiles![0]!.text;
};

/** The scripts of one page, in their order. */
export interface Scripts {
  /** Code of the page before the client; empty where the client is bundled with it. */
  readonly before: string;
  /** What is timed: the client, or the client bundled with the code of the page. */
  readonly client: string;
}

const page = (name: PageName): Promise<string> =>
  bundled({ entryPoints: [`${import.meta.dirname}/pages/${name}.ts`], format: 'iife' });

/** The scripts of a page. */
export async function scriptsOf(name: PageName): Promise<Scripts> {
  if (name === 'tessera') return { before: await page(name), client: await textOf('dist/tessera.js') };
  if (name === 'incumbent')
    return { before: await page(name), client: await readFile(process.env['TESSERA_INCUMBENT']!, 'utf8') };
  if (name === 'prebid') return { before: await page(name), client: await prebidScript(PREBID_MODULES) };
  return { before: '', client: await page(name) };
}

/** Bytes of brotli that a client adds to a page, and a remark for the table. */
export async function sizeOf({ name, imports }: Peer): Promise<{ readonly bytes: number; readonly beside: string }> {
  if (imports) {
    const stdin = { contents: imports, resolveDir: import.meta.dirname };
    return {
      bytes: brotliOf(await bundled({ stdin, format: 'esm' })),
      beside: 'what its page imports, minified by esbuild',
    };
  }
  if (name === 'tessera') return { bytes: brotliOf(await textOf('dist/tessera.js')), beside: 'dist/tessera.js' };
  const chunks = PREBID_MODULE_FILES.map((file) => textOf(`demo/prebid/node_modules/prebid.js/dist/chunks/${file}`));
  const whole = brotliOf(await prebidScript(PREBID_MODULES));
  return {
    bytes: brotliOf((await Promise.all(chunks)).join('\n')),
    beside: `the module alone; with Prebid's core and userId ${whole.toLocaleString('en')}`,
  };
}

/** Version of the package that is installed. */
export async function versionOf({ name, npm }: Peer): Promise<string> {
  const folder = name === 'prebid' ? 'demo/prebid' : 'bench';
  const manifest = JSON.parse(await textOf(npm ? `${folder}/node_modules/${npm}/package.json` : 'package.json'));
  return (manifest as { version: string }).version;
}

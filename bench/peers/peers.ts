/**
 * The clients that are compared, how each is bundled, and what its documentation says about when it refreshes.
 *
 * A client of a token service needs no more than the page shows: the code of a page is below `pages/`.
 */

import { readFile } from 'node:fs/promises';
import { brotliCompressSync } from 'node:zlib';
import { type BuildOptions, build } from 'esbuild';
import { prebidScript } from '../../demo/prebid.ts';

export type PeerName = 'tessera' | 'prebid' | 'auth0' | 'oidc' | 'supabase';
export type FloorName = 'indexeddb' | 'localstorage';
export type PageName = PeerName | FloorName;

/** A client of a token service. */
export interface Peer {
  readonly name: PeerName;
  /** As charts and tables name it. */
  readonly label: string;
  /** Package of npm; Tessera is the one of this repository. */
  readonly npm?: string;
  /** The imports of its page, for the size; undefined: {@link files} says what is measured. */
  readonly imports?: string;
  /**
   * Seconds before the end of its token from which on the client replaces it when it looks at it; 0: the service says when.
   * auth-js replaces it if fewer than four of its ticks of 30 s are left.
   */
  readonly marginS: number;
  /** `timer`: refreshes by itself. `call`: only when the page asks for the token. */
  readonly refreshes: 'timer' | 'call';
  /** The interval at which it looks at its token, s; 0: a timer for the instant itself, or none. */
  readonly tickS: number;
}

export const peers: readonly Peer[] = [
  { name: 'tessera', label: 'Tessera', marginS: 0, refreshes: 'timer', tickS: 0 },
  { name: 'prebid', label: 'Prebid, uid2 module', npm: 'prebid.js', marginS: 0, refreshes: 'call', tickS: 0 },
  {
    name: 'auth0',
    label: 'auth0-spa-js',
    npm: '@auth0/auth0-spa-js',
    imports: "export { createAuth0Client } from '@auth0/auth0-spa-js'",
    marginS: 60,
    refreshes: 'call',
    tickS: 0,
  },
  {
    name: 'oidc',
    label: 'oidc-client-ts',
    npm: 'oidc-client-ts',
    imports: "export { UserManager, WebStorageStateStore } from 'oidc-client-ts'",
    marginS: 60,
    refreshes: 'timer',
    tickS: 5,
  },
  {
    name: 'supabase',
    label: 'supabase auth-js',
    npm: '@supabase/auth-js',
    imports: "export { GoTrueClient } from '@supabase/auth-js'",
    marginS: 120,
    refreshes: 'timer',
    tickS: 30,
  },
];

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
  const chunks = PREBID_MODULE_FILES.map((file) => textOf(`node_modules/prebid.js/dist/chunks/${file}`));
  const whole = brotliOf(await prebidScript(PREBID_MODULES));
  return {
    bytes: brotliOf((await Promise.all(chunks)).join('\n')),
    beside: `the module alone; with Prebid's core and userId ${whole.toLocaleString('en')}`,
  };
}

/** Version of the package that is installed. */
export async function versionOf({ npm }: Peer): Promise<string> {
  const manifest = JSON.parse(await textOf(npm ? `node_modules/${npm}/package.json` : 'package.json'));
  return (manifest as { version: string }).version;
}

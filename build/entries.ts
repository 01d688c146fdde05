/**
 * What the package is made of: its import paths, its script-tag files and its command.
 *
 * To add an entry, add its line to {@link entries} and its twin to `exports` in package.json: a test compares the two.
 */

/** Import path within the package -> source file under `src/`, without its ending. `dist/` keeps the same tree. */
export const entries: Record<string, string> = {
  '.': 'session/index',
  './token': 'token/index',
  './server': 'server/index',
  './mapping': 'mapping/index',
  './operator': 'operator/index',
  './operator/node': 'operator/node',
  './prebid': 'page/prebid',
  './uid2': 'page/uid2/index',
  './secure-signals': 'page/secure-signals',
  './consent': 'page/consent',
  './react': 'page/react',
  './webview': 'page/webview',
  './inspector': 'page/inspector',
};

/** What `exports` of package.json must say for {@link entries}. */
export const packageExports = () => ({
  ...Object.fromEntries(
    Object.entries(entries).map(([path, file]) => [
      path,
      { types: `./dist/${file}.d.ts`, default: `./dist/${file}.js` },
    ]),
  ),
  './package.json': './package.json',
});

/** A module of a dependency, and the file of ours that a build takes in its place. */
export interface Replacement {
  readonly of: string;
  readonly by: string;
  /** Whether an `import()` of it stays one: run when it is needed, not when the script is loaded. */
  readonly lazy: boolean;
}

/** A file for a `<script>` tag, or one that such a file fetches. */
export interface ScriptFile {
  readonly from: string;
  /** `iife` for a `<script>` tag; `es` for a sibling that is fetched by `import()`. */
  readonly format: 'iife' | 'es';
  readonly replace?: Replacement;
}

/**
 * Names of members that only the session's own files use: the script-tag files may shorten them. A name that is part
 * of the interface, of the stored record, or of the platform has no place here; a test compares it with the first two.
 * Terser leaves a name alone that any DOM object has, such as `commit` or `loaded`: such a name is paid for.
 */
export const internalNames =
  /^(alone|awaken|dateMs|drained|enact|failing|forgo|isLoaded|letGo|meet|need|nobody|notBefore|nudge|part|poke|pull|record|repeating|rewind|soonAt|tell|tellNeed|sendSet|commitAct|tellError|onLanded|takeAnswer|giveUp|takeOff|turns|ungate|unwritten|up|word)$/;

const NOBLE = '@noble/ciphers/aes.js';

/** File name in `dist/` -> what it is built from. */
export const scripts = {
  'tessera.js': {
    from: 'src/page/script.ts',
    format: 'iife',
    replace: { of: NOBLE, by: 'src/page/noble.ts', lazy: false },
  },
  'tessera-uid2.js': {
    from: 'src/page/uid2/script.ts',
    format: 'iife',
    replace: { of: NOBLE, by: 'src/page/noble.ts', lazy: false },
  },
  'tessera-noble.js': { from: 'build/noble.ts', format: 'es' },
  'tessera.full.js': {
    from: 'src/page/script.ts',
    format: 'iife',
    // By our `gcm` alone: an `import()` of the whole module would bring in every mode of AES, 4 kB of brotli.
    replace: { of: NOBLE, by: 'build/noble.ts', lazy: true },
  },
} satisfies Record<string, ScriptFile>;

/** The file that `bin` of package.json names, and its source. */
export const command = { file: 'cli/main', from: 'src/cli/main.ts' };

/** Dependencies that a user installs beside us, or not at all: never bundled. */
export const external = [
  'idb-keyval',
  /^@noble\/ciphers(\/|$)/,
  /^react(\/|$)/,
  /^@electric-sql\/pglite(\/|$)/,
  /^pg(\/|$)/,
  /^node:/,
];

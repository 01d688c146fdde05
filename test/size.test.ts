import { readFile } from 'node:fs/promises';
import { build } from 'esbuild';
import { minify } from 'terser';
import { parseSync, Visitor } from 'vite';
import { describe, expect, test } from 'vitest';
import { buildEntries, buildScript, root } from '../build/bundle.ts';
import { entries, internalNames, type scripts } from '../build/entries.ts';
import { brotliSize } from '../build/size.ts';

/** Bytes of brotli that the files for script tags may cost a page. Saved by design, never by leaving out a fault path. */
const LIMITS = {
  'tessera.js': 6_000,
  'tessera-noble.js': 3_300,
  'tessera.full.js': 9_300,
  'tessera-uid2.js': 7_500,
} satisfies Record<keyof typeof scripts, number>;

test.each(Object.entries(LIMITS))('dist/%s is at most %i bytes of brotli, and README says so', async (name, limit) => {
  expect(brotliSize((await buildScript(name as keyof typeof scripts)).code)).toBeLessThanOrEqual(limit);
  expect(await readFile(`${root}README.md`, 'utf8')).toContain(`| \`dist/${name}\` | ${limit / 1000} kB |`);
});

/** Bytes of brotli that an adapter costs a page beside its session: none may reach 1 kB, and none may grow unseen. */
const ADAPTERS: Record<string, number> = {
  './prebid': 370,
  './secure-signals': 580,
  './consent': 990,
  './react': 330,
  './webview': 995,
  './inspector': 620,
};

describe('an adapter brings its own code alone', async () => {
  const files = new Map((await buildEntries()).map((file) => [file.path, file]));

  test.each(Object.entries(ADAPTERS))('%s, at most %i bytes of brotli', async (entry, limit) => {
    const { code, imports } = files.get(`${entries[entry]}.js`)!;
    // The one that makes sessions imports what a page with a session has.
    expect(imports).toEqual(entry === './react' ? expect.arrayContaining(['react']) : []);
    const options = {
      module: true,
      ecma: 2020,
      compress: { passes: 3, unsafe_arrows: true, pure_getters: true },
    } as const;
    expect(brotliSize((await minify(code, options)).code!)).toBeLessThanOrEqual(limit);
  });
});

test.each(Object.entries(ADAPTERS))('README says the size of %s', async (entry, limit) => {
  expect(await readFile(`${root}README.md`, 'utf8')).toContain(
    `| \`tessera-id${entry.slice(1)}\` | at most ${limit} B |`,
  );
});

/** Bytes of brotli of what a bundler makes of a whole import; AES-GCM of noble is fetched apart, where a page needs it. */
const IMPORTS: Record<string, number> = { '.': 6_400, './uid2': 8_200, './token': 4_500 };

test.each(Object.entries(IMPORTS))(
  '%s bundled by esbuild is at most %i bytes, and README says so',
  async (entry, limit) => {
    const { outputFiles } = await build({
      entryPoints: [`${root}src/${entries[entry]}.ts`],
      external: ['@noble/ciphers/*'],
      target: 'es2022',
      format: 'esm',
      bundle: true,
      minify: true,
      write: false,
    });
    expect(brotliSize(Buffer.from(outputFiles[0]!.contents))).toBeLessThanOrEqual(limit);
    expect(await readFile(`${root}README.md`, 'utf8')).toContain(
      `| \`tessera-id${entry.slice(1)}\` | ${limit / 1000} kB |`,
    );
  },
);

/** Members of all interfaces and classes that a file declares. */
const membersOf = async (file: string): Promise<string[]> => {
  const { program } = parseSync(file, await readFile(root + file, 'utf8'));
  const members: string[] = [];
  const add = ({ key }: { key: { type: string } }) => {
    if (key.type === 'Identifier') members.push((key as { type: string; name: string }).name);
  };
  new Visitor({ TSPropertySignature: add, TSMethodSignature: add, PropertyDefinition: add }).visit(program);
  return members;
};

test.each([
  ['src/page/script.ts', 'createSession'],
  ['src/session/contract.ts', 'getToken'],
  ['src/session/events.ts', 'cause'],
  ['src/session/options.ts', 'consent'],
  ['src/session/record.ts', 'fingerprint'],
  ['src/session/store.ts', 'update'],
  ['src/token/errors.ts', 'code'],
  ['src/token/phase.ts', 'optedOut'],
  ['src/token/token-set.ts', 'responseKeyB64'],
])('no name that a page or a store sees is shortened: %s', async (file, known) => {
  const members = await membersOf(file);
  expect(members).toContain(known);
  expect(members.filter((name) => internalNames.test(name))).toEqual([]);
});

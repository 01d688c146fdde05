import { readFile } from 'node:fs/promises';
import { minify } from 'terser';
import { parseSync, Visitor } from 'vite';
import { describe, expect, test } from 'vitest';
import { buildEntries, buildScript, root } from '../build/bundle.ts';
import { entries, internalNames } from '../build/entries.ts';
import { brotliSize } from '../build/size.ts';

/** Bytes of brotli that the script tag may cost a page. Saved by design, never by leaving out a fault path. */
const LIMIT = 6_340;

test(`dist/tessera.js is at most ${LIMIT} bytes of brotli`, async () => {
  expect(brotliSize((await buildScript('tessera.js')).code)).toBeLessThanOrEqual(LIMIT);
});

/** The same for the drop-in: all of the session, and the surface of the SDK that it replaces. */
const DROP_IN_LIMIT = 7_780;

test(`dist/tessera-uid2.js is at most ${DROP_IN_LIMIT} bytes of brotli`, async () => {
  expect(brotliSize((await buildScript('tessera-uid2.js')).code)).toBeLessThanOrEqual(DROP_IN_LIMIT);
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

test('README says the sizes of the script-tag files', async () => {
  const readme = await readFile(`${root}README.md`, 'utf8');
  const kB = (bytes: number) => `${bytes / 1000} kB`;
  expect(readme).toContain(`| \`dist/tessera.js\` | ${kB(LIMIT)} |`);
  expect(readme).toContain(`| \`dist/tessera-uid2.js\` | ${kB(DROP_IN_LIMIT)} |`);
});

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

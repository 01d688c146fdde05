/** The TypeScript and JavaScript of the documentation compiles against the source of the entry points, as a user's code would. */

import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse, parseFragment } from 'parse5';
import { describe, expect, test } from 'vitest';
import { root } from '../../build/dist.ts';
import { entries, scripts } from '../../build/entries.ts';
import { type Block, blocks, placeOf } from './blocks.ts';

const folder = join(root, 'test-output/docs-types');

/** Compile files in a folder of their own; returns what the compiler says. */
const compile = async (name: string, files: Readonly<Record<string, string>>, options: object): Promise<string> => {
  const at = join(folder, name);
  await rm(at, { recursive: true, force: true });
  await mkdir(at, { recursive: true });
  const paths = Object.entries(entries).map(([path, file]) => [
    `tessera-id${path.slice(1)}`,
    [`${root}src/${file}.ts`],
  ]);
  const config = {
    extends: `${root}tsconfig.json`,
    compilerOptions: {
      // What a new project has, not the stricter rules of this repository.
      exactOptionalPropertyTypes: false,
      noUncheckedIndexedAccess: false,
      noUnusedLocals: false,
      noUnusedParameters: false,
      noImplicitReturns: false,
      paths: Object.fromEntries(paths),
      ...options,
    },
    exclude: [],
    include: ['.', `${root}test/docs/ambient`],
  };
  await writeFile(join(at, 'tsconfig.json'), JSON.stringify(config));
  // A block is a module of its own.
  for (const [file, code] of Object.entries(files)) await writeFile(join(at, file), `${code}\nexport {};\n`);
  const tsc = promisify(execFile)(process.execPath, [`${root}node_modules/typescript/bin/tsc`, '-p', at], { cwd: at });
  const { stdout } = await tsc.catch((failure: { stdout: string }) => failure);
  // Under these options the source of the package is not what is checked.
  const messages = stdout.split(/\n(?! )/).filter((message) => message && !message.startsWith('../'));
  return messages.join('\n');
};

/** `docs/pages/session.md`, line 60, to `docs~session.md~60`. */
const fileOf = (block: Block, extension: string): string => `${placeOf(block).replaceAll(/[/:]/g, '~')}.${extension}`;

const ofLanguage = (...languages: string[]) => blocks.filter(({ language }) => languages.includes(language));
const html = ofLanguage('html');

interface Node {
  readonly tagName?: string;
  readonly attrs?: readonly { readonly name: string; readonly value: string }[];
  readonly childNodes?: readonly Node[];
  readonly value?: string;
}

/** Parse a page or a part of one; throws at the first error of the markup. */
const parseMarkup = (code: string): Node => {
  const isPage = /^(<!-- .+ -->\n)?<!doctype/i.test(code);
  const onParseError = ({ code: fault, startLine }: { code: string; startLine: number }) => {
    throw new SyntaxError(`${fault} in line ${startLine}`);
  };
  return (isPage ? parse(code, { onParseError }) : parseFragment(code, { onParseError })) as Node;
};
const elementsOf = (node: Node): Node[] => [
  ...(node.tagName ? [node] : []),
  ...(node.childNodes ?? []).flatMap(elementsOf),
];
const scriptsOf = ({ code }: Block): string[] =>
  elementsOf(parseMarkup(code))
    .filter(({ tagName }) => tagName === 'script')
    .map(({ childNodes }) => childNodes?.[0]?.value ?? '')
    .filter((text) => text.trim());

describe('code of the documentation', () => {
  test('TypeScript compiles, strictly', async () => {
    const found = [...ofLanguage('ts', 'tsx')];
    expect(found.length).toBeGreaterThan(40);
    const files = Object.fromEntries(found.map((block) => [fileOf(block, 'tsx'), block.code]));
    // If a wrong name were not found, the directive would be an error.
    const wrong = `// @ts-expect-error\nimport { createSesion } from 'tessera-id';\ncreateSesion({ baseUrl });`;
    expect(await compile('ts', { ...files, 'wrong.ts': wrong }, {})).toBe('');
  });

  test('JavaScript is checked, including that in HTML blocks', async () => {
    const found = ofLanguage('js');
    expect(found.length).toBeGreaterThan(5);
    const files = Object.fromEntries([
      ...found.map((block) => [fileOf(block, 'js'), block.code]),
      ...html.flatMap((block) => scriptsOf(block).map((code, index) => [fileOf(block, `${index}.js`), code])),
    ]);
    // A page's script may leave types to chance.
    const paths = Object.entries(entries).map(([path, file]) => [
      `tessera-id${path.slice(1)}`,
      [`${root}src/${file}.ts`],
    ]);
    const modules = Object.values(entries).map((file) => [`/${file}.js`, [`${root}src/${file}.ts`]]);
    const options = { allowJs: true, checkJs: true, strict: false, paths: Object.fromEntries([...paths, ...modules]) };
    expect(await compile('js', files, options)).toBe('');
  });
});

describe('HTML of the documentation', () => {
  const ATTRIBUTES = ['base-url', 'name', 'user', 'provide', 'debug', 'product', 'to', 'turbo-track'].map(
    (name) => `data-${name}`,
  );

  test.each(html.map((block) => [placeOf(block), block] as const))(
    '%s is well-formed, and its tags exist',
    (_, block) => {
      for (const { tagName, attrs = [] } of elementsOf(parseMarkup(block.code))) {
        if (tagName !== 'script') continue;
        for (const { name, value } of attrs) {
          if (name.startsWith('data-')) expect(ATTRIBUTES).toContain(name);
          if (name === 'src' && !value.endsWith('.ts')) expect(Object.keys(scripts)).toContain(value.split('/').at(-1));
        }
      }
    },
  );
});

/** What can be checked of hosts/ios/ without a Swift compiler: the syntax of its files and of the Swift of the documentation. */

import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { filesBelow, root } from '../../build/dist.ts';
import { INSTALL_MS, install } from '../../build/packages.ts';
import { blocks, placeOf } from '../docs/blocks.ts';

/** The parser of web-tree-sitter, as far as it is used: it is installed on first use, so `tsc` does not see its types. */
interface Node {
  readonly isError: boolean;
  readonly isMissing: boolean;
  readonly startPosition: { readonly row: number };
  readonly text: string;
  readonly children: readonly Node[];
}
interface Parser {
  setLanguage(language: unknown): void;
  parse(text: string): { readonly rootNode: Node };
}

const packages = `${root}test/hosts/node_modules`;
let parser: Parser;

beforeAll(async () => {
  await install('test/hosts');
  const module = await import(/* @vite-ignore */ pathToFileURL(`${packages}/web-tree-sitter/tree-sitter.js`).href);
  await module.Parser.init();
  parser = new module.Parser() as Parser;
  parser.setLanguage(await module.Language.load(`${packages}/tree-sitter-wasms/out/tree-sitter-swift.wasm`));
}, INSTALL_MS);

const errorsOf = (code: string): number[] => {
  const found = (node: Node): number[] => [
    ...(node.isError || node.isMissing ? [node.startPosition.row + 1] : []),
    ...node.children.flatMap(found),
  ];
  return found(parser.parse(code).rootNode);
};

test('the files and the Swift of the documentation have no error of syntax, and an error is found', async () => {
  const files = (await filesBelow(`${root}hosts/ios`)).filter((file) => file.endsWith('.swift'));
  expect(files.length).toBeGreaterThan(8);
  for (const file of files) expect(errorsOf(await readFile(file, 'utf8')), file).toEqual([]);
  const documented = blocks.filter(({ language }) => language === 'swift');
  expect(documented.length).toBeGreaterThan(0);
  for (const block of documented) expect(errorsOf(block.code), placeOf(block)).toEqual([]);
  const machine = await readFile(`${root}hosts/ios/Sources/TesseraHost/Machine.swift`, 'utf8');
  expect(errorsOf(machine.replace('let former = state', 'let former = = state'))).not.toEqual([]);
});

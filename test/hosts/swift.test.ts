/**
 * What can be checked of hosts/ios/ without a Swift compiler: its syntax, and that it says the same as the file of hosts/android/, which
 * test/browser/webview-android.test.ts runs.
 */

import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { root } from '../../build/dist.ts';
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

/** The lines with an error of syntax. */
const errorsOf = (code: string): number[] => {
  const found = (node: Node): number[] => [
    ...(node.isError || node.isMissing ? [node.startPosition.row + 1] : []),
    ...node.children.flatMap(found),
  ];
  return found(parser.parse(code).rootNode);
};

const swift = await readFile(`${root}hosts/ios/TesseraHost.swift`, 'utf8');
const kotlin = await readFile(`${root}hosts/android/TesseraHost.kt`, 'utf8');

test('the file and the Swift of the documentation have no error of syntax, and an error is found', () => {
  expect(errorsOf(swift)).toEqual([]);
  const documented = blocks.filter(({ language }) => language === 'swift');
  expect(documented.length).toBeGreaterThan(0);
  for (const block of documented) expect(errorsOf(block.code), placeOf(block)).toEqual([]);
  expect(errorsOf(swift.replace('let set = state.set', 'let set = = state.set'))).not.toEqual([]);
});

/** The members, types and values of the messages and of a token set, docs/webview.md and docs/protocol.md. */
const WORDS = [
  ...['v', 'ns', 'tessera', 'kind', 'req', 'res', 'evt', 'id', 'gen', 'type', 'body', 'error', 'version'],
  ...['hello', 'changed', 'get', 'set', 'clear', 'phase', 'empty', 'optedOut', 'advertisingToken', 'expiresAt'],
  ...['status', 'success', 'optout', 'invalid_token', 'expired_token', 'advertising_token', 'refresh_token'],
  ...['refresh_response_key', 'refresh_from', 'identity_expires', 'refresh_expires', 'Retry-After'],
];

test('its words of the protocol and its times are those of the Kotlin file', () => {
  for (const word of WORDS) expect([kotlin, swift].filter((code) => !code.includes(`"${word}"`)).length, word).toBe(0);
  const timesOf = (code: string) =>
    [...code.matchAll(/\b\w*?(first_?pause|min_?pause|max_?pause|due_?on_?arrival)_?ms = ([\d_]+)/gi)].map(
      ([, name, value]) => [name!.toLowerCase().replaceAll('_', ''), Number(value!.replaceAll('_', ''))],
    );
  expect(timesOf(kotlin)).toHaveLength(4);
  expect(timesOf(swift)).toEqual(timesOf(kotlin));
});

/** The code blocks of every page that people read: README, CONTRIBUTING, those of the hosts, `docs/`. Generated pages are left out. */

import { readdirSync, readFileSync } from 'node:fs';
import { root } from '../../build/dist.ts';

export interface Block {
  /** Path from the root of the repository. */
  readonly page: string;
  readonly line: number;
  /** The word after the fence; empty if there is none. */
  readonly language: string;
  readonly code: string;
}

/** The pages, as paths from the root of the repository. */
export const pages: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  'examples/README.md',
  ...['android', 'ios', 'react-native'].map((host) => `hosts/${host}/README.md`),
  ...readdirSync(`${root}docs`, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md') && !/^(\.vitepress|reference)\//.test(file))
    .sort()
    .map((file) => `docs/${file}`),
];

/** Find the blocks of a text; those inside a list are indented. */
export const blocksIn = (text: string, page: string): Block[] =>
  [...text.matchAll(/^( *)```([\w-]*)[^\n]*\n(.*?)^\1```$/gms)].map(({ 1: indent, 2: language, 3: code, index }) => ({
    page,
    line: text.slice(0, index).split('\n').length,
    language: language!,
    code: code!.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }));

export const blocks: readonly Block[] = pages.flatMap((page) => blocksIn(readFileSync(root + page, 'utf8'), page));

export const placeOf = ({ page, line }: Block): string => `${page}:${line}`;

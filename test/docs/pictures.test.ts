/** The picture of who calls whom is the one that is drawn, and a row outside a table fails the build of the documentation. */

import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { drawCalls, VARIANTS } from '../../build/calls.ts';
import { root } from '../../build/dist.ts';

test.each(Object.entries(VARIANTS))('docs/calls-%s.svg is what npm run picture draws', async (name, colours) => {
  expect(await readFile(`${root}docs/calls-${name}.svg`, 'utf8')).toBe(drawCalls(colours));
});

interface Token {
  readonly type: string;
  readonly content: string;
  readonly map?: readonly number[];
}
type Rule = (state: { readonly tokens: readonly Token[]; readonly env: { readonly relativePath: string } }) => void;

test('a row of a table in a paragraph is refused with its page and line', async () => {
  // By its path: the types of VitePress are installed only where the site is built.
  const { refuseLooseRows } = await import(/* @vite-ignore */ `${root}docs/.vitepress/tables.ts`);
  let rule: Rule | undefined;
  refuseLooseRows({ core: { ruler: { push: (_: string, given: Rule) => void (rule = given) } } });
  const paragraph = (content: string) => [
    { type: 'paragraph_open', content: '', map: [6, 7] },
    { type: 'inline', content },
  ];
  const env = { relativePath: 'protocol.md' };
  expect(() => rule!({ tokens: paragraph('| a | b |'), env })).toThrow(
    'docs/protocol.md:7: expected a table around the row | a | b |',
  );
  rule!({ tokens: paragraph('a | b'), env });
});

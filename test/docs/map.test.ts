/** The map of pages in README.md, compared with the sidebar of the site. */

import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { root } from '../../build/dist.ts';

interface Group {
  readonly items: readonly { readonly link: string }[];
}

test('README.md links to every page of the sidebar but the generated reference', async () => {
  // By its path: the types of VitePress are installed only where the site is built.
  const { sidebar } = await import(/* @vite-ignore */ `${root}docs/.vitepress/sidebar.ts`);
  const pages = (sidebar as readonly Group[])
    .flatMap(({ items }) => items.map(({ link }) => `docs${link.replace(/\/$/, '/index')}.md`))
    .filter((page) => !page.startsWith('docs/reference/'));
  expect(pages.length).toBeGreaterThan(30);
  const readme = await readFile(`${root}README.md`, 'utf8');
  const map = readme.slice(readme.indexOf('## Which page do I need?'), readme.indexOf('## Compared with'));
  expect(pages.filter((page) => !map.includes(`](${page})`))).toEqual([]);
});

/**
 * Links from a page to files of the repository outside `docs/`, such as `../examples/express`: the site has no such page, so they
 * lead to the repository. A link to a file that does not exist fails the build, as VitePress does for pages.
 */

import { existsSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { MarkdownRenderer } from 'vitepress';

const docs = new URL('..', import.meta.url).pathname;
const root = new URL('../..', import.meta.url).pathname;
const REPOSITORY = 'https://github.com/tessera-id/tessera';

/** The address of a link in the repository; undefined if the link stays inside `docs/` or leads elsewhere. */
export const addressOutside = (link: string, page: string): string | undefined => {
  if (!link.startsWith('..')) return undefined;
  const [path = '', anchor] = link.split('#');
  const target = join(docs, dirname(page), path);
  if (target.startsWith(docs)) return undefined;
  if (!existsSync(target)) throw new Error(`docs/${page}: expected a file or folder at the link ${link}, found none`);
  const kind = statSync(target).isDirectory() ? 'tree' : 'blob';
  return `${REPOSITORY}/${kind}/main/${relative(root, target)}${anchor ? `#${anchor}` : ''}`;
};

/** Rewrite such links while Markdown is rendered. */
export const linkOutside = (markdown: MarkdownRenderer): void => {
  markdown.core.ruler.push('links-outside', (state) => {
    for (const token of state.tokens.flatMap(({ children }) => children ?? [])) {
      const address = token.type === 'link_open' && addressOutside(token.attrGet('href') ?? '', state.env.relativePath);
      if (address) token.attrSet('href', address);
    }
  });
};

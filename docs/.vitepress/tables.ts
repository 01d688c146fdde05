/** A header cell without text becomes a plain cell: a screen reader would read out an empty heading for each cell below it. */

import type { MarkdownRenderer } from 'vitepress';

/** Change such cells while Markdown is rendered. */
export const plainEmptyHeaders = (markdown: MarkdownRenderer): void => {
  markdown.core.ruler.push('plain-empty-headers', ({ tokens }) => {
    for (const [index, token] of tokens.entries()) {
      if (token.type !== 'th_open' || tokens[index + 1]?.content) continue;
      token.tag = 'td';
      tokens[index + 2]!.tag = 'td';
    }
  });
};

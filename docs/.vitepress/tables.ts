/**
 * Tables while Markdown is rendered. A header cell without text becomes a plain cell: a screen reader would read out an empty heading
 * for each cell below it. A row outside a table, as after a blank line in the middle of one, fails the build: it would be shown as text.
 */

import type { MarkdownRenderer } from 'vitepress';

/** Make empty header cells plain. */
export const plainEmptyHeaders = (markdown: MarkdownRenderer): void => {
  markdown.core.ruler.push('plain-empty-headers', ({ tokens }) => {
    for (const [index, token] of tokens.entries()) {
      if (token.type !== 'th_open' || tokens[index + 1]?.content) continue;
      token.tag = 'td';
      tokens[index + 2]!.tag = 'td';
    }
  });
};

/** Throw for a paragraph with a line that begins and ends as a row of a table. */
export const refuseLooseRows = (markdown: MarkdownRenderer): void => {
  markdown.core.ruler.push('loose-rows', ({ tokens, env }) => {
    for (const [index, token] of tokens.entries()) {
      if (token.type !== 'paragraph_open') continue;
      const row = tokens[index + 1]?.content.split('\n').find((line) => /^\|.*\|$/.test(line));
      if (row)
        throw new Error(
          `docs/${env.relativePath}:${(token.map?.[0] ?? 0) + 1}: expected a table around the row ${row}`,
        );
    }
  });
};

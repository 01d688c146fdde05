/** Figures that a page of the documentation repeats are those of their source. */

import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { root } from '../../build/dist.ts';

const textOf = (page: string): Promise<string> => readFile(root + page, 'utf8');

describe.each<[page: string, source: string, figures: [here: string, there: string][]]>([
  [
    'docs/guide/mapping-at-scale.md',
    'bench/README.md',
    [
      ['62,000 rows per second', '94,900 / 62,000 rows/s; 164 / 204 / 221 / 265 MB'],
      ['its process needs 265 MB', '94,900 / 62,000 rows/s; 164 / 204 / 221 / 265 MB'],
      [
        '1 % of 300,000 mappings due, it takes about 2 %',
        'due run for 1 % of 300,000 mappings, of mapping all | 1.9 to 2.7 %',
      ],
    ],
  ],
])('%s, from %s', (page, source, figures) => {
  test.each(figures)('%s', async (here, there) => {
    // A line may break anywhere in a paragraph.
    const [pageText, sourceText] = (await Promise.all([textOf(page), textOf(source)])).map((text) =>
      text.replace(/\n */g, ' '),
    );
    expect(pageText).toContain(here);
    expect(sourceText).toContain(there);
  });
});

test('the rotation periods of docs/guide/rotation.md keep to the limit of AES-GCM with random IVs: 2^32 messages per key', async () => {
  const page = (await textOf('docs/guide/rotation.md')).replace(/\n */g, ' ');
  expect(page).toContain('1,650 token sets per second');
  expect(1650 * 30 * 86_400).toBeLessThan(2 ** 32);
  const [, period, perSecond = ''] = /--key-rotation (\d+)` \(4 days\) for ([\d,]+) per second/.exec(page) ?? [];
  expect(Number(period)).toBe(4 * 86_400);
  expect(Number(period) * Number(perSecond.replaceAll(',', ''))).toBeLessThan(2 ** 32);
});

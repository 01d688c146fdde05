/** Figures that a page of the documentation repeats are those of their source. */

import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { root } from '../../build/dist.ts';

const textOf = (page: string): Promise<string> => readFile(root + page, 'utf8');

describe.each<[page: string, source: string, figures: [here: string, there: string][]]>([
  [
    'README.md',
    'bench/README.md',
    [
      ['| script, brotli | 8.0 kB (quoted) | 9.9 kB |', 'brotli | 9,936 / 12,993 bytes; quoted: 8.0 kB'],
      ['| 2.4 s, median (quoted) |', 'quoted: 2.4 s median'],
      ['median 3.8 ms, worst of 28: 9.1 ms', 'in the whole browser | 3.2 / 4.7 / 5.0, 3.8 / 8.3 / 9.1 ms'],
    ],
  ],
  [
    'docs/mapping/index.md',
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

test('the rotation periods of docs/operating/rotation.md keep to the limit of AES-GCM with random IVs: 2^32 messages per key', async () => {
  const page = (await textOf('docs/operating/rotation.md')).replace(/\n */g, ' ');
  expect(page).toContain('1,650 token sets per second');
  expect(1650 * 30 * 86_400).toBeLessThan(2 ** 32);
  const [, period, perSecond = ''] = /--key-rotation (\d+)` \(4 days\) for ([\d,]+) per second/.exec(page) ?? [];
  expect(Number(period)).toBe(4 * 86_400);
  expect(Number(period) * Number(perSecond.replaceAll(',', ''))).toBeLessThan(2 ** 32);
});

/** The picture of "Side by side, recorded" follows from the figures, and the files of the repository are those. */

import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { drawRecorded, type Recorded } from '../../bench/compare/draw.ts';
import { VARIANTS } from '../../build/calls.ts';
import { root } from '../../build/dist.ts';

const RECORDED: Recorded = {
  date: '2026-01-02',
  machine: 'a machine <of two cores>',
  engine: 'Chromium 1',
  clients: [
    { label: 'Tessera', version: '1.2.3' },
    { label: 'another & more', version: '4' },
  ],
  rows: [
    { title: 'Ten tabs', axis: 'requests', unit: '', values: [1, 10] },
    { title: 'Return visit', axis: 'to the token', unit: 'ms', values: [12.345, 6] },
    { title: 'Logout', axis: 'tabs', unit: '', values: [0, null], without: 'has no call for it' },
  ],
};

test('the picture has the scenarios, each value with its unit or why there is none, the versions, and where they were measured', () => {
  const svg = drawRecorded(RECORDED, VARIANTS['light']!);
  for (const text of [
    'Ten tabs',
    'to the token',
    '1',
    '10',
    '12.3 ms',
    '6 ms',
    'has no call for it',
    'another &amp; more',
  ])
    expect(svg).toContain(`>${text}<`);
  expect(svg).toContain('>Less is better. Tessera 1.2.3; another &amp; more 4.<');
  expect(svg).toContain('>2026-01-02; Chromium 1; a machine &lt;of two cores&gt;.<');
});

test('the bars of a scenario are as long as its values', () => {
  const widths = [...drawRecorded(RECORDED, VARIANTS['light']!).matchAll(/<rect [^>]*width="(\d+)"/g)].map(
    ([, width]) => Number(width),
  );
  expect(widths).toEqual([19, 190, 190, 92, 2, 0]);
});

test('without the UID2 JavaScript SDK, the picture says so', () => {
  expect(drawRecorded({ ...RECORDED, missing: 'Not measured: one.' }, VARIANTS['dark']!)).toContain(
    '>Not measured: one.<',
  );
});

test.each(Object.entries(VARIANTS))('docs/compare-%s.svg is what npm run compare draws', async (name, colours) => {
  const recorded = JSON.parse(await readFile(`${root}demo/page/recorded.json`, 'utf8'));
  expect(await readFile(`${root}docs/compare-${name}.svg`, 'utf8')).toBe(drawRecorded(recorded, colours));
});

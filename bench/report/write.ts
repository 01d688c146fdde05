/** Writes what is generated from the results: charts, `bench/results.md`, and the marked block of the documentation. */

import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { root } from '../../build/dist.ts';
import { drawCharts } from './charts.ts';
import type { Results } from './results.ts';
import { peersTable, resultsPage } from './tables.ts';

/** Pages that show the comparison with the peers between two comments. */
export const PAGES = ['docs/benchmarks.md'] as const;
const START = '<!-- npm run bench: peers -->';
const END = '<!-- /npm run bench -->';

/** Return a page with the text between its two comments replaced. Throws if it does not have them. */
export function withBlock(page: string, block: string): string {
  const [from, to] = [page.indexOf(START), page.indexOf(END)];
  if (from < 0 || to < from)
    throw new Error(`report: expected the comments ${START} and ${END} in the page, found none; add them`);
  return `${page.slice(0, from + START.length)}\n${block}\n${page.slice(to)}`;
}

/** Every generated file: path below the repository -> its text. */
export async function reportOf(results: Results): Promise<ReadonlyMap<string, string>> {
  const pages = await Promise.all(
    PAGES.map(async (page) => [page, withBlock(await readFile(root + page, 'utf8'), peersTable(results))] as const),
  );
  const charts = [...drawCharts(results)].map(([file, svg]) => [`bench/charts/${file}`, svg] as const);
  return new Map([...charts, ['bench/results.md', resultsPage(results)], ...pages]);
}

/** Write them; charts of measurements that are gone are removed. */
export async function writeReport(results: Results): Promise<void> {
  const files = await reportOf(results);
  await rm(`${root}bench/charts`, { recursive: true, force: true });
  await mkdir(`${root}bench/charts`, { recursive: true });
  for (const [file, text] of files) await writeFile(root + file, text);
}

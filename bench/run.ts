/**
 * `npm run bench [-- NAME...]`: run every `*.bench.ts` of this folder (or those whose names contain a NAME), one after the
 * other, print one table and write it to `bench/results.md`. Closes with 1 where a limit is passed.
 *
 * A bench exports `measure`, and knows nothing of the others.
 */

import { readdir, writeFile } from 'node:fs/promises';
import { arch, cpus, platform } from 'node:os';

/** One line of the table. */
export interface Measurement {
  /** What was measured, as a reader would say it. */
  readonly what: string;
  readonly ours: number;
  readonly unit: string;
  /** What the same work costs elsewhere. */
  readonly peer?: { readonly name: string; readonly value: number };
  /** `ours` may not be larger. */
  readonly limit?: number;
}

/** A `*.bench.ts` file. */
interface Bench {
  readonly measure: () => Promise<readonly Measurement[]>;
}

const number = (value: number): string => value.toLocaleString('en', { maximumSignificantDigits: 3 });

const line = ({ what, ours, unit, peer, limit }: Measurement): string[] => [
  what,
  `${number(ours)} ${unit}`,
  peer ? `${peer.name}: ${number(peer.value)} ${unit}` : '',
  peer ? `${number(peer.value / ours)} x` : '',
  limit === undefined ? '' : `${number(limit)} ${unit}${ours > limit ? ' PASSED' : ''}`,
];

const table = (rows: readonly string[][]): string => {
  const head = ['measured', 'ours', 'peer', 'peer / ours', 'limit'];
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]!.length)));
  const text = (row: readonly string[]) => `| ${row.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`;
  return [text(head), text(widths.map((width) => '-'.repeat(width))), ...rows.map(text)].join('\n');
};

const wanted = process.argv.slice(2);
const files = (await readdir(import.meta.dirname))
  .filter((file) => file.endsWith('.bench.ts') && (!wanted.length || wanted.some((name) => file.includes(name))))
  .sort();

const measured: Measurement[] = [];
for (const file of files) {
  console.error(`${file} ...`);
  const { measure } = (await import(`./${file}`)) as Bench;
  measured.push(...(await measure()));
}

const machine = `Node ${process.version}, ${platform()} ${arch()}, ${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}`;
const result = table(measured.map(line));
console.log(`${result}\n${machine}`);
if (!wanted.length) {
  await writeFile(`${import.meta.dirname}/results.md`, `# Results of \`npm run bench\`\n\n${machine}\n\n${result}\n`);
}
if (measured.some(({ ours, limit = Number.POSITIVE_INFINITY }) => ours > limit)) process.exitCode = 1;

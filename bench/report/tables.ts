/** The tables: one line for each measurement, and the comparison with the peers that the documentation shows. */

import { figure, type Measurement, misses } from '../measure.ts';
import { peers } from '../peers/list.ts';
import { drawCharts } from './charts.ts';
import type { Results } from './results.ts';

const HEAD = ['measured', 'value', 'limit', '', 'beside'];

const line = (measured: Measurement): string[] => {
  const { what, value, unit, limit, beside = '' } = measured;
  const bound = limit && ('atMost' in limit ? `<= ${figure(limit.atMost)}` : `>= ${figure(limit.atLeast)}`);
  return [what, `${figure(value)} ${unit}`, bound ?? '', limit ? (misses(measured) ? 'MISSED' : 'ok') : '', beside];
};

/** A Markdown table with aligned columns. */
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string => {
  const widths = head.map((title, i) => Math.max(3, title.length, ...rows.map((row) => row[i]!.length)));
  const text = (row: readonly string[]) => `| ${row.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`;
  return [text(head), text(widths.map((width) => '-'.repeat(width))), ...rows.map(text)].join('\n');
};

/** The table of measurements. */
export const tableOf = (measured: readonly Measurement[]): string => table(HEAD, measured.map(line));

/** `bench/results.md`: every bench with its day and machine, and the charts. */
export function resultsPage(results: Results): string {
  const benches = Object.entries(results.benches).map(
    ([name, { date, machine, measured }]) => `## ${name}\n\n${date}; ${machine}\n\n${tableOf(measured)}\n`,
  );
  const charts = [...drawCharts(results).keys()].map((file) => `![${file.replace('.svg', '')}](charts/${file})\n`);
  return ['# Results of `npm run bench`\n', ...benches, '## Charts\n', ...charts].join('\n');
}

/** The figure of a series in a chart; undefined if it was not measured. */
const valueAt = (results: Results, chart: string, series: string, group?: string): number | undefined =>
  Object.values(results.benches)
    .flatMap(({ measured }) => measured)
    .find(({ point }) => point?.chart === chart && point.series === series && (!group || point.group === group))?.value;

/** One row of the comparison: its words, and the cell of a client. */
type Row = readonly [what: string, cell: (results: Results, series: string) => string | undefined];

const one =
  (chart: string, group?: string, text: (value: number) => string = figure) =>
  (results: Results, series: string): string | undefined => {
    const value = valueAt(results, chart, series, group);
    return value === undefined ? undefined : text(value);
  };

const milliseconds = (value: number): string =>
  value >= 1000 ? `${figure(value / 1000)} s` : `${figure(Math.round(value))} ms`;

/** The second cell where there is a first. */
const both =
  (chart: string, groups: readonly [string, string], text: (value: number) => string = figure) =>
  (results: Results, series: string): string | undefined => {
    const cells = groups.map((group) => one(chart, group, text)(results, series));
    return cells.includes(undefined) ? undefined : cells.join(' / ');
  };

/** Names of the groups of CPU speed, as charts and tables have them. */
export const CPU = ['full speed', 'CPU slowed 4 times'] as const;

const ROWS: readonly Row[] = [
  [
    'time to the token of a return visit, in bare reads of IndexedDB: full speed / CPU slowed 4 times',
    both('token-in-hand', CPU),
  ],
  ['main-thread time until the token', both('main-thread', CPU, milliseconds)],
  [
    'refresh delay: median / worst of 8 tabs',
    (results, series) =>
      valueAt(results, 'tabs', series) === undefined
        ? undefined
        : (both('lateness', ['median', 'worst'], milliseconds)(results, series) ?? 'when called'),
  ],
  ['requests to refresh one identity in ten tabs', one('tabs')],
  ['timers per minute in an idle page', one('idle')],
  ['heap of a session at rest', one('heap', undefined, (kib) => `${figure(kib)} KiB`)],
  ['script size (Brotli)', one('size', undefined, (bytes) => `${figure(bytes / 1000)} kB`)],
];

/** The comparison with the peers, as the documentation shows it. */
export function peersTable(results: Results): string {
  const rows = ROWS.map(([what, cell]) => [what, ...peers.map(({ label }) => cell(results, label) ?? '')]);
  const head = `| | ${peers.map(({ label }) => label).join(' | ')} |`;
  const measured = results.benches['peers-token'] ?? Object.values(results.benches)[0];
  const text = [head, `|---|${'---|'.repeat(peers.length)}`, ...rows.map((row) => `| ${row.join(' | ')} |`)];
  return [...text, '', `Measured ${measured?.date ?? 'never'}; ${measured?.machine ?? 'no machine'}.`].join('\n');
}

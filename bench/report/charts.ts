/** The charts: which there are, and the SVG of each from the results. A chart without measured points is left out. */

import { figure } from '../measure.ts';
import { plotBars, plotLines } from './plot.ts';
import type { Origin, Results } from './results.ts';
import { chartFrame } from './svg.ts';

interface ChartOptions {
  /** Name of the file, and `chart` of its points. */
  readonly name: string;
  readonly title: string;
  /** What the values are. */
  readonly axis: string;
  readonly isLogarithmic?: boolean;
  /** A line at this value: the floor, or linear growth. */
  readonly rule?: number;
}

/** Bars: one for each series, in groups. */
export const BARS: readonly ChartOptions[] = [
  {
    name: 'token-in-hand',
    title: 'Time to the token on a return visit',
    axis: 'multiple of a bare IndexedDB read; less is better',
    isLogarithmic: true,
    rule: 1,
  },
  {
    name: 'main-thread',
    title: 'Main-thread time until the token',
    axis: 'ms; less is better',
    isLogarithmic: true,
  },
  {
    name: 'lateness',
    title: 'Delay of the refresh after its due time',
    axis: 'ms, 8 tabs; less is better',
    isLogarithmic: true,
  },
  { name: 'tabs', title: 'Requests to refresh one identity in ten tabs', axis: 'requests; less is better', rule: 1 },
  { name: 'idle', title: 'Timers fired by an idle page', axis: 'per minute; less is better' },
  { name: 'refresh', title: 'Refresh by a call', axis: 'times a bare POST; less is better', rule: 1 },
  { name: 'size', title: 'Script', axis: 'bytes of brotli; less is better' },
];

/** Lines: the amount of work to the right. */
export const LINES: readonly ChartOptions[] = [
  {
    name: 'growth',
    title: 'Cost of one unit as the work grows',
    axis: 'of the cost at the smallest size; 1 is linear growth, less is better',
    rule: 1,
  },
  { name: 'mapping', title: 'Mapping', axis: 'rows per second; more is better', isLogarithmic: true },
  { name: 'mapping-memory', title: 'Memory of a mapping job', axis: 'MB, largest resident size; less is better' },
];

const frameOf = ({ title, axis, isLogarithmic }: ChartOptions) => ({
  title,
  axis: isLogarithmic ? `${axis}; logarithmic scale` : axis,
});
const noteOf = ({ date, machine }: Origin): string => `${date}; ${machine}`;
/** The newest origin: charts of growth may have points of several runs. */
const newest = (origins: readonly Origin[]): Origin => origins.reduce((a, b) => (b.date >= a.date ? b : a));

const bars = (results: Results, chart: ChartOptions): string | undefined => {
  const found = Object.values(results.benches).flatMap((bench) =>
    bench.measured.flatMap(({ point, value, unit }) =>
      point?.chart === chart.name && point.x === undefined ? [{ point, value, unit, bench }] : [],
    ),
  );
  if (!found.length) return undefined;
  const data = found.map(({ point: { series, group = '', text }, value, unit }) => ({
    series,
    group,
    value,
    text: text ?? `${figure(value)}${unit && unit !== 'x' ? ` ${unit}` : ''}`,
  }));
  return chartFrame({
    ...frameOf(chart),
    note: noteOf(newest(found.map(({ bench }) => bench))),
    plot: plotBars(chart, data),
  });
};

const lines = (results: Results, chart: ChartOptions): string | undefined => {
  const found = results.growth.filter((point) => point.chart === chart.name);
  if (!found.length) return undefined;
  const series = [...new Set(found.map((point) => point.series))];
  return chartFrame({ ...frameOf(chart), note: noteOf(newest(found)), series, plot: plotLines(chart, found, series) });
};

/** Draw every chart that has points: file name -> SVG. */
export function drawCharts(results: Results): ReadonlyMap<string, string> {
  const drawn = [
    ...BARS.map((chart) => [chart.name, bars(results, chart)] as const),
    ...LINES.map((chart) => [chart.name, lines(results, chart)] as const),
  ];
  return new Map(drawn.flatMap(([name, svg]) => (svg ? [[`${name}.svg`, svg] as const] : [])));
}

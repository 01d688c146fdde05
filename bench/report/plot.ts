/** The plots inside the frame, drawn by Observable Plot into the document of happy-dom. */

import * as Plot from '@observablehq/plot';
import { Window } from 'happy-dom';
import { figure } from '../measure.ts';
import { seriesColour, WIDTH } from './svg.ts';

/** One bar. */
export interface Bar {
  readonly series: string;
  readonly group: string;
  readonly value: number;
  readonly text: string;
}

/** One point of a line. */
export interface LinePoint {
  readonly series: string;
  readonly x: number;
  readonly value: number;
}

interface Scale {
  readonly isLogarithmic?: boolean;
  readonly rule?: number;
}

/** This project's series, in another colour than the others. */
const OURS = 'Tessera';
const BAR_HEIGHT = 24;
const GROUP_HEIGHT = 26;
const AXIS_HEIGHT = 26;
const LINES_HEIGHT = 260;
const FONT_SIZE = 12;

const draw = (options: Plot.PlotOptions & { readonly height: number }) => {
  const { document } = new Window();
  const svg = Plot.plot({
    ...options,
    document: document as never,
    width: WIDTH,
  });
  // The styles of Plot are for a chart in an HTML page; the frame has its own.
  svg.querySelector('style')?.remove();
  for (const name of ['class', 'style']) svg.removeAttribute(name);
  svg.setAttribute('font-size', `${FONT_SIZE}`);
  return { svg: (svg as unknown as { outerHTML: string }).outerHTML, height: options.height };
};

/** Horizontal bars with their values, one for each series, below the name of their group. */
export function plotBars({ isLogarithmic, rule }: Scale, bars: readonly Bar[]) {
  const groups = [...new Set(bars.map(({ group }) => group))];
  const series = [...new Set(bars.map(({ series }) => series))];
  const groupHeight = groups.some(Boolean) ? GROUP_HEIGHT : 0;
  const values = bars.map(({ value }) => value);
  // A bar on a logarithmic scale starts at a power of ten below the values, at 1 if they are larger.
  const from = isLogarithmic ? Math.min(1, 10 ** Math.floor(Math.log10(Math.max(0.01, Math.min(...values))))) : 0;
  const to = Math.max(...values, rule ?? 0);
  const bar = (some: readonly Bar[], fill: string) =>
    Plot.barX(some, {
      x1: from,
      x2: ({ value }: Bar) => Math.max(value, from),
      y: 'series',
      fy: 'group',
      fill,
      insetTop: 2,
      insetBottom: 2,
    });
  return draw({
    height: groups.length * (groupHeight + series.length * BAR_HEIGHT) + AXIS_HEIGHT,
    marginLeft: 170,
    marginRight: 120,
    marginTop: groupHeight,
    marginBottom: AXIS_HEIGHT,
    x: { type: isLogarithmic ? 'log' : 'linear', domain: [from, to], label: null, ticks: 5, tickFormat: figure },
    y: { domain: series, label: null, tickSize: 0 },
    fy: { domain: groups, axis: null, label: null, padding: groups.length > 1 ? 0.15 : 0 },
    marks: [
      bar(
        bars.filter((one) => one.series !== OURS),
        'var(--others)',
      ),
      bar(
        bars.filter((one) => one.series === OURS),
        'var(--ours)',
      ),
      Plot.text(bars, {
        x: ({ value }: Bar) => Math.max(value, from),
        y: 'series',
        fy: 'group',
        text: 'text',
        dx: 5,
        textAnchor: 'start',
      }),
      Plot.text(groups, {
        fy: (group: string) => group,
        text: (group: string) => group,
        frameAnchor: 'top-left',
        dy: -14,
        dx: -156,
        fontWeight: 600,
      }),
      ...(rule === undefined
        ? []
        : [Plot.ruleX([rule], { stroke: 'currentColor', strokeDasharray: '4,3', strokeOpacity: 0.6 })]),
    ],
  });
}

/** Lines over a logarithmic amount of work, with the value at each point. */
export function plotLines({ isLogarithmic, rule }: Scale, points: readonly LinePoint[], series: readonly string[]) {
  const values = points.map(({ value }) => value);
  const domain = isLogarithmic
    ? [10 ** Math.floor(Math.log10(Math.min(...values))), 10 ** Math.ceil(Math.log10(Math.max(...values)))]
    : [0, Math.max(...values, rule ?? 0) * 1.15];
  const powers = [...Array(12).keys()]
    .map((power) => 10 ** power)
    .filter((one) => one >= domain[0]! && one <= domain[1]!);
  return draw({
    height: LINES_HEIGHT,
    marginLeft: 80,
    insetLeft: 30,
    marginRight: 50,
    marginTop: 16,
    marginBottom: 40,
    x: { type: 'log', label: null, ticks: [...new Set(points.map(({ x }) => x))] as never, tickFormat: figure },
    y: {
      type: isLogarithmic ? 'log' : 'linear',
      domain,
      label: null,
      ticks: isLogarithmic ? powers : 5,
      tickFormat: figure,
      grid: true,
    },
    marks: [
      ...(rule === undefined
        ? []
        : [Plot.ruleY([rule], { stroke: 'currentColor', strokeDasharray: '4,3', strokeOpacity: 0.6 })]),
      ...series.flatMap((name, index) => {
        const own = points.filter((point) => point.series === name);
        const colour = seriesColour(index);
        return [
          Plot.lineY(own, { x: 'x', y: 'value', stroke: colour, strokeWidth: 2 }),
          Plot.dot(own, { x: 'x', y: 'value', fill: colour, r: 3.5 }),
          // All lines start at the rule: their texts there would cover one another.
          Plot.text(
            own.filter(({ value }) => value !== rule),
            {
              x: 'x',
              y: 'value',
              text: ({ value }: LinePoint) => figure(value),
              dy: index % 2 ? 12 : -10,
              fill: colour,
            },
          ),
        ];
      }),
    ],
  });
}

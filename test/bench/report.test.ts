/** The figures of the benchmarks: charts and tables follow from the results, and the files of the repository are those. */

import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { type Origin, type Results, readResults, withBench } from '../../bench/report/results.ts';
import { root } from '../../build/dist.ts';
import { install } from '../../build/packages.ts';

await install('bench');
/** These import Observable Plot. */
const { BARS, drawCharts, LINES } = await import('../../bench/report/charts.ts');
const { CPU, peersTable, resultsPage } = await import('../../bench/report/tables.ts');
const { reportOf, withBlock } = await import('../../bench/report/write.ts');

const NONE: Results = { benches: {}, growth: [] };
const FROM: Origin = { date: '2026-01-02', machine: 'a machine <of two cores>' };
const tabs = (series: string, value: number) => ({
  what: `requests, ${series}`,
  value,
  unit: '',
  point: { chart: 'tabs', series },
});
const growth = (x: number, value: number, series = 'rows') => ({
  what: `growth at ${x}`,
  value,
  unit: 'x',
  point: { chart: 'growth', series, x },
});

describe('a chart', () => {
  test('of bars shows title, axis, each series with its value, and the source of the figures', () => {
    const results = withBench(NONE, 'peers-tabs', FROM, [tabs('Tessera', 1), tabs('a <peer> & more', 10)]);
    const svg = drawCharts(results).get('tabs.svg')!;
    expect(svg).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
    for (const label of [
      '>Requests to refresh one identity in ten tabs<',
      '>requests; less is better<',
      '>Tessera<',
      '>a &lt;peer&gt; &amp; more<',
      '>1<',
      '>10<',
      '>2026-01-02; a machine &lt;of two cores&gt;<',
    ])
      expect(svg).toContain(label);
  });

  test('of bars has the name of each group, and the text of a point in place of its value', () => {
    const measured = CPU.map((group, index) => ({
      what: 'token',
      value: index + 1.5,
      unit: '',
      point: { chart: 'token-in-hand', series: 'Tessera', group, text: `${index + 1.5} (20 ms)` },
    }));
    const svg = drawCharts(withBench(NONE, 'peers-token', FROM, measured)).get('token-in-hand.svg')!;
    for (const label of [...CPU, '1.5 (20 ms)', '2.5 (20 ms)']) expect(svg).toContain(`>${label}<`);
  });

  test('of lines has a legend and the value at each size', () => {
    const results = withBench(NONE, 'growth', FROM, [growth(1, 1), growth(10, 0.75), growth(10, 1.25, 'refreshes')]);
    const svg = drawCharts(results).get('growth.svg')!;
    for (const label of ['rows', 'refreshes', '0.75', '1.25']) expect(svg).toContain(`>${label}<`);
  });

  test('has its own background, and colours for light and dark pages', () => {
    const svg = drawCharts(withBench(NONE, 'peers-tabs', FROM, [tabs('Tessera', 1)])).get('tabs.svg')!;
    expect(svg).toContain('prefers-color-scheme: dark');
    expect(svg).toContain('fill="var(--ground)"');
  });

  test('without points is not drawn', () => {
    expect([...drawCharts(withBench(NONE, 'peers-tabs', FROM, [tabs('Tessera', 1)])).keys()]).toEqual(['tabs.svg']);
    expect(drawCharts(NONE).size).toBe(0);
  });
});

describe('the results', () => {
  test('of a bench replace its earlier ones, and those of other benches stay', () => {
    const first = withBench(NONE, 'a', FROM, [tabs('Tessera', 1)]);
    const second = withBench(withBench(first, 'b', FROM, []), 'a', FROM, [tabs('Tessera', 2)]);
    expect(second.benches['a']!.measured.map(({ value }) => value)).toEqual([2]);
    expect(Object.keys(second.benches)).toEqual(['a', 'b']);
  });

  test('keep the growth sizes that a run omits', () => {
    const full = withBench(NONE, 'growth', FROM, [growth(1, 1), growth(10, 1.1), growth(1000, 1.2)]);
    const later = { ...FROM, date: '2026-01-03' };
    const short = withBench(full, 'growth', later, [growth(1, 1), growth(10, 0.9)]);
    expect(short.growth.map(({ x, value, date }) => [x, value, date])).toEqual([
      [1, 1, '2026-01-03'],
      [10, 0.9, '2026-01-03'],
      [1000, 1.2, '2026-01-02'],
    ]);
  });
});

describe('the tables', () => {
  test('report a missed limit', () => {
    const measured = [{ what: 'slow', value: 2, unit: 'ms', limit: { atMost: 1 } }];
    expect(resultsPage(withBench(NONE, 'a', FROM, measured))).toMatch(/\| slow +\| 2 ms +\| <= 1 +\| MISSED \|/);
  });

  test('say that a client without a timer refreshes only when called', () => {
    const results = withBench(NONE, 'peers-tabs', FROM, [tabs('Tessera', 1), tabs('auth0-spa-js', 1)]);
    const timed = withBench(
      results,
      'peers-lateness',
      FROM,
      ['median', 'worst'].map((group, index) => ({
        what: group,
        value: index ? 1234 : 5.4,
        unit: 'ms',
        point: { chart: 'lateness', series: 'Tessera', group },
      })),
    );
    expect(peersTable(timed)).toContain('| refresh delay: median / worst of 8 tabs | 5 ms / 1.23 s |  | when called |');
  });

  test('need their place in a page', () => {
    expect(() => withBlock('a page', 'a table')).toThrow('expected the comments');
    const page = 'a\n<!-- npm run bench: peers -->\nold\n<!-- /npm run bench -->\nb\n';
    expect(withBlock(page, 'new')).toBe(page.replace('old', 'new'));
  });
});

describe('the repository', () => {
  test('has benchmarks whose types are right', async () => {
    const tsc = promisify(execFile)(process.execPath, [`${root}node_modules/typescript/bin/tsc`, '-p', `${root}bench`]);
    const { stdout } = await tsc.catch((failure: { stdout: string }) => failure);
    expect(stdout).toBe('');
  });

  test('has the charts, tables and blocks that follow from bench/results.json', async () => {
    const expected = await reportOf(await readResults());
    // `npm run bench -- --report` writes them.
    for (const [file, text] of expected) expect(await readFile(root + file, 'utf8'), file).toBe(text);
    const charts = [...expected.keys()].filter((file) => file.startsWith('bench/charts/'));
    expect((await readdir(`${root}bench/charts`)).sort()).toEqual(charts.map((file) => file.split('/').at(-1)!).sort());
  });

  test('has a chart for each that is defined', async () => {
    const drawn = [...drawCharts(await readResults()).keys()].sort();
    expect(drawn).toEqual([...BARS, ...LINES].map(({ name }) => `${name}.svg`).sort());
  });
});

/** The frame of a chart: title, legend, note, and the colours of a light and a dark page. Knows nothing of the values. */

/** Width of every chart, px. */
export const WIDTH = 720;
const TITLE_HEIGHT = 56;
/** From the axis text to the first line of the legend, px. */
const LEGEND_GAP = 8;
const LEGEND_LINE = 18;
const NOTE_HEIGHT = 28;

/** Colours of series in a chart of lines, as CSS variables: the light page, the dark page. */
const SERIES_COLOURS: readonly (readonly [light: string, dark: string])[] = [
  ['#0969da', '#58a6ff'],
  ['#bc4c00', '#f0883e'],
  ['#1a7f37', '#56d364'],
  ['#8250df', '#bc8cff'],
  ['#cf222e', '#ff7b72'],
  ['#6e7781', '#b1bac4'],
];

/** The CSS colour of the series at an index. */
export const seriesColour = (index: number): string => `var(--series-${index % SERIES_COLOURS.length})`;

const variables = (which: 0 | 1): string =>
  SERIES_COLOURS.map((colours, index) => `--series-${index}: ${colours[which]};`).join(' ');

/**
 * An SVG that an `<img>` shows reads `prefers-color-scheme`, but not the theme of the page: the ground is opaque, so that the
 * text has its contrast on any page.
 */
const STYLE = `
  svg { color: #1f2328; --ground: #ffffff; --ours: #0969da; --others: #8c959f; ${variables(0)} }
  @media (prefers-color-scheme: dark) {
    svg { color: #e6edf3; --ground: #0d1117; --ours: #58a6ff; --others: #6e7681; ${variables(1)} }
  }`;

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

export interface Frame {
  readonly title: string;
  readonly axis: string;
  readonly note: string;
  /** Names of the lines, for a legend. */
  readonly series?: readonly string[];
  readonly plot: { readonly svg: string; readonly height: number };
}

/** Put a plot into its frame. Returns an SVG document. */
export function chartFrame({ title, axis, note, series = [], plot }: Frame): string {
  const top = TITLE_HEIGHT + (series.length ? LEGEND_GAP + series.length * LEGEND_LINE : 0);
  const baseline = (index: number): number => TITLE_HEIGHT + LEGEND_GAP + index * LEGEND_LINE;
  const height = top + plot.height + NOTE_HEIGHT;
  const legend = series.map(
    (name, index) =>
      `<circle cx="20" cy="${baseline(index) - 4}" r="5" fill="${seriesColour(index)}"/>` +
      `<text x="32" y="${baseline(index)}" font-size="12">${escapeXml(name)}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" fill="currentColor" role="img">
<title>${escapeXml(`${title}: ${axis}`)}</title>
<style>${STYLE}
</style>
<rect width="${WIDTH}" height="${height}" rx="6" fill="var(--ground)"/>
<text x="14" y="24" font-size="16" font-weight="600">${escapeXml(title)}</text>
<text x="14" y="42" font-size="12">${escapeXml(axis)}</text>
${legend.join('\n')}
<g transform="translate(0,${top})">${plot.svg}</g>
<text x="14" y="${height - 10}" font-size="11" opacity="0.8">${escapeXml(note)}</text>
</svg>
`;
}

/** The picture of "Side by side, recorded", from its figures. */

import type { Colours } from '../../build/calls.ts';
import { figure } from '../measure.ts';

/** What `npm run compare` has measured: `demo/page/recorded.json`. */
export interface Recorded {
  /** `YYYY-MM-DD`. */
  readonly date: string;
  /** Node, platform, cores, and the load at the start. */
  readonly machine: string;
  /** Name and version of the browser. */
  readonly engine: string;
  /** The clients that took part, and in their order the values of each row. */
  readonly clients: readonly { readonly label: string; readonly version: string }[];
  /** Why the UID2 JavaScript SDK is not among them. */
  readonly missing?: string;
  readonly rows: readonly Row[];
}

/** One scenario. */
export interface Row {
  readonly title: string;
  /** What the values are. Less is better. */
  readonly axis: string;
  readonly unit: string;
  /** null: the client cannot take part, as `without` says. */
  readonly values: readonly (number | null)[];
  readonly without?: string;
}

const COLUMN = 420;
const LINE = 22;
const [BAR_AT, BAR_WIDTH] = [148, 190];

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** A value with its unit, or why there is none. */
export const valueText = ({ unit, without }: Row, value: number | null): string =>
  value === null ? (without ?? 'not measured') : `${figure(value)}${unit && ` ${unit}`}`;

const drawRow = (row: Row, { clients }: Recorded, { ink, quiet, line, accent }: Colours): string => {
  const most = Math.max(1, ...row.values.map((value) => value ?? 0));
  const bars = clients.map(({ label }, index) => {
    const y = 58 + index * LINE;
    const value = row.values[index] ?? null;
    const width = value === null ? 0 : Math.max(2, (BAR_WIDTH * value) / most);
    const textAt = BAR_AT + (value === null ? 0 : Math.round(width) + 6);
    return `<text x="0" y="${y}" fill="${ink}">${escapeXml(label)}</text>
  <rect x="${BAR_AT}" y="${y - 11}" width="${Math.round(width)}" height="14" fill="${index ? line : accent}"/>
  <text x="${textAt}" y="${y}" fill="${value === null ? quiet : ink}">${escapeXml(valueText(row, value))}</text>`;
  });
  return `<text x="0" y="14" font-size="15" font-weight="600" fill="${ink}">${escapeXml(row.title)}</text>
  <text x="0" y="33" fill="${quiet}">${escapeXml(row.axis)}</text>
  ${bars.join('\n  ')}`;
};

/** Draw the figures in two columns. Returns an SVG document. */
export function drawRecorded(recorded: Recorded, colours: Colours): string {
  const { date, machine, engine, clients, missing, rows } = recorded;
  const rowHeight = 58 + clients.length * LINE + 14;
  const height = Math.ceil(rows.length / 2) * rowHeight + (missing ? 64 : 44);
  const versions = clients.map(({ label, version }) => `${label} ${version}`);
  const notes = [
    `Less is better. ${versions.join('; ')}.`,
    ...(missing ? [missing] : []),
    `${date}; ${engine}; ${machine}.`,
  ];
  const cells = rows.map(
    (row, index) =>
      `<g transform="translate(${(index % 2) * COLUMN} ${Math.floor(index / 2) * rowHeight})">${drawRow(row, recorded, colours)}</g>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${2 * COLUMN} ${height}" width="${2 * COLUMN}" height="${height}" role="img" font-family="system-ui, sans-serif" font-size="13">
  <title>Side by side, recorded</title>
  ${cells.join('\n  ')}
  ${notes.map((text, index) => `<text x="0" y="${height - 10 - 20 * (notes.length - 1 - index)}" font-size="12" fill="${colours.quiet}">${escapeXml(text)}</text>`).join('\n  ')}
</svg>
`;
}

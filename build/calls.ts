/**
 * The picture of who calls whom, in the README and on the first page of the documentation: as SVG, once for light pages and once for
 * dark ones. `npm run picture` writes both.
 */

/** The colours of a picture. */
export interface Colours {
  readonly ink: string;
  readonly quiet: string;
  readonly line: string;
  readonly sheet: string;
  readonly accent: string;
}

/** Name of a variant, as in the name of its file -> its colours. */
export const VARIANTS: Readonly<Record<string, Colours>> = {
  light: { ink: '#1c1e21', quiet: '#4b5260', line: '#b8bec8', sheet: '#ffffff', accent: '#0f5f66' },
  dark: { ink: '#e9e7e2', quiet: '#b6bcc8', line: '#5a606b', sheet: '#1b1d21', accent: '#74cfd3' },
};

/** What a reader who does not see the picture reads. */
const DESCRIPTION =
  'The page asks your server for the first token set with POST /token. Your server, which has the API key, gets it from the operator with generate. The page then refreshes it at the operator, once for all tabs, and passes each token to bidders.';

const box = (x: number, y: number, title: string, text: string, { ink, quiet, line, sheet }: Colours): string =>
  `<rect x="${x}" y="${y}" width="172" height="72" rx="10" fill="${sheet}" stroke="${line}"/>
  <text x="${x + 86}" y="${y + 31}" text-anchor="middle" font-weight="600" fill="${ink}">${title}</text>
  <text x="${x + 86}" y="${y + 53}" text-anchor="middle" font-size="13" fill="${quiet}">${text}</text>`;

const call = (path: string, { accent }: Colours): string =>
  `<path d="${path}" fill="none" stroke="${accent}" stroke-width="2" marker-end="url(#head)"/>`;

const label = (x: number, y: number, name: string, texts: readonly string[], { ink, quiet }: Colours): string =>
  [
    `<text x="${x}" y="${y}" font-weight="600" fill="${ink}">${name}</text>`,
    ...texts.map(
      (text, row) => `<text x="${x}" y="${y + 19 * (row + 1)}" font-size="13" fill="${quiet}">${text}</text>`,
    ),
  ].join('\n  ');

/** Draw the picture. */
export function drawCalls(colours: Colours): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 480 330" width="480" height="330" role="img" font-family="system-ui, sans-serif" font-size="15">
  <title>Who calls whom</title>
  <desc>${DESCRIPTION}</desc>
  <defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="${colours.accent}"/></marker></defs>
  ${box(1, 1, 'Page', 'Tessera, in every tab', colours)}
  ${box(307, 1, 'Bidders', 'Prebid, Secure Signals', colours)}
  ${box(1, 257, 'Your server', 'tokenHandler, API key', colours)}
  ${box(307, 257, 'Operator', 'issues the tokens', colours)}
  ${call('M174 37H304', colours)}
  ${call('M28 74V254', colours)}
  ${call('M174 293H304', colours)}
  ${call('M150 74L350 254', colours)}
  ${label(218, 26, 'token', [], colours)}
  ${label(42, 122, '1 POST /token', ['for the user who', 'is signed in'], colours)}
  ${label(194, 282, '2 generate', [], colours)}
  ${label(276, 122, '3 refresh', ['when it is due,', 'one for all tabs'], colours)}
</svg>
`;
}

/** The oldest browsers that are supported, as README.md names them. */

import { readFileSync } from 'node:fs';
import { root } from '../../build/dist.ts';

const NAMED = /Browsers: Chrome and Edge (\d+), Firefox (\d+), Safari ([\d.]+), and newer/;

const [, chrome, firefox, safari] = NAMED.exec(readFileSync(`${root}README.md`, 'utf8'))!;

/** As esbuild names them: `chrome1`. */
export const OLDEST = { chrome: `chrome${chrome}`, firefox: `firefox${firefox}`, safari: `safari${safari}` };

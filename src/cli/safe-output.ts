/**
 * Keeps control characters out of the output: what a service or a file contains must not move the cursor, hide text or
 * reverse its direction on the terminal of whoever reads it.
 */

import { escapeControls } from '../token/checks.ts';
import type { Io } from './io.ts';
import { coloursOf } from './style.ts';

// The line breaks and tabs of indented JSON, help texts and CSV.
const KEPT = '\n\t';

// The colours of `style.ts`: bold, dim, six colours, and their ends. They change neither text nor position.
const COLOUR = new RegExp(`(${String.fromCharCode(27)}\\[(?:[12]|22|3[1-6]|39)m)`);

/** Escape the control characters of a line, but for colours where they are on. */
const safe = (line: string, hasColours: boolean): string =>
  hasColours
    ? line
        .split(COLOUR)
        .map((part) => (COLOUR.test(part) ? part : escapeControls(part, KEPT)))
        .join('')
    : escapeControls(line, KEPT);

/** Wrap an `Io` so that its output contains no control character but line breaks, tabs, and colours where they are on. */
export function withSafeOutput(io: Io): Io {
  const hasColours = (stream: 'out' | 'err') => coloursOf(io, stream).isColorSupported;
  return {
    ...io,
    out: (line) => io.out(safe(line, hasColours('out'))),
    err: (line) => io.err(safe(line, hasColours('err'))),
  };
}

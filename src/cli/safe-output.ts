/**
 * Keeps control characters out of the output: text from a service or a file must not move the cursor, hide text or reverse its
 * direction on the reader's terminal.
 */

import { escapeControls } from '../token/checks.ts';
import type { Io } from './io.ts';
import { coloursOf } from './style.ts';

// The line breaks and tabs of indented JSON, help texts and CSV.
const KEPT = '\n\t';

// The colours of `style.ts`: bold, dim, six colours, and their end codes. They change neither text nor position.
const COLOUR = new RegExp(`(${String.fromCharCode(27)}\\[(?:[12]|22|3[1-6]|39)m)`);

/** Escape the control characters of a line, except for colours if they are enabled. */
const safe = (line: string, hasColours: boolean): string =>
  hasColours
    ? line
        .split(COLOUR)
        .map((part) => (COLOUR.test(part) ? part : escapeControls(part, KEPT)))
        .join('')
    : escapeControls(line, KEPT);

/** Wrap an `Io` so that its output contains no control characters except line breaks, tabs, and colours if they are enabled. */
export function withSafeOutput(io: Io): Io {
  const hasColours = (stream: 'out' | 'err') => coloursOf(io, stream).isColorSupported;
  return {
    ...io,
    out: (line) => io.out(safe(line, hasColours('out'))),
    err: (line) => io.err(safe(line, hasColours('err'))),
  };
}

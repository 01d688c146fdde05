/**
 * Keeps control characters out of the output: what a service or a file contains must not move the cursor, hide text or
 * reverse its direction on the terminal of whoever reads it.
 */

import { escapeControls } from '../token/checks.ts';
import type { Io } from './io.ts';

// The line breaks and tabs of indented JSON, help texts and CSV.
const KEPT = '\n\t';

/** Wrap an `Io` so that its output contains no control character but line breaks and tabs. */
export function withSafeOutput(io: Io): Io {
  return {
    ...io,
    out: (line) => io.out(escapeControls(line, KEPT)),
    err: (line) => io.err(escapeControls(line, KEPT)),
  };
}

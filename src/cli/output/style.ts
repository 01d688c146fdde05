/// <reference types="node" />
/**
 * Text on a terminal: colours, aligned tables, and no control characters. Colours are off for pipes and files, with `NO_COLOR`
 * (any non-empty value) and with `TERM=dumb`; they are on with `FORCE_COLOR`.
 */

import picocolors from 'picocolors';
import { escapeControls } from '../../token/checks.ts';
import type { Io } from '../io.ts';

/** The colours of one stream. If colours are off, the functions return their input. */
export type Colours = ReturnType<typeof picocolors.createColors>;

export function coloursOf({ env, terminal, outIsTerminal }: Io, stream: 'out' | 'err'): Colours {
  const isTerminal = stream === 'err' ? terminal !== undefined : outIsTerminal === true;
  const isForced = Boolean(env.FORCE_COLOR) && env.FORCE_COLOR !== '0';
  const isOn = !env.NO_COLOR && (isForced || (isTerminal && env.TERM !== 'dumb'));
  return picocolors.createColors(isOn);
}

const LEADS = { error: 'red', warning: 'yellow', hint: 'cyan' } as const;

export function lead(word: keyof typeof LEADS, io: Io): string {
  const colours = coloursOf(io, 'err');
  return colours.bold(colours[LEADS[word]](`${word}:`));
}

export function warn(text: string, io: Io): void {
  io.err(`${lead('warning', io)} ${text}`);
}

/** @example listed([['phase', 'fresh'], ['expires', 'in 4 min']]) // ['phase    fresh', 'expires  in 4 min'] */
export function listed(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => rows.reduce((most, row) => Math.max(most, row[column]!.length), 0));
  return rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(at < row.length - 1 ? widths[at]! : 0))
      .join('  ')
      .trimEnd(),
  );
}

/** The line breaks and tabs of indented JSON, help texts and CSV. */
const KEPT = '\n\t';

/** The colours of this command: bold, dim, six colours, and their end codes. They change neither text nor position. */
const COLOUR = new RegExp(`(${String.fromCharCode(27)}\\[(?:[12]|22|3[1-6]|39)m)`);

/** Escape the control characters of a line, except for colours if they are enabled. */
function safe(line: string, hasColours: boolean): string {
  return hasColours
    ? line
        .split(COLOUR)
        .map((part) => (COLOUR.test(part) ? part : escapeControls(part, KEPT)))
        .join('')
    : escapeControls(line, KEPT);
}

/**
 * Line breaks, tabs, and colours if they are enabled, pass. Other control characters, of a service or a file, must not move the
 * cursor, hide text or reverse its direction on the reader's terminal.
 */
export function withSafeOutput(io: Io): Io {
  const hasColours = (stream: 'out' | 'err') => coloursOf(io, stream).isColorSupported;
  return {
    ...io,
    out: (line) => io.out(safe(line, hasColours('out'))),
    err: (line) => io.err(safe(line, hasColours('err'))),
  };
}

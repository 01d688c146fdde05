/// <reference types="node" />
/**
 * Colours and aligned tables for a terminal. Colours are off for pipes and files, with `NO_COLOR` (any non-empty value) and with
 * `TERM=dumb`; they are on with `FORCE_COLOR`.
 */

import picocolors from 'picocolors';
import type { Io } from './io.ts';

/** The colours of one stream. If colours are off, the functions return their input. */
export type Colours = ReturnType<typeof picocolors.createColors>;

/** The colours of standard output or standard error. */
export function coloursOf({ env, terminal, outIsTerminal }: Io, stream: 'out' | 'err'): Colours {
  const isTerminal = stream === 'err' ? terminal !== undefined : outIsTerminal === true;
  const isForced = Boolean(env.FORCE_COLOR) && env.FORCE_COLOR !== '0';
  const isOn = !env.NO_COLOR && (isForced || (isTerminal && env.TERM !== 'dumb'));
  return picocolors.createColors(isOn);
}

/**
 * Align rows of names and values: names to the left, values to the right.
 *
 * @example aligned([['mapped', '12'], ['opted out', '3']]) // ['mapped     12', 'opted out   3']
 */
export function aligned(rows: readonly (readonly [name: string, value: string])[]): string[] {
  const nameWidth = Math.max(...rows.map(([name]) => name.length));
  const valueWidth = Math.max(...rows.map(([, value]) => value.length));
  return rows.map(([name, value]) => `${name.padEnd(nameWidth)}  ${value.padStart(valueWidth)}`);
}

/**
 * Align rows of names and texts, both to the left.
 *
 * @example listed([['phase', 'fresh'], ['expires', 'in 4 min']]) // ['phase    fresh', 'expires  in 4 min']
 */
export function listed(rows: readonly (readonly [name: string, text: string])[]): string[] {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `${name.padEnd(width)}  ${text}`);
}

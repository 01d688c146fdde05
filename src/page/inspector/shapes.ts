/** The shapes of figures, their measures, and the words that all parts of a figure use. Pure. */

import type { Lane } from './entries.ts';

/** Which period is shown. */
export interface View {
  readonly now: number;
  /** Length of the shown time, ms. */
  readonly spanMs: number;
  /** How far the view has been moved into the past, ms. */
  readonly panMs: number;
  /** Width of the figure, CSS px. */
  readonly width: number;
}

/** A rectangle, line, symbol or text; `name` is its CSS class, `title` its tool tip. */
export type Shape =
  | {
      readonly type: 'rect';
      readonly name: string;
      readonly x: number;
      readonly y: number;
      readonly width: number;
      readonly height: number;
      readonly title?: string | undefined;
    }
  | {
      readonly type: 'line';
      readonly name: string;
      readonly x: number;
      readonly y: number;
      readonly toX: number;
      readonly toY: number;
    }
  | { readonly type: 'path'; readonly name: string; readonly d: string; readonly title?: string | undefined }
  | { readonly type: 'text'; readonly name: string; readonly x: number; readonly y: number; readonly text: string };

export interface Figure {
  readonly width: number;
  readonly height: number;
  readonly shapes: readonly Shape[];
}

/** The fraction of the width that lies after now. */
export const FUTURE = 0.3;
export const AXIS = 26;
export const HEAD = 26;
export const LANE = 40;
/** Average width of a character, px; labels have 11 px. */
const CHARACTER = 6.1;

/** Instant, epoch ms -> CSS px from the left edge; at most slightly outside the figure. */
export type Scale = (at: number) => number;

export function widthOf(text: string) {
  return text.length * CHARACTER;
}

/** The time of day, with seconds if ticks are less than a minute apart, and the date if they are a day apart. */
export function timeText(at: number, stepMs: number): string {
  const time = new Date(at);
  const two = (value: number) => String(value).padStart(2, '0');
  if (stepMs >= 86_400_000) return `${two(time.getDate())}.${two(time.getMonth() + 1)}.`;
  const clock = `${two(time.getHours())}:${two(time.getMinutes())}`;
  return stepMs < 60_000 ? `${clock}:${two(time.getSeconds())}` : clock;
}

/** The name of a lane; the first one is this tab's. */
export function nameOf({ tab, label }: Lane, index: number) {
  return label || (index === 0 ? 'This tab' : `Tab ${tab}`);
}

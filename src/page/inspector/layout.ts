/**
 * The layout: converts the lanes of all tabs and a view to shapes with coordinates. Pure: it draws nothing and has no clock.
 *
 * A label that does not fit is omitted, never clipped: the list beside the figure contains every word.
 */

import { CAUSES, type Generation, type Lane } from './entries.ts';
import { laneShapes } from './lane.ts';
import {
  AXIS,
  type Figure,
  FUTURE,
  HEAD,
  LANE,
  nameOf,
  type Scale,
  type Shape,
  timeText,
  type View,
  widthOf,
} from './shapes.ts';

const BAR = 18;
const BAR_GAP = 6;
const MAX_ROWS = 4;
const STEPS_S = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 604_800,
];

/** The first and the last instant that a view shows, epoch ms. */
function rangeOf({ now, spanMs, panMs }: View): { from: number; to: number } {
  const to = now - panMs + spanMs * FUTURE;
  return { from: to - spanMs, to };
}

/** The shapes of a view. The first lane is this tab's. */
export function layOut(lanes: readonly Lane[], view: View): Figure {
  const { from, to } = rangeOf(view);
  const { width, now } = view;
  const x = (at: number) => Math.max(-8, Math.min(width + 8, ((at - from) / (to - from)) * width));
  const shapes: Shape[] = [];
  const bars = barsOf(lanes, from, to);
  const rows = Math.max(1, ...bars.map(({ row }) => row + 1));
  const lanesAt = AXIS + HEAD + rows * (BAR + BAR_GAP) + 4;
  const height = lanesAt + lanes.length * (HEAD + LANE);
  shapes.push(...axisShapes(view, x, height));
  for (const bar of bars) shapes.push(...barShapes(bar, x, now));
  // A veil covers what is planned, but not words.
  shapes.push({ type: 'rect', name: 'future', x: x(now), y: AXIS, width: width + 8 - x(now), height: height - AXIS });
  shapes.push({ type: 'text', name: 'head', x: 0, y: AXIS + 17, text: 'Tokens' });
  lanes.forEach((lane, index) => {
    shapes.push(...laneShapes(lane, index, lanesAt + index * (HEAD + LANE), x, now, width));
  });
  if (now > from && now < to) {
    shapes.push({ type: 'line', name: 'now', x: x(now), y: AXIS, toX: x(now), toY: height });
    shapes.push({ type: 'text', name: 'now-label', x: x(now), y: AXIS - 6, text: 'now' });
  }
  return { width, height, shapes };
}

function axisShapes(view: View, x: Scale, height: number): Shape[] {
  const { from, to } = rangeOf(view);
  const { width, now } = view;
  const shapes: Shape[] = [];
  const fitting = Math.max(2, Math.floor(width / 90));
  const step = 1000 * (STEPS_S.find((seconds) => (to - from) / 1000 / seconds <= fitting) ?? STEPS_S.at(-1)!);
  const zone = new Date(to).getTimezoneOffset() * 60_000;
  for (let at = Math.ceil((from - zone) / step) * step + zone; at < to; at += step) {
    const text = timeText(at, step);
    const left = x(at);
    const half = widthOf(text) / 2;
    shapes.push({ type: 'line', name: 'tick', x: left, y: AXIS, toX: left, toY: height });
    // Not over the word "now".
    if (left + half < width && left > half && Math.abs(left - x(now)) > half + 18)
      shapes.push({ type: 'text', name: 'time', x: left, y: AXIS - 6, text });
  }
  return shapes;
}

interface Bar extends Generation {
  readonly row: number;
  /** Where the set came from, by the name of the tab that brought it. */
  readonly origin: string;
}

/** One bar per generation in all tabs, on the first row that is free when it arrives. */
function barsOf(lanes: readonly Lane[], from: number, to: number): Bar[] {
  const found = new Map<string, Omit<Bar, 'row'>>();
  lanes.forEach((lane, index) => {
    for (const entry of lane.entries) {
      if (entry.kind !== 'generation') continue;
      const known = found.get(entry.key);
      const bar = { ...entry, origin: originOf(entry, index === 0 ? '' : nameOf(lane, index)) };
      found.set(entry.key, known ? merge(known, bar) : bar);
    }
  });
  const freeAt: number[] = [];
  return [...found.values()]
    .sort((one, other) => one.at - other.at)
    .flatMap((generation, index) => {
      let row = freeAt.findIndex((at) => at <= generation.at);
      if (row < 0) row = freeAt.length < MAX_ROWS ? freeAt.length : index % MAX_ROWS;
      freeAt[row] = generation.until === undefined ? Number.POSITIVE_INFINITY : generation.expiresAt;
      return generation.at > to || Math.max(generation.endsAt, generation.at) < from ? [] : [{ ...generation, row }];
    });
}

/** Where a set came from; `tab` is empty for this one. */
function originOf({ cause }: Generation, tab: string): string {
  if (!cause) return 'held before the recording began';
  return cause === 'refresh' && tab ? `refreshed by ${tab}` : CAUSES[cause];
}

/** Merge what tabs recorded about one set: the tab that obtained it knows how, the others only received it. */
function merge<G extends Generation>(one: G, other: G): G {
  const isOwn = (cause: Generation['cause']) => cause !== undefined && cause !== 'tab' && cause !== 'load';
  const [first, second] = isOwn(other.cause) && !isOwn(one.cause) ? [other, one] : [one, other];
  return { ...first, at: Math.min(first.at, second.at), until: first.until ?? second.until };
}

function barShapes(bar: Bar, x: Scale, now: number): Shape[] {
  const y = AXIS + HEAD + bar.row * (BAR + BAR_GAP);
  const end = Math.min(bar.until ?? bar.expiresAt, bar.expiresAt);
  const dueAt = Math.min(Math.max(bar.refreshAt, bar.at), end);
  const title = `${bar.origin}; refresh from ${timeText(bar.refreshAt, 1)}, expires ${timeText(bar.expiresAt, 1)}, refresh token ends ${timeText(bar.endsAt, 1)}`;
  const shapes: Shape[] = [];
  const rect = (name: string, start: number, stop: number) => {
    const left = x(start);
    const right = x(stop);
    if (right > left)
      shapes.push({ type: 'rect', name, x: left, y, width: Math.max(1.5, right - left), height: BAR, title });
  };
  const endsAt = bar.endedAt ?? bar.endsAt;
  const isOver = bar.until !== undefined;
  // The refresh token of a set that was replaced is no longer useful.
  if (!isOver && x(endsAt) > x(end)) {
    shapes.push({ type: 'line', name: 'refreshable', x: x(end), y: y + BAR / 2, toX: x(endsAt), toY: y + BAR / 2 });
    shapes.push({ type: 'line', name: 'ends', x: x(endsAt), y: y + 3, toX: x(endsAt), toY: y + BAR - 3 });
  }
  rect('left-over', end, bar.expiresAt);
  rect('fresh', bar.at, dueAt);
  rect('due', dueAt, end);
  const text = bar.cause ? bar.origin : '';
  const left = Math.max(0, x(bar.at));
  if (text && widthOf(text) + 12 < Math.min(x(dueAt), x(Math.max(now, bar.at))) - left)
    shapes.push({ type: 'text', name: 'on-bar', x: left + 6, y: y + 13, text });
  return shapes;
}

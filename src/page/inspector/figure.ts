/** The figure: lanes to shapes with coordinates. A label that does not fit is omitted: the list beside the figure has every word. */

import type { Entry, Lane } from './entries.ts';
import { nameOf, timeText } from './text.ts';

/** An SVG element; `name` is its CSS class. */
export interface Shape {
  readonly tag: 'rect' | 'line' | 'path' | 'text';
  readonly name: string;
  readonly attributes: Readonly<Record<string, number | string>>;
  readonly text?: string | undefined;
}

/** The fraction of the width that lies after now. */
const FUTURE = 0.3;
/** Heights, px. */
const AXIS = 26;
const HEAD = 26;
const BAR = 18;
const LANE = HEAD + BAR + 42;
/** Average width of a character, px; labels have 11 px. */
const CHARACTER = 6.1;
const DAY = 86_400;
/** Between ticks, s. */
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, DAY, 7 * DAY];

/** Instant, epoch ms -> CSS px from the left edge; at most slightly outside the figure. */
type Scale = (at: number) => number;

function widthOf(text: string) {
  return text.length * CHARACTER;
}

function line(name: string, x1: number, y1: number, x2: number, y2: number): Shape {
  return { tag: 'line', name, attributes: { x1, y1, x2, y2 } };
}

function word(name: string, x: number, y: number, text: string): Shape {
  return { tag: 'text', name, attributes: { x, y }, text };
}

export function bar(name: string, from: number, to: number, y: number, height: number): Shape[] {
  const width = Math.max(1.5, to - from);
  return to > from ? [{ tag: 'rect', name, attributes: { x: from, y, width, height, rx: 3 } }] : [];
}

const SYMBOLS = {
  answered: 'M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z',
  none: 'M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z',
  failed: 'M-5 -5l10 10m0 -10l-10 10',
  planned: 'M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z',
  event: 'M0 -7l7 7l-7 7l-7 -7z',
};

export function symbol(name: keyof typeof SYMBOLS, x: number, y: number): Shape {
  return { tag: 'path', name, attributes: { d: SYMBOLS[name], transform: `translate(${x} ${y})` } };
}

/** The refresh token of the set in force, from the expiry of the advertising token to its own end. */
export function refreshToken(from: number, to: number, y: number): Shape[] {
  return to > from ? [line('refreshable', from, y, to, y), line('ends', to, y - 6, to, y + 6)] : [];
}

export function layOut(lanes: readonly Lane[], now: number, spanMs: number, width: number) {
  const from = now - spanMs * (1 - FUTURE);
  const x = (at: number) => Math.max(-8, Math.min(width + 8, ((at - from) / spanMs) * width));
  const height = AXIS + lanes.length * LANE;
  const topOf = (index: number) => AXIS + index * LANE;
  const shapes = [
    ...axisShapes(from, spanMs, x, width, height),
    ...lanes.flatMap(({ entries }, index) =>
      entries.flatMap((entry) => tokenShapes(entry, topOf(index) + HEAD, x, now)),
    ),
    // Drawn over the tokens that are planned, but below all words.
    ...bar('future', x(now), width + 8, AXIS, height),
    line('now', x(now), AXIS, x(now), height),
    ...lanes.flatMap((lane, index) => laneShapes(lane, index, topOf(index), x, now, width)),
    word('now-label', x(now), AXIS - 6, 'now'),
  ];
  return { height, shapes };
}

function axisShapes(from: number, spanMs: number, x: Scale, width: number, height: number): Shape[] {
  const shapes: Shape[] = [];
  const to = from + spanMs;
  const fitting = Math.max(2, Math.floor(width / 90));
  const step = 1000 * (STEPS.find((seconds) => spanMs / 1000 / seconds <= fitting) ?? 7 * DAY);
  const zone = new Date(to).getTimezoneOffset() * 60_000;
  for (let at = Math.ceil((from - zone) / step) * step + zone; at < to; at += step) {
    const text = timeText(at, step);
    const half = widthOf(text) / 2;
    shapes.push(line('tick', x(at), AXIS, x(at), height));
    const isOverNow = Math.abs(x(at) - width * (1 - FUTURE)) < half + 18;
    if (x(at) + half < width && x(at) > half && !isOverNow) shapes.push(word('time', x(at), AXIS - 6, text));
  }
  return shapes;
}

/** A bar from the instant at which the tab had the set to its end, and the refresh token. */
function tokenShapes(entry: Entry, y: number, x: Scale, now: number): Shape[] {
  if (entry.kind !== 'token') return [];
  const { at, until, label = '', refreshAt = at, expiresAt = at, endsAt = at } = entry;
  const end = Math.min(until ?? expiresAt, expiresAt);
  const dueAt = Math.min(Math.max(refreshAt, at), end);
  const shapes = [...bar('fresh', x(at), x(dueAt), y, BAR), ...bar('due', x(dueAt), x(end), y, BAR)];
  // The refresh token of a set that was replaced is no longer useful.
  if (until === undefined) shapes.push(...refreshToken(x(end), x(endsAt), y + BAR / 2));
  const left = Math.max(0, x(at));
  if (label && widthOf(label) + 12 < Math.min(x(dueAt), x(now)) - left)
    shapes.push(word('on-bar', left + 6, y + 13, label));
  return shapes;
}

function laneShapes(lane: Lane, index: number, top: number, x: Scale, now: number, width: number): Shape[] {
  const middle = top + HEAD + BAR + 13;
  const head = [`${nameOf(lane, index)}: ${lane.status}`, nameOf(lane, index)].find((text) => widthOf(text) < width);
  return [
    line('rule', 0, top + 2, width, top + 2),
    ...(head ? [word('head', 0, top + 19, head)] : []),
    ...lane.entries.filter(({ kind }) => kind === 'wait').flatMap((entry) => waitShapes(entry, middle, x, now)),
    ...lane.entries.flatMap((entry) => symbolShapes(entry, middle, x, now)),
    ...labelShapes(lane.entries, middle + 21, x, now, width),
  ];
}

/** Waits that are part of normal operation are drawn only as their planned end. */
function waitShapes({ at, until, plannedAt, label }: Entry, middle: number, x: Scale, now: number): Shape[] {
  const shapes = label ? bar('wait', x(at), x(until ?? plannedAt ?? now), middle - 2, 4) : [];
  if (until === undefined && plannedAt !== undefined && plannedAt > now)
    shapes.push(symbol('planned', x(plannedAt), middle));
  return shapes;
}

/** An attempt has its symbol at its end, and its latency as its length. */
function symbolShapes({ kind, at, until, result }: Entry, middle: number, x: Scale, now: number): Shape[] {
  if (kind === 'event') return [symbol('event', x(at), middle)];
  if (kind !== 'attempt') return [];
  const end = x(until ?? now);
  const latency = end - x(at) > 2 ? bar('latency', x(at), end, middle - 3, 6) : [];
  return result ? [...latency, symbol(result, end, middle)] : latency;
}

/** Label attempts and events, the newest first, and the waits that are long enough. */
function labelShapes(entries: readonly Entry[], y: number, x: Scale, now: number, width: number): Shape[] {
  const taken: [centre: number, half: number][] = [];
  return entries.toReversed().flatMap(({ kind, at, until, plannedAt = now, label = '', result }) => {
    const half = widthOf(label) / 2;
    const start = Math.max(0, x(at));
    const end = x(until ?? plannedAt);
    const isWait = kind === 'wait';
    if (!label || kind === 'token' || (isWait && end - start < 2 * half)) return [];
    const point = isWait ? (start + end) / 2 : x(until ?? at);
    const centre = Math.max(half, Math.min(point, width - half));
    if (point < 0 || point > width || taken.some(([other, size]) => Math.abs(other - centre) < half + size + 6))
      return [];
    taken.push([centre, half]);
    const name = kind === 'event' ? 'label strong' : result === 'failed' ? 'label bad' : 'label';
    return [word(name, centre, y, label)];
  });
}

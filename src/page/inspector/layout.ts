/**
 * The layout: from the lanes of all tabs and a view to shapes with coordinates. Pure: it draws nothing and has no clock.
 *
 * A label that does not fit is left out, never clipped: the list beside the figure has every word.
 */

import { type Attempt, CAUSES, type Generation, type Lane, MARKS, type Wait } from './entries.ts';

/** What part of the time is shown. */
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
  | {
      readonly type: 'text';
      readonly name: string;
      readonly x: number;
      readonly y: number;
      readonly text: string;
      readonly end?: boolean;
    };

export interface Figure {
  readonly width: number;
  readonly height: number;
  readonly shapes: readonly Shape[];
}

/** Part of the width that lies after now. */
const FUTURE = 0.3;
const AXIS = 26;
const BAR = 18;
const BAR_GAP = 6;
const MAX_ROWS = 4;
const HEAD = 26;
const LANE = 40;
/** Average width of a character, px; labels have 11 px. */
const CHARACTER = 6.1;
const STEPS_S = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 604_800,
];

/** The first and the last instant that a view shows, epoch ms. */
export function rangeOf({ now, spanMs, panMs }: View): { from: number; to: number } {
  const to = now - panMs + spanMs * FUTURE;
  return { from: to - spanMs, to };
}

const widthOf = (text: string) => text.length * CHARACTER;

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
  // What is planned lies under a veil; words do not.
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

type Scale = (at: number) => number;

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
    // Not where the word "now" stands.
    if (left + half < width && left > half && Math.abs(left - x(now)) > half + 18)
      shapes.push({ type: 'text', name: 'time', x: left, y: AXIS - 6, text });
  }
  return shapes;
}

/** The time of day, with seconds where ticks are less than a minute apart, and the date where they are a day apart. */
export function timeText(at: number, stepMs: number): string {
  const time = new Date(at);
  const two = (value: number) => String(value).padStart(2, '0');
  if (stepMs >= 86_400_000) return `${two(time.getDate())}.${two(time.getMonth() + 1)}.`;
  const clock = `${two(time.getHours())}:${two(time.getMinutes())}`;
  return stepMs < 60_000 ? `${clock}:${two(time.getSeconds())}` : clock;
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

/** What one tab has refreshed, the others have from it: the one that brought the set says how. */
function merge<G extends Generation>(one: G, other: G): G {
  const isOwn = (cause: Generation['cause']) => cause !== undefined && cause !== 'tab' && cause !== 'load';
  const [first, second] = isOwn(other.cause) && !isOwn(one.cause) ? [other, one] : [one, other];
  return { ...first, at: Math.min(first.at, second.at), until: first.until ?? second.until };
}

const nameOf = ({ tab, label }: Lane, index: number) => label || (index === 0 ? 'This tab' : `Tab ${tab}`);

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
  // The refresh token of a set that was replaced is of no use to anybody.
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

type Label = readonly [name: string, at: number, text: string];

/** Which labels are placed first: what the user did, then failures, then the rest; the newest first. */
const priorityOf = ([name]: Label) => ['label strong', 'label bad', 'label'].indexOf(name);

/** Place labels on one line, centred at their instants; what would overlap is left out. */
function labelShapes(labels: readonly Label[], y: number, width: number): Shape[] {
  const taken: [left: number, right: number][] = [];
  const ordered = [...labels].sort((one, other) => priorityOf(one) - priorityOf(other) || other[1] - one[1]);
  return ordered.flatMap(([name, at, text]) => {
    const left = Math.max(0, Math.min(at - widthOf(text) / 2, width - widthOf(text)));
    const right = left + widthOf(text);
    if (at < 0 || at > width || taken.some(([start, end]) => left < end + 6 && right > start - 6)) return [];
    taken.push([left, right]);
    return [{ type: 'text', name, x: left, y, text } as const];
  });
}

function laneShapes(lane: Lane, index: number, top: number, x: Scale, now: number, width: number): Shape[] {
  const shapes: Shape[] = [{ type: 'line', name: 'rule', x: 0, y: top + 2, toX: width, toY: top + 2 }];
  const middle = top + HEAD + 8;
  const head = headOf(lane, index);
  const shown = head.find((text) => widthOf(text) < width);
  if (shown) shapes.push({ type: 'text', name: 'head', x: 0, y: top + 19, text: shown });
  const symbols: Shape[] = [];
  const labels: Label[] = [];
  for (const entry of lane.entries) {
    if (x('until' in entry ? (entry.until ?? now) : entry.at) <= -8 && entry.kind !== 'wait') continue;
    if (entry.kind === 'outage')
      shapes.push({
        type: 'rect',
        name: 'outage',
        x: x(entry.at),
        y: top + HEAD - 4,
        width: Math.max(2, x(entry.until ?? now) - x(entry.at)),
        height: LANE - 2,
        title: `Outage: ${entry.failure}`,
      });
    if (entry.kind === 'wait') shapes.push(...waitShapes(entry, middle, x, now, labels));
    if (entry.kind === 'attempt') symbols.push(...attemptShapes(entry, middle, x, now, labels));
    if (entry.kind === 'mark' && entry.name !== 'storage' && entry.name !== 'clock') {
      const left = x(entry.at);
      symbols.push({
        type: 'path',
        name: `mark ${entry.name}`,
        d: `M${left} ${middle - 7}l7 7l-7 7l-7 -7z`,
        title: MARKS[entry.name],
      });
      labels.push([entry.name === 'needs_tokens' ? 'label' : 'label strong', left, MARKS[entry.name]]);
    }
  }
  shapes.push(...symbols);
  shapes.push(...labelShapes(labels, middle + 24, width));
  return shapes;
}

/** The heading of a lane, the longest form first. */
function headOf(lane: Lane, index: number): string[] {
  const { persistence, clockOffsetMs, entries } = lane;
  const name = nameOf(lane, index);
  const refreshes = entries.filter((entry) => entry.kind === 'generation' && entry.cause === 'refresh').length;
  const offset = clockOffsetMs ? `, clock ${Math.round(clockOffsetMs / -1000)} s off` : '';
  return [
    `${name}: ${refreshes} refreshed here, stored in ${persistence}${offset}`,
    `${name}: ${refreshes} refreshed${offset}`,
    name,
  ];
}

/** Waits that are the normal course of things are drawn as their planned end only. */
function waitShapes(wait: Wait, middle: number, x: Scale, now: number, labels: Label[]): Shape[] {
  const shapes: Shape[] = [];
  const start = x(wait.at);
  const end = x(wait.until ?? wait.plannedAt ?? now);
  const isNormal = ['refresh_from', 'expires', 'page', 'storage'].includes(wait.reason);
  const title = `Waiting: ${wait.reason}`;
  if (!isNormal && end > start) {
    shapes.push({ type: 'rect', name: 'wait', x: start, y: middle - 2, width: end - start, height: 4, title });
    if (end - start > widthOf(wait.reason)) labels.push(['label', (Math.max(0, start) + end) / 2, wait.reason]);
  }
  if (wait.until === undefined && wait.plannedAt !== undefined && wait.plannedAt > now && end > 0)
    shapes.push({ type: 'path', name: 'planned', d: circle(end, middle, 5), title });
  return shapes;
}

const circle = (x: number, y: number, radius: number) =>
  `M${x - radius} ${y}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0z`;

/** A disc for an answer, a cross for a failure, a ring for what brought nothing; its length is its latency. */
function attemptShapes(attempt: Attempt, middle: number, x: Scale, now: number, labels: Label[]): Shape[] {
  const { at, until, outcome, failure, action } = attempt;
  const left = x(at);
  const right = x(until ?? now);
  const ms = until === undefined ? undefined : Math.round(until - at);
  const title = `${action}: ${failure ?? outcome ?? 'in progress'}${ms === undefined ? '' : `, ${ms} ms`}`;
  const shapes: Shape[] = [];
  if (right - left > 2)
    shapes.push({ type: 'rect', name: 'latency', x: left, y: middle - 3, width: right - left, height: 6, title });
  const cross = `M${right - 5} ${middle - 5}l10 10m0 -10l-10 10`;
  if (outcome === 'failed') shapes.push({ type: 'path', name: 'attempt failed', d: cross, title });
  else if (outcome) {
    const isAnswer = outcome === 'token' || outcome === 'optout' || outcome === 'ended';
    shapes.push({
      type: 'path',
      name: isAnswer ? `attempt ${outcome}` : 'attempt none',
      d: circle(right, middle, isAnswer ? 5 : 3.5),
      title,
    });
  }
  if (outcome === 'failed') labels.push(['label bad', right, (failure ?? '').replace(/^http_status /, '')]);
  if (outcome === 'token') labels.push(['label', right, `${ms} ms`]);
  return shapes;
}

/** The lane of one tab: its attempts, waits, outages and user actions, as shapes. Pure. */

import { type Attempt, type Lane, MARKS, type MarkName, type Wait } from './entries.ts';
import { HEAD, LANE, nameOf, type Scale, type Shape, widthOf } from './shapes.ts';

type Label = readonly [name: string, at: number, text: string];

/** The names of labels in the order in which they are placed: user actions, failures, the rest; the newest first within each. */
const PRIORITIES = ['label strong', 'label bad', 'label'];

/** Marks that are only in the list. */
const UNDRAWN: readonly MarkName[] = ['storage', 'clock', 'webview'];

/** Place labels on one line, centred at their instants; omit those that would overlap. */
function labelShapes(labels: readonly Label[], y: number, width: number): Shape[] {
  const taken: [left: number, right: number][] = [];
  const ordered = PRIORITIES.flatMap((priority) =>
    labels.filter(([name]) => name === priority).sort((one, other) => other[1] - one[1]),
  );
  return ordered.flatMap(([name, at, text]) => {
    const left = Math.max(0, Math.min(at - widthOf(text) / 2, width - widthOf(text)));
    const right = left + widthOf(text);
    if (at < 0 || at > width || taken.some(([start, end]) => left < end + 6 && right > start - 6)) return [];
    taken.push([left, right]);
    return [{ type: 'text', name, x: left, y, text } as const];
  });
}

/** The shapes of a lane whose upper edge is at `top`. */
export function laneShapes(lane: Lane, index: number, top: number, x: Scale, now: number, width: number): Shape[] {
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
    if (entry.kind === 'mark' && !UNDRAWN.includes(entry.name)) {
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
  const count = entries.filter((entry) => entry.kind === 'generation' && entry.cause === 'refresh').length;
  const refreshes = count === 1 ? '1 refresh' : `${count} refreshes`;
  const offset = clockOffsetMs ? `, clock ${Math.round(clockOffsetMs / -1000)} s off` : '';
  return [`${name}: ${refreshes} here, stored in ${persistence}${offset}`, `${name}: ${refreshes}${offset}`, name];
}

/** Waits that are part of normal operation are drawn only as their planned end. */
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

function circle(x: number, y: number, radius: number) {
  return `M${x - radius} ${y}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0z`;
}

/** A disc is an answer, a cross a failure, a ring an attempt that brought nothing. The length is the latency. */
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
    const isAnswer = outcome === 'token' || outcome === 'opt_out' || outcome === 'ended';
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

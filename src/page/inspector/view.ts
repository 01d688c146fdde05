/** Which period is shown, and how keys and buttons change it. Pure. */

import type { Entry } from './entries.ts';
import { FUTURE, type View } from './shapes.ts';

/** The lengths of time that can be selected, ms. */
export const SPANS = [30, 60, 120, 300, 900, 3600, 21_600, 86_400, 604_800, 2_592_000].map((seconds) => seconds * 1000);

/** The part of a view that the user changes; `pausedAt` is the instant at which the figure was paused. */
export interface ViewState {
  readonly spanMs: number;
  readonly panMs: number;
  readonly pausedAt?: number | undefined;
}

export type ViewAction = 'zoomIn' | 'zoomOut' | 'earlier' | 'later' | 'now' | 'pause' | 'fit';

/** Keys of the figure. */
export const KEYS: Readonly<Record<string, ViewAction>> = {
  '+': 'zoomIn',
  '=': 'zoomIn',
  '-': 'zoomOut',
  ArrowLeft: 'earlier',
  ArrowRight: 'later',
  Home: 'fit',
  End: 'now',
  ' ': 'pause',
};

/** Change a view. `fit` shows all entries. */
export function changeView(view: ViewState, action: ViewAction, now: number, entries: readonly Entry[]): ViewState {
  const { spanMs, panMs, pausedAt } = view;
  const index = SPANS.findIndex((span) => span >= spanMs);
  switch (action) {
    case 'zoomIn':
      return { ...view, spanMs: SPANS[Math.max(0, index - 1)]! };
    case 'zoomOut':
      return { ...view, spanMs: SPANS[Math.min(SPANS.length - 1, index + 1)]! };
    case 'earlier':
      return { ...view, panMs: panMs + spanMs / 4 };
    case 'later':
      return { ...view, panMs: Math.max(-spanMs, panMs - spanMs / 4) };
    case 'now':
      return { spanMs, panMs: 0 };
    case 'pause':
      return { ...view, pausedAt: pausedAt === undefined ? now : undefined };
    case 'fit':
      return { ...view, ...fitted(now, entries) };
  }
}

/** The fraction of the width that stays free at both edges of a view that fits. */
const MARGIN = 0.02;

function fitted(now: number, entries: readonly Entry[]): { spanMs: number; panMs: number } {
  const first = Math.min(now, ...entries.map(({ at }) => at));
  const ends = entries.map((entry) =>
    entry.kind === 'generation' && entry.until === undefined ? entry.expiresAt : now,
  );
  const pastMs = (now - first) / (1 - FUTURE - MARGIN);
  const futureMs = (Math.max(now, ...ends) - now) / (FUTURE - MARGIN);
  const neededMs = Math.max(pastMs, futureMs);
  return { spanMs: SPANS.find((span) => span >= neededMs) ?? SPANS.at(-1)!, panMs: 0 };
}

/** The view to lay out. */
export function viewOf({ spanMs, panMs, pausedAt }: ViewState, now: number, width: number): View {
  // A paused view moves into the past.
  return { now, spanMs, panMs: panMs + (pausedAt === undefined ? 0 : now - pausedAt), width };
}

/**
 * The recorder: converts what a session shows to the entries of a timeline. Pure: it has no clock and no session.
 *
 * An attempt begins when `state.next` says `in_progress`, and ends when it says something else. The changes in between determine
 * its outcome.
 */

import type { EventName, SessionState } from '../../session/index.ts';
import type { Attempt, Entry, Generation, Mark, MarkName, Outage, Outcome, Wait } from './entries.ts';

/** What the timeline uses of a state, with the last failure as a code. The same error is always the same object. */
export interface Seen extends Omit<SessionState, 'lastError' | 'generation'> {
  readonly failure?: { readonly code: string; readonly status?: number | undefined } | undefined;
}

export type Observation =
  | { readonly type: 'state'; readonly at: number; readonly state: Seen }
  | { readonly type: 'event'; readonly at: number; readonly event: EventName; readonly detail: string }
  /** A message between the page and the app around it. */
  | { readonly type: 'webview'; readonly at: number; readonly detail: string };

/** What has been recorded. */
export interface Log {
  readonly entries: readonly Entry[];
  readonly lastId: number;
  readonly seen?: Seen | undefined;
  /** The state in which the attempt in progress began. */
  readonly attemptFrom?: Seen | undefined;
}

export const emptyLog: Log = { entries: [], lastId: 0 };

/** How many entries are kept. */
const KEEP = 400;
/** Waits for the store that are shorter than this are not interesting, ms. */
const SHORT_MS = 100;
/** Each refresh measures the clock offset again. Smaller changes are noise, ms. */
const OFFSET_STEP_MS = 1_000;

type Fields<E extends Entry> = Omit<E, 'id' | 'kind'>;

/** Record an observation. */
export function observe(log: Log, observation: Observation): Log {
  const next =
    observation.type === 'state'
      ? observeState(log, observation.at, observation.state)
      : observation.type === 'event'
        ? observeEvent(log, observation)
        : observeMessage(log, observation.at, observation.detail);
  return next.entries.length > KEEP ? { ...next, entries: next.entries.slice(-KEEP) } : next;
}

function add<E extends Entry>(log: Log, kind: E['kind'], fields: Fields<E>): Log {
  const id = log.lastId + 1;
  return { ...log, lastId: id, entries: [...log.entries, { kind, id, ...fields } as unknown as Entry] };
}

function mark(log: Log, at: number, name: MarkName, detail: string) {
  return add<Mark>(log, 'mark', { at, name, detail });
}

/** The last entry of a kind, if it is still open. */
function openOf<K extends Entry['kind']>(log: Log, kind: K): Extract<Entry, { kind: K }> | undefined {
  const last = log.entries.findLast((entry) => entry.kind === kind);
  return last && 'until' in last && last.until !== undefined ? undefined : (last as Extract<Entry, { kind: K }>);
}

function change(log: Log, entry: Entry | undefined, fields: Partial<Generation> | Partial<Attempt>): Log {
  const changed = (one: Entry) => (one === entry ? ({ ...one, ...fields } as Entry) : one);
  return entry ? { ...log, entries: log.entries.map(changed) } : log;
}

function keyOf({ refreshAt, expiresAt, endsAt }: Seen) {
  return expiresAt === undefined ? '' : `${refreshAt}/${expiresAt}/${endsAt}`;
}

export function failureText({ code, status }: NonNullable<Seen['failure']>) {
  return status ? `${code} ${status}` : code;
}

function observeState(before: Log, at: number, state: Seen): Log {
  const { seen } = before;
  let log = before;
  const offset = Math.round(state.clockOffsetMs ?? 0);
  if (seen?.persistence !== state.persistence) log = mark(log, at, 'storage', state.persistence);
  if (Math.abs(offset - (seen?.clockOffsetMs ?? 0)) >= OFFSET_STEP_MS) log = mark(log, at, 'clock', `${offset} ms`);
  log = observeGeneration(log, at, state);
  log = observeAttempt(log, at, state);
  log = observeWait(log, at, state);
  return { ...log, seen: state };
}

function observeGeneration(log: Log, at: number, state: Seen): Log {
  const { seen } = log;
  const key = keyOf(state);
  const open = openOf(log, 'generation');
  if (open?.key === key) {
    const isEnded = state.phase === 'ended' && open.endedAt === undefined;
    return isEnded ? change(log, open, { endedAt: at }) : log;
  }
  let next = change(log, open, { until: at });
  if (!key) return open && state.phase === 'empty' && seen ? mark(next, at, 'sign_out', '') : next;
  const { refreshAt = 0, expiresAt = 0, endsAt = 0, clockOffsetMs = 0 } = state;
  next = add<Generation>(next, 'generation', {
    at,
    key,
    refreshAt: refreshAt - clockOffsetMs,
    expiresAt: expiresAt - clockOffsetMs,
    endsAt: endsAt - clockOffsetMs,
    isFirst: !open,
  });
  return next;
}

/** An attempt writes to the store while it runs. The state then reports the store, but the attempt continues. */
function isOver({ action }: Attempt, { next }: Seen) {
  return next?.reason !== 'storage' && (next?.reason !== 'in_progress' || next.action !== action);
}

function observeAttempt(log: Log, at: number, state: Seen): Log {
  let next = log;
  const open = openOf(next, 'attempt');
  if (open && next.attemptFrom && isOver(open, state)) {
    const outcome = outcomeOf(next.attemptFrom, state, open.action);
    const { failure } = state;
    next = change(next, open, {
      until: at,
      outcome,
      ...(outcome === 'failed' && failure && { failure: failureText(failure) }),
    });
    next = observeOutage({ ...next, attemptFrom: undefined }, open.at, at, outcome, state);
  }
  if (state.next?.reason !== 'in_progress' || openOf(next, 'attempt')) return next;
  // The state before the attempt may not have been observed.
  const from = next.seen ?? state;
  const attempt = { at: Math.min(state.next.at ?? at, at), action: state.next.action };
  return { ...add<Attempt>(next, 'attempt', attempt), attemptFrom: from };
}

function outcomeOf(from: Seen, state: Seen, action: Attempt['action']): Outcome {
  if (state.phase === 'optedOut' && from.phase !== 'optedOut') return 'opt_out';
  if (state.phase === 'empty' && from.phase !== 'empty') return 'signed_out';
  if (keyOf(state) && keyOf(state) !== keyOf(from)) return 'token';
  if (state.phase === 'ended' && from.phase !== 'ended') return 'ended';
  if (state.next?.reason === 'other_tab') return 'other_tab';
  if (state.failure && state.failure !== from.failure) return 'failed';
  return action === 'provide' && state.next?.reason === 'host' ? 'nobody' : 'unchanged';
}

/** Tell whether a failure means that the network or the service is down; a refusal does not. */
function isOutage({ code, status = 500 }: NonNullable<Seen['failure']>) {
  return ['network', 'timeout', 'http_status'].includes(code) && (status >= 500 || [408, 425, 429].includes(status));
}

function observeOutage(log: Log, startedAt: number, at: number, outcome: Outcome, { failure }: Seen): Log {
  const open = openOf(log, 'outage');
  if (outcome === 'failed' && failure && isOutage(failure))
    return open ? log : add<Outage>(log, 'outage', { at: startedAt, failure: failureText(failure) });
  return outcome === 'other_tab' || outcome === 'unchanged' ? log : change(log, open, { until: at });
}

function observeWait(log: Log, at: number, { next: step }: Seen): Log {
  const open = openOf(log, 'wait');
  const isWaiting = step && step.reason !== 'in_progress';
  if (open && isWaiting && open.reason === step.reason && open.action === step.action && open.plannedAt === step.at)
    return log;
  const isShort = open?.reason === 'storage' && at - open.at < SHORT_MS;
  const next = isShort
    ? { ...log, entries: log.entries.filter((entry) => entry !== open) }
    : change(log, open, { until: at });
  if (!isWaiting) return next;
  return add<Wait>(next, 'wait', { at, action: step.action, reason: step.reason, plannedAt: step.at });
}

/** A request is repeated until it is answered. */
function observeMessage(log: Log, at: number, detail: string): Log {
  const last = log.entries.at(-1);
  return last?.kind === 'mark' && last.name === 'webview' && last.detail === detail
    ? log
    : mark(log, at, 'webview', detail);
}

function observeEvent(log: Log, { at, event, detail }: Observation & { type: 'event' }): Log {
  if (event === 'optout') return mark(log, at, 'opt_out', '');
  if (event === 'expired') return mark(log, at, 'expired', detail);
  if (event === 'needsTokens') return mark(log, at, 'needs_tokens', detail);
  if (event !== 'token') return log;
  const open = openOf(log, 'generation');
  if (!open || open.cause) return log;
  // Another tab's answer also ends the outage for this tab.
  let next = change(log, open, { cause: detail as NonNullable<Generation['cause']> });
  next = change(next, openOf(next, 'outage'), { until: at });
  if (detail !== 'set' && detail !== 'provide') return next;
  return mark(next, at, open.isFirst ? 'sign_in' : 'new_set', detail);
}

/** Each change of a session's state and each event becomes an entry. An attempt lasts while `state.next` says `in_progress`. */

import { REASONS } from '../../session/explain/state.ts';
import type {
  Cause,
  EventName,
  NextReason,
  NextStep,
  Session,
  SessionState,
  TokenError,
  WaitReason,
} from '../../session/index.ts';
import { listenToApp } from './app-messages.ts';
import { CAUSES, type Entry } from './entries.ts';
import { timeText } from './text.ts';

const KEEP = 400;
/** Waits for the store that are shorter than this are not interesting, ms. */
const SHORT_MS = 100;
/** Each refresh measures the clock offset again. Smaller changes are noise, ms. */
const OFFSET_STEP_MS = 1_000;
/** The origin of a token, until an event tells it. */
const UNKNOWN = 'held before the recording began';

interface Log {
  readonly entries: Entry[];
  seen?: SessionState | undefined;
  token?: Entry | undefined;
  /** Another set preceded `token`. */
  isReplacement?: boolean;
  wait?: { readonly entry: Entry; readonly next: NextStep } | undefined;
  attempt?: { readonly entry: Entry; readonly action: NextStep['action']; readonly from: SessionState } | undefined;
}

function add(log: Log, entry: Entry): Entry {
  log.entries.push(entry);
  if (log.entries.length > KEEP) log.entries.shift();
  return entry;
}

function change(entry: Entry | undefined, fields: Partial<Entry>): void {
  if (entry) Object.assign(entry, fields);
}

function recordState(log: Log, at: number, state: SessionState): void {
  const { seen } = log;
  const offset = Math.round(state.clockOffsetMs ?? 0);
  if (seen?.persistence !== state.persistence) add(log, { kind: 'note', at, text: `Storage: ${state.persistence}` });
  if (Math.abs(offset - (seen?.clockOffsetMs ?? 0)) >= OFFSET_STEP_MS)
    add(log, { kind: 'note', at, text: `Clock offset: ${offset} ms` });
  recordToken(log, at, state);
  recordAttempt(log, at, state);
  recordWait(log, at, state);
  log.seen = state;
}

/** Equal in all states of one token set. */
function keyOf({ refreshAt, expiresAt, endsAt }: SessionState) {
  return expiresAt === undefined ? undefined : `${refreshAt}/${expiresAt}/${endsAt}`;
}

function recordToken(log: Log, at: number, state: SessionState): void {
  const { phase, refreshAt = 0, expiresAt = 0, endsAt = 0, clockOffsetMs = 0 } = state;
  if (log.seen && keyOf(state) === keyOf(log.seen)) {
    // The service may end a refresh token early.
    if (phase === 'ended' && log.seen.phase !== 'ended') change(log.token, { endsAt: at });
    return;
  }
  change(log.token, { until: at });
  if (log.token && phase === 'empty') add(log, { kind: 'event', at, text: 'Sign-out', label: 'Sign-out' });
  log.isReplacement = Boolean(log.token);
  log.token = undefined;
  if (!keyOf(state)) return;
  const local = [refreshAt, expiresAt, endsAt].map((instant) => instant - clockOffsetMs);
  const [refresh, expiry, end] = local.map((instant) => timeText(instant, 1));
  const text = `: refresh from ${refresh}, expires ${expiry}, refresh token ends ${end}`;
  const instants = { refreshAt: local[0], expiresAt: local[1], endsAt: local[2] };
  log.token = add(log, { kind: 'token', at, ...instants, text: `Token, ${UNKNOWN}${text}` });
}

/** An event follows the state that it announces. */
function recordCause(log: Log, at: number, cause: Cause): void {
  const { token } = log;
  if (!token || token.label) return;
  change(token, { label: CAUSES[cause], text: token.text.replace(UNKNOWN, CAUSES[cause]) });
  if (cause === 'set' || cause === 'provide') {
    const label = log.isReplacement ? 'New set' : 'Sign-in';
    add(log, { kind: 'event', at, text: `${label}: ${cause}`, label });
  } else cause satisfies 'refresh' | 'tab' | 'load';
}

function recordAttempt(log: Log, at: number, state: SessionState): void {
  const { next } = state;
  if (log.attempt && isOver(log.attempt.action, next)) {
    const { entry, action, from } = log.attempt;
    const ms = Math.round(at - entry.at);
    const { text, ...fields } = outcomeOf(from, state, action);
    const label = fields.result === 'answered' ? `${ms} ms` : undefined;
    change(entry, { label, ...fields, until: at, text: `Attempt (${action}): ${text}, after ${ms} ms` });
    log.attempt = undefined;
  }
  if (next?.reason !== 'in_progress' || log.attempt) return;
  const { action } = next;
  const text = `Attempt (${action}): in progress`;
  const entry = add(log, { kind: 'attempt', at: Math.min(next.at ?? at, at), text });
  // The state before the attempt may not have been observed.
  log.attempt = { entry, action, from: log.seen ?? state };
}

function failureText({ code, status }: TokenError) {
  return status ? `${code} ${status}` : code;
}

/** An attempt writes to the store while it runs. The state then reports the store, but the attempt continues. */
function isOver(action: NextStep['action'], next: NextStep | undefined) {
  return next?.reason !== 'storage' && (next?.reason !== 'in_progress' || next.action !== action);
}

function outcomeOf(from: SessionState, state: SessionState, action: NextStep['action']): Partial<Entry> {
  const answered = (text: string): Partial<Entry> => ({ result: 'answered', text });
  const none = (text: string): Partial<Entry> => ({ result: 'none', text });
  const { phase } = state;
  if (phase !== from.phase) {
    if (phase === 'empty') return none('signed out meanwhile');
    if (phase === 'ended') return answered('the refresh token has ended');
    if (phase === 'optedOut') return answered('the user has opted out');
    phase satisfies 'fresh' | 'due' | 'stale';
  }
  if (keyOf(state) && keyOf(state) !== keyOf(from)) return answered('a new token');
  if (state.next?.reason === 'other_tab') return none('left to another tab');
  const { lastError } = state;
  if (lastError && lastError !== from.lastError) {
    const { code, status } = lastError;
    return { result: 'failed', text: `failed, ${failureText(lastError)}`, label: `${status ?? code}` };
  }
  return none(action === 'provide' && state.next?.reason === 'host' ? 'nobody is signed in' : 'nothing new');
}

/** Whether a wait is part of normal operation: the figure shows only when it ends. */
function isNormal(reason: NextReason): boolean {
  if (reason === 'refresh_from' || reason === 'expires' || reason === 'host' || reason === 'storage') return true;
  reason satisfies WaitReason | 'in_progress' | 'other_tab' | 'hidden' | 'consent';
  return false;
}

function recordWait(log: Log, at: number, { next }: SessionState): void {
  const { wait } = log;
  if (wait && next && wait.next.at === next.at && wait.next.action === next.action && wait.next.reason === next.reason)
    return;
  if (wait?.next.reason === 'storage' && at - wait.entry.at < SHORT_MS)
    log.entries.splice(log.entries.indexOf(wait.entry), 1);
  change(wait?.entry, { until: at });
  log.wait = undefined;
  if (!next || next.reason === 'in_progress') return;
  const { action, reason, at: plannedAt } = next;
  const planned = plannedAt === undefined ? '' : ` at ${timeText(plannedAt, 1)}`;
  const text = `Next: ${action}${planned} (${REASONS[reason]})`;
  const label = isNormal(reason) ? undefined : REASONS[reason];
  log.wait = { entry: add(log, { kind: 'wait', at, plannedAt, text, label }), next };
}

/** `now`: epoch ms by the session's own clock, if it has one. `onChange`: called after each observation. */
export function createRecording(session: Session, now: () => number, onChange: () => void) {
  const log: Log = { entries: [] };
  let unsubscribes: readonly (() => void)[] = [];
  const look = (also?: () => void) => {
    recordState(log, now(), session.state);
    also?.();
    onChange();
  };
  const record = (kind: Entry['kind'], text: string, label?: string) =>
    look(() => {
      // A request to the app is repeated until it is answered.
      if (kind !== 'note' || log.entries.at(-1)?.text !== text) add(log, { kind, at: now(), text, label });
    });
  const stop = () => {
    for (const unsubscribe of unsubscribes) unsubscribe();
  };
  return {
    entries: log.entries as readonly Entry[],
    stop,
    start: () => {
      stop();
      const events = {
        token: session.on('token', ({ cause }) => look(() => recordCause(log, now(), cause))),
        expired: session.on('expired', ({ token }) => record('event', `Expired: ${token}`, 'Expired')),
        optout: session.on('optout', () => record('event', 'Opt-out', 'Opt-out')),
        needsTokens: session.on('needsTokens', ({ reason }) => record('event', `A new set is needed: ${reason}`)),
        error: session.on('error', (error) => record('note', `Error: ${failureText(error)}`)),
      } satisfies Record<EventName, () => void>;
      unsubscribes = [
        session.subscribe(() => look()),
        ...Object.values(events),
        listenToApp((message) => record('note', `Message: ${message}`)),
      ];
      look();
    },
  };
}

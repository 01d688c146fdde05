/** Connects a recorder to a session: each change of its state and each event becomes an observation without a token. */

import type { EventName, Session, SessionEvents, TokenError } from '../../session/index.ts';
import { emptyLog, failureText, type Log, observe, type Seen } from './recorder.ts';

/** What an event tells, without a token: its cause, reason, error code or kind of token. */
const DETAILS: { readonly [E in EventName]: (payload: SessionEvents[E]) => string } = {
  token: ({ cause }) => cause,
  expired: ({ token }) => token,
  optout: () => '',
  needsTokens: ({ reason }) => reason,
  error: failureText,
};

/** Listen to all events of a session; returns the unsubscribe function. */
export function listenToAll(session: Session, listener: (event: EventName, detail: string) => void): () => void {
  const listen = <E extends EventName>(event: E) =>
    session.on(event, (payload) => listener(event, DETAILS[event](payload)));
  const unsubscribes = (Object.keys(DETAILS) as EventName[]).map(listen);
  return () => {
    for (const unsubscribe of unsubscribes) unsubscribe();
  };
}

const WORDS = {
  from: ['page', 'app'],
  kind: ['req', 'res', 'evt'],
  type: ['hello', 'get', 'changed', 'set', 'clear'],
};

/**
 * Listen to the messages between a page and the app around it, of which `tessera-id/webview` tells without their bodies: `app: evt set
 * gen 3`. Any script can dispatch the event, so only known words are passed on. Returns the unsubscribe function.
 */
export function listenToApp(listener: (detail: string) => void): () => void {
  const hear = ({ detail }: Event & { readonly detail?: unknown }) => {
    const members = Object(detail) as Record<string, unknown>;
    const [from, kind, type] = Object.entries(WORDS).map(([name, words]) =>
      words.find((word) => word === members[name]),
    );
    const error = /^[a-z_]{1,20}$/.exec(`${members['error'] ?? ''}`)?.[0];
    listener(`${from}: ${kind} ${type ?? 'other'} gen ${Number(members['gen'])}${error ? ` ${error}` : ''}`);
  };
  globalThis.addEventListener?.('tessera:message', hear);
  return () => globalThis.removeEventListener?.('tessera:message', hear);
}

/**
 * Record a session.
 *
 * @param now       local clock, epoch ms: the session's own clock, if it has one.
 * @param onChange  called after each observation.
 * @param before    the log of an earlier recording of the same session.
 */
export function watchSession(session: Session, now: () => number, onChange: (log: Log) => void, before = emptyLog) {
  let log = before;
  // The same error always maps to the same object, by which the recorder tells a new failure from an old one.
  const failures = new WeakMap<TokenError, NonNullable<Seen['failure']>>();

  const see = (): Seen => {
    const { lastError, ...state } = session.state;
    if (!lastError) return state;
    const failure = failures.get(lastError) ?? { code: lastError.code, status: lastError.status };
    failures.set(lastError, failure);
    return { ...state, failure };
  };
  const look = () => {
    log = observe(log, { type: 'state', at: now(), state: see() });
    onChange(log);
  };
  const onEvent = (event: EventName, detail: string) => {
    // Read the state first: an event belongs to the set that it announces.
    look();
    log = observe(log, { type: 'event', at: now(), event, detail });
    onChange(log);
  };
  const onMessage = (detail: string) => {
    log = observe(log, { type: 'webview', at: now(), detail });
    onChange(log);
  };
  const unsubscribes = [listenToAll(session, onEvent), session.subscribe(look), listenToApp(onMessage)];
  look();

  return {
    log: () => log,
    stop: () => {
      for (const stop of unsubscribes) stop();
    },
  };
}

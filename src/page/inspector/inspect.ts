/**
 * A report of what a session has done that is safe to share. It contains times, phases, codes and counts, but never a token, a
 * key or the message of an error.
 */

import type { EventName, NextStep, Session } from '../../session/index.ts';
import { checkSession } from '../adapter-options.ts';
import { failureText } from './recorder.ts';
import { listenToAll, listenToApp } from './watch.ts';

/** An event of the session, a change of its phase, or a message between the page and the app around it. */
export interface InspectedEvent {
  /** Time since the event, ms. */
  readonly msAgo: number;
  readonly event: EventName | 'phase' | 'webview';
  /** Cause, reason, error code, kind of token, the phase that began, or the message without its body: `app: evt set gen 3`. */
  readonly detail: string;
}

/** The state and history of a session, without any token. */
export interface Report {
  readonly phase: string;
  readonly hasToken: boolean;
  readonly waitingFor: string | undefined;
  /** What the session will do next and why, as in `state.next`: `refresh in 840000 ms: refresh_from`. */
  readonly next: string | undefined;
  readonly persistence: string;
  /** Time to each instant, ms, negative if it has passed; by the service's clock as far as its offset is known. */
  readonly refreshInMs: number | undefined;
  readonly expiresInMs: number | undefined;
  readonly endsInMs: number | undefined;
  readonly clockOffsetMs: number;
  /** Code and HTTP status of the last failure. */
  readonly lastError: string | undefined;
  /** What the page supports. A session works without any of these. */
  readonly page: {
    readonly secure: boolean;
    readonly visible: boolean;
    readonly locks: boolean;
    readonly webCrypto: boolean;
  };
  /** Number of events since {@link inspect}, by `event` and by `event detail`. */
  readonly counts: Readonly<Record<string, number>>;
  /** Newest last. */
  readonly events: readonly InspectedEvent[];
}

/** Options of {@link inspect}. */
export interface InspectorOptions {
  /** How many events to keep. Default 50. */
  keep?: number | undefined;
  /** The session's `now`, if it has one: current time, epoch ms. Default `Date.now`. */
  now?: (() => number) | undefined;
}

/** Watches one session. */
export interface Inspector {
  report(): Report;
  /** Print the report to the console as tables, and return it. */
  print(): Report;
  /** Stop listening; recorded events stay. */
  stop(): void;
}

/** Describe `state.next`: action, time left and reason. */
function describeNext(next: NextStep | undefined, now: number) {
  return next && `${next.action}${next.at === undefined ? '' : ` in ${next.at - now} ms`}: ${next.reason}`;
}

/** Keep the last `keep` events, and count all of them. */
function createEventLog(keep: number, now: () => number) {
  const events: { at: number; event: InspectedEvent['event']; detail: string }[] = [];
  const counts: Record<string, number> = {};
  return {
    record: (event: InspectedEvent['event'], detail: string) => {
      events.push({ at: now(), event, detail });
      if (events.length > keep) events.shift();
      for (const name of [event, `${event} ${detail}`]) counts[name] = (counts[name] ?? 0) + 1;
    },
    report: () => ({
      counts: { ...counts },
      events: events.map(({ at, event, detail }) => ({ msAgo: now() - at, event, detail })),
    }),
  };
}

export function pageFeatures(): Report['page'] {
  return {
    secure: globalThis.isSecureContext === true,
    // Not imported from the session, so that this entry stays one file.
    visible:
      !!globalThis.document && Reflect.get(Object.getPrototypeOf(document), 'visibilityState', document) === 'visible',
    locks: Boolean(globalThis.navigator?.locks),
    webCrypto: Boolean(globalThis.crypto?.subtle),
  };
}

/**
 * Watch a session, for debugging. It changes nothing, although reading the state makes the session compare its set with the clock.
 *
 * @example
 * inspect(tessera.session).print(); // in the console of a page
 */
export function inspect(session: Session, { keep = 50, now = Date.now }: InspectorOptions = {}): Inspector {
  if (typeof __TESSERA_PRODUCTION__ === 'undefined') checkSession('inspect', session);
  const { record, report: reportEvents } = createEventLog(keep, now);
  let phase = session.state.phase;
  const unsubscribes = [
    listenToAll(session, record),
    listenToApp((detail) => record('webview', detail)),
    session.subscribe(() => {
      if (phase !== session.state.phase) record('phase', (phase = session.state.phase));
    }),
  ];

  const report = (): Report => {
    const { state } = session;
    const { clockOffsetMs = 0 } = state;
    const msTo = (instant: number | undefined) => instant && instant - now() - clockOffsetMs;
    return {
      phase: state.phase,
      hasToken: session.advertisingToken !== undefined,
      waitingFor: state.waitingFor,
      next: describeNext(state.next, now()),
      persistence: state.persistence,
      refreshInMs: msTo(state.refreshAt),
      expiresInMs: msTo(state.expiresAt),
      endsInMs: msTo(state.endsAt),
      clockOffsetMs,
      lastError: state.lastError && failureText(state.lastError),
      page: pageFeatures(),
      ...reportEvents(),
    };
  };
  return {
    report,
    print: () => {
      const current = report();
      const { page, counts, events, ...state } = current;
      console.table({ ...state, ...page });
      console.table(counts);
      console.table(events);
      return current;
    },
    stop: () => {
      for (const stop of unsubscribes) stop();
    },
  };
}

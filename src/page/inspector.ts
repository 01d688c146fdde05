/**
 * What a session has been doing, in a form that is safe to share: times, phases, codes and counts, never a token, key or
 * message of somebody else's making.
 */

import type { Session } from '../session/index.ts';

/** Something that happened. */
export interface InspectedEvent {
  /** How long ago, ms. */
  readonly msAgo: number;
  readonly event: 'token' | 'expired' | 'optout' | 'needsTokens' | 'error' | 'phase';
  /** Cause, reason, code, which token, or the phase that began. */
  readonly detail: string;
}

export interface Report {
  readonly phase: string;
  readonly hasToken: boolean;
  readonly waitingFor: string | undefined;
  readonly persistence: string;
  /** Time to each instant, ms; below 0 where it has passed. By the service's clock, as far as it is known. */
  readonly refreshInMs: number | undefined;
  readonly expiresInMs: number | undefined;
  readonly endsInMs: number | undefined;
  readonly clockOffsetMs: number;
  /** Code and HTTP status of the last failure. */
  readonly lastError: string | undefined;
  /** What the page offers: a session does without any of them. */
  readonly page: {
    readonly secure: boolean;
    readonly visible: boolean;
    readonly locks: boolean;
    readonly webCrypto: boolean;
  };
  /** How often, since {@link inspect}. */
  readonly counts: Readonly<Record<string, number>>;
  /** Newest last. */
  readonly events: readonly InspectedEvent[];
}

export interface InspectorOptions {
  /** How many events to keep. Default 50. */
  keep?: number | undefined;
  /** The session's clock, where it was given one. */
  now?: (() => number) | undefined;
}

export interface Inspector {
  report(): Report;
  /** Print the report to the console, as tables; give it, too. */
  print(): Report;
  /** Listen no more; what was heard stays. */
  stop(): void;
}

/**
 * Watch a session, for debugging: `inspect(tessera.session).print()` in a console.
 *
 * It changes nothing, but that reading a session's state makes it look at the clock.
 */
export function inspect(session: Session, { keep = 50, now = Date.now }: InspectorOptions = {}): Inspector {
  const events: { at: number; event: InspectedEvent['event']; detail: string }[] = [];
  const counts: Record<string, number> = {};
  const note = (event: InspectedEvent['event'], detail: string) => {
    events.push({ at: now(), event, detail });
    if (events.length > keep) events.shift();
    for (const name of [event, `${event} ${detail}`]) counts[name] = (counts[name] ?? 0) + 1;
  };
  /** A code is one of ours; what else an error says may quote anything. */
  const told = (error: { code: string; status?: number | undefined } | undefined) =>
    error && [error.code, error.status].filter(Boolean).join(' ');

  let phase = session.state.phase;
  const stops = [
    session.on('token', ({ cause }) => note('token', cause)),
    session.on('expired', ({ token }) => note('expired', token)),
    session.on('optout', () => note('optout', 'by the service or the host')),
    session.on('needsTokens', ({ reason }) => note('needsTokens', reason)),
    session.on('error', (error) => note('error', told(error)!)),
    session.subscribe(() => {
      if (phase !== session.state.phase) note('phase', (phase = session.state.phase));
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
      persistence: state.persistence,
      refreshInMs: msTo(state.refreshAt),
      expiresInMs: msTo(state.expiresAt),
      endsInMs: msTo(state.endsAt),
      clockOffsetMs,
      lastError: told(state.lastError),
      page: {
        secure: globalThis.isSecureContext === true,
        visible: globalThis.document?.visibilityState === 'visible',
        locks: Boolean(globalThis.navigator?.locks),
        webCrypto: Boolean(globalThis.crypto?.subtle),
      },
      counts: { ...counts },
      events: events.map(({ at, event, detail }) => ({ msAgo: now() - at, event, detail })),
    };
  };
  return {
    report,
    print: () => {
      const said = report();
      const { page, counts, events, ...state } = said;
      console.table({ ...state, ...page });
      console.table(counts);
      console.table(events);
      return said;
    },
    stop: () => {
      for (const stop of stops) stop();
    },
  };
}

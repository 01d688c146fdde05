/** The report of one session as text, for the console and for a report of an error. */

import type { Session } from '../../session/index.ts';
import { checkSession } from '../adapter-options.ts';
import { createRecording } from './record.ts';
import { reportText, statusOf } from './text.ts';

/** Options of {@link inspect}. */
export interface InspectorOptions {
  /** The session's `now`, if it has one: current time, epoch ms. Default `Date.now`. */
  now?: (() => number) | undefined;
}

/** Watches one session. */
export interface Inspector {
  /** The newest 400 entries: attempts, waits, events and errors by their codes. It contains no token, key or error message. */
  report(): string;
  /** Print the report to the console. */
  print(): void;
  /** Stop recording; recorded entries stay. */
  stop(): void;
}

/**
 * Watch a session, for debugging. It changes nothing, although reading the state makes the session compare its set with the clock.
 *
 * @example
 * inspect(tessera.session).print(); // in the console of a page
 */
export function inspect(session: Session, { now = Date.now }: InspectorOptions = {}): Inspector {
  if (typeof __TESSERA_PRODUCTION__ === 'undefined') checkSession('inspect', session);
  const { entries, start, stop } = createRecording(session, now, () => {});
  start();
  const report = () => reportText([{ tab: '1', label: '', status: statusOf(session.state), entries }], now());
  return { report, print: () => console.log(report()), stop };
}

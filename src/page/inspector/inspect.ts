/** The report of one session as text. */

import { explainState } from '../../session/explain/state.ts';
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
  /** The state in two sentences: what the session has, and what it does next. */
  explain(): string;
  /** What `explain` returns, and the newest 400 attempts, waits, events and error codes; no token, key or error message. */
  report(): string;
  print(): void;
  /** Stop recording; recorded entries stay. */
  stop(): void;
}

/** Watch a session: `inspect(tessera.session).print()` in the console of a page. It changes nothing. */
export function inspect(session: Session, { now = Date.now }: InspectorOptions = {}): Inspector {
  if (typeof __TESSERA_PRODUCTION__ === 'undefined') checkSession('inspect', session);
  const { entries, start, stop } = createRecording(session, now, () => {});
  start();
  const explain = () => explainState(session.state, session.advertisingToken, now());
  const report = () =>
    reportText(explain(), [{ tab: '1', label: '', status: statusOf(session.state), entries }], now());
  return { explain, report, print: () => console.log(report()), stop };
}

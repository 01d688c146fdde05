/**
 * React: a session in components. On a server, and while a page is hydrated, there is no session, no state and no token; they
 * come after the first effect.
 */

import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import type { Session, SessionState } from '../session/index.ts';
import { createSession, type SessionOptions } from '../session/index.ts';

/** A session as a component sees it. */
export interface SessionView {
  /** Undefined on a server, and before the first effect where it is made here. */
  readonly session: Session | undefined;
  readonly state: SessionState | undefined;
}

const silent = () => () => {};
const none = () => undefined;

/**
 * A session and its state; renders again at every change of state.
 *
 * @param given  A session, which stays the caller's to close. Or the options of one: it is made when the component mounts, closed
 *   when it unmounts, and made anew for another `baseUrl` or `name`. Of the other options the first values count; of `provide`
 *   the one of the latest render is called.
 * @throws {TypeError} for a wrong option, into the nearest error boundary.
 * @example
 * const { session, state } = useSession({ baseUrl: 'https://operator.example', provide });
 */
export function useSession(given: Session | SessionOptions): SessionView {
  const theirs = 'subscribe' in given ? given : undefined;
  const options = given as SessionOptions;
  const [own, setOwn] = useState<Session>();
  const latest = useRef(options);
  useEffect(() => {
    latest.current = options;
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: options are written anew at each render, and mean the same.
  useEffect(() => {
    if (theirs) return;
    const { provide } = options;
    const session = createSession({ ...options, provide: provide && ((request) => latest.current.provide!(request)) });
    setOwn(session);
    return () => {
      session.close();
      setOwn(undefined);
    };
  }, [theirs, options.baseUrl, options.name]);
  const session = theirs ?? own;
  return { session, state: useSyncExternalStore(session?.subscribe ?? silent, () => session?.state, none) };
}

/** The token in force, or undefined; renders again only when it changes. */
export function useAdvertisingToken(session: Session | undefined): string | undefined {
  return useSyncExternalStore(session?.subscribe ?? silent, () => session?.advertisingToken, none);
}

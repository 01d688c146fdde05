/**
 * React: a session in components. On a server and during hydration there is no session, no state and no token; they exist
 * after the first effect.
 */

import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { createSession, type Session, type SessionOptions, type SessionState } from '../session/index.ts';

/** A session as a component sees it. */
export interface SessionView {
  /** Undefined on a server, and before the first effect if the hook creates the session. */
  readonly session: Session | undefined;
  readonly state: SessionState | undefined;
}

const silent = () => () => {};
const none = () => undefined;

/**
 * Use a session and its state; renders again at every change of state.
 *
 * @param given  A session, which the caller closes. Or the options of a session, which the hook creates when the component
 *   mounts, closes when it unmounts, and replaces for another `baseUrl` or `name`. The `provide` of the latest render is
 *   called; of the other options the first values count.
 * @throws {TypeError} for a wrong option, to the nearest error boundary.
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
  // biome-ignore lint/correctness/useExhaustiveDependencies: a component writes the same options as a new object at each render.
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

/**
 * Use the token in force, or undefined; renders again only when the token changes.
 *
 * @example
 * const token = useAdvertisingToken(session);
 */
export function useAdvertisingToken(session: Session | undefined): string | undefined {
  return useSyncExternalStore(session?.subscribe ?? silent, () => session?.advertisingToken, none);
}

/** React. Before the first effect there is no session, state or token, and no use of storage or network. The build adds `'use client'`. */

import {
  createContext,
  createElement,
  type ReactNode,
  useContext,
  useEffect,
  useInsertionEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { createSession, type Session, type SessionOptions, type SessionState } from '../session/index.ts';
import { checkSession } from './adapter-options.ts';

/** A session as a component sees it. */
export interface SessionView {
  /** Undefined on a server, and before the first effect if the hook or the provider creates it. */
  readonly session: Session | undefined;
  /** Undefined while there is no session. */
  readonly state: SessionState | undefined;
}

/** Properties of {@link TesseraProvider}: `options`, or `session`. */
export interface TesseraProviderProps {
  /** Of the session that the provider creates, as for {@link useSession}. */
  readonly options?: SessionOptions | undefined;
  /** A session that the caller creates and closes; undefined while there is none. */
  readonly session?: Session | undefined;
  readonly children?: ReactNode;
}

function noSubscription() {
  return () => {};
}

function noSnapshot() {
  return undefined;
}

/** null: there is no provider. */
const SessionContext = /* @__PURE__ */ createContext<Session | undefined | null>(null);

function useOwnSession(options: SessionOptions | undefined): Session | undefined {
  const [own, setOwn] = useState<{ key: string; session: Session }>();
  const latest = useRef(options);
  // Insertion effects run before all layout effects, one of which may make the session call `provide`.
  useInsertionEffect(() => {
    latest.current = options;
  });
  const { baseUrl, name, user, provide } = { __proto__: null, ...options } as Partial<SessionOptions>;
  // JSON has no undefined, but a page without a label (undefined) differs from one where nobody is signed in (null).
  const key = JSON.stringify([baseUrl, name, user === undefined ? 0 : user]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a component writes the same options as a new object at each render.
  useEffect(() => {
    if (!options) return;
    const session = createSession({
      ...options,
      provide: provide && ((request) => (latest.current?.provide ?? provide)(request)),
    });
    setOwn({ key, session });
    return () => {
      session.close();
      setOwn(undefined);
    };
  }, [!options, key, !provide]);
  // The effect that replaces the session runs after this render. Until then, do not return the previous user's token.
  return options && own?.key === key ? own.session : undefined;
}

function useProvided(hook: string, isNeeded: boolean): Session | undefined {
  const provided = useContext(SessionContext);
  if (isNeeded && provided === null) {
    throw new Error(`${hook}: expected a <TesseraProvider> above this component, or an argument, got neither`);
  }
  return provided ?? undefined;
}

/**
 * Provide a session to `useSession()` and `useAdvertisingToken()` in all components below.
 *
 * @throws {TypeError} if both `options` and `session` are given, another property, or an invalid option (to the nearest error boundary).
 * @example
 * <TesseraProvider options={{ baseUrl: 'https://operator.example', provide }}>
 *   <App />
 * </TesseraProvider>
 */
export function TesseraProvider(props: TesseraProviderProps): ReactNode {
  const { options, session, children, ...others } = { __proto__: null, ...props } as TesseraProviderProps;
  // Ignored, an option of the session beside `options`, such as `consent`, would start a session without it.
  for (const name of Object.keys(others)) throw new TypeError(`TesseraProvider: ${name}: unknown property`);
  // Neither is no mistake: a session may come later, and React passes no property that is undefined from a server component.
  if (options && session) throw new TypeError('TesseraProvider: expected one of options and session, got both');
  if (typeof __TESSERA_PRODUCTION__ === 'undefined' && session) checkSession('TesseraProvider', session);
  const own = useOwnSession(options);
  return createElement(SessionContext.Provider, { value: session ?? own }, children);
}

/**
 * Use a session and its state; renders again on every change of state.
 *
 * @param given  Default: the session of the nearest {@link TesseraProvider}. A session, which the caller closes. Or options of a session,
 *   which the hook creates when the component mounts, closes when it unmounts, and replaces if `baseUrl`, `name` or `user` changes, or
 *   `provide` is added or removed. The `provide` of the latest render is called; the other options keep their first values.
 * @throws {TypeError} for an invalid option, to the nearest error boundary.
 * @throws {Error} without an argument if there is no provider.
 * @example const { session, state } = useSession();
 * @example const { session, state } = useSession({ baseUrl: 'https://operator.example', provide });
 */
export function useSession(given?: Session | SessionOptions): SessionView {
  const provided = useProvided('useSession', given === undefined);
  const theirs = typeof (given as Session | undefined)?.subscribe === 'function' ? (given as Session) : undefined;
  const own = useOwnSession(theirs ? undefined : (given as SessionOptions | undefined));
  const session = theirs ?? (given ? own : provided);
  return {
    session,
    state: useSyncExternalStore(session?.subscribe ?? noSubscription, () => session?.state, noSnapshot),
  };
}

/**
 * Use the current token; renders again only when it changes.
 *
 * @param given  Default: the session of the nearest {@link TesseraProvider}. Or a session; undefined while there is none.
 * @throws {Error} without an argument if there is no provider.
 * @example const token = useAdvertisingToken();
 */
export function useAdvertisingToken(...given: [session?: Session | undefined]): string | undefined {
  const provided = useProvided('useAdvertisingToken', given.length === 0);
  const session = given.length > 0 ? given[0] : provided;
  return useSyncExternalStore(session?.subscribe ?? noSubscription, () => session?.advertisingToken, noSnapshot);
}

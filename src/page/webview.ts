/** A page inside a native app shares one identity with that app (the host). How messages travel is in `webview/host-channel.ts`. */

import type { Cause, Phase, Session, TokenAnswer } from '../session/index.ts';
import type { TokenError } from '../token/errors.ts';
import type { PhaseWithUser } from '../token/phase.ts';
import { checkAdapterOptions, checkSession } from './adapter-options.ts';
import { createHostChannel, type Message } from './webview/host-channel.ts';
import { warningsOf } from './webview/warnings.ts';

export type { Message } from './webview/host-channel.ts';

/** Options of `connectWebview`. */
export interface WebviewOptions {
  /**
   * `page`: the page refreshes, and notifies the host of each token, logout and opt-out. `host`: the page adopts what the host supplies;
   * its session has `refresh: 'off'`. Default `page`.
   */
  owner?: 'page' | 'host' | undefined;
  /** Name of the WKWebView message handler, the Android listener object or the Capacitor plugin. Default `tesseraHost`. */
  channel?: string | undefined;
  /** How long to wait for the response to `hello` or to another request, ms; a later one counts too. Default 3,000. */
  timeoutMs?: number | undefined;
}

const OPTIONS = { owner: ['page', 'host'], channel: 'string', timeoutMs: 'number' } as const;

/** A connection to the app around the page. */
export interface WebviewLink {
  /** Whether a host has responded in time. A host that responds later is also connected. Never rejects. */
  readonly ready: Promise<boolean>;
  disconnect(): void;
}

function hasUser(phase: Phase): boolean {
  if (phase === 'empty' || phase === 'optedOut') return false;
  phase satisfies PhaseWithUser;
  return true;
}

/** Minimum time between two requests for the set of one login, ms: the host may hold a set that has ended. */
const ASK_AGAIN_MS = 30_000;

/** The logins and logouts that this page knows of: `gen` in the messages. The host counts separately. */
function createLoginCount(session: Session) {
  let gen = 0;
  let isSignedIn = hasUser(session.state.phase);
  /** The host's last set, as JSON: its token may be used only later, once there is consent. */
  let fromHost = '';
  return {
    gen: () => gen,
    isSignedIn: () => isSignedIn,
    setGen: (next: number) => {
      gen = next;
    },
    /** What the host does is not a login or logout of the page. */
    hostActed: (body: unknown) => {
      fromHost = `${JSON.stringify(body)}`;
      isSignedIn = hasUser(session.state.phase);
    },
    /** A set that did not come from the host is a login. */
    tokenChanged: (advertisingToken: string, cause: Cause) => {
      if (cause === 'set' || cause === 'provide') {
        if (!fromHost.includes(advertisingToken)) gen++;
      } else cause satisfies 'refresh' | 'tab' | 'load';
    },
    /** Returns whether it is a logout: a change from a user to none. */
    phaseChanged: () => {
      const isLogout = isSignedIn && !hasUser(session.state.phase);
      isSignedIn = hasUser(session.state.phase);
      if (isLogout) gen++;
      return isLogout;
    },
  };
}

type LoginCount = ReturnType<typeof createLoginCount>;

/** The page also asks when a set has ended, so it asks at most once in {@link ASK_AGAIN_MS}, and does not adopt the same set again. */
function createSetRequests(
  session: Session,
  logins: LoginCount,
  request: (take: (answer: Message) => unknown) => Promise<void>,
  obey: (message: Message) => Promise<Partial<Message>>,
) {
  /** The last request: the login, the time, and the set that was adopted. */
  let last = { gen: -1, at: 0, set: '' };
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** When the page made the request that was answered last. */
  let answeredAt = 0;

  const ask = async (): Promise<void> => {
    const gen = logins.gen();
    // Not `Date.now`: a clock that is set back must not make the wait longer.
    const at = performance.now();
    const isSameLogin = last.gen === gen;
    const waitMs = last.at + ASK_AGAIN_MS - at;
    if (isSameLogin && waitMs > 0) {
      timer ??= setTimeout(() => {
        timer = undefined;
        if (!session.advertisingToken) void ask();
      }, waitMs);
      return;
    }
    const current = { gen, at, set: isSameLogin ? last.set : '' };
    last = current;
    await request(async (answer) => {
      if (at < answeredAt) return;
      answeredAt = at;
      const set = JSON.stringify(answer.body);
      if (answer.gen === gen && set === current.set) return;
      current.gen = Math.max(gen, answer.gen);
      // No set means that nobody is signed in.
      const withoutSet = logins.isSignedIn() ? 'clear' : 'none';
      const { error } = await obey({ ...answer, type: answer.body ? 'set' : withoutSet });
      if (typeof __TESSERA_PRODUCTION__ === 'undefined') warningsOf(logins.gen).refused(answer, error, logins.gen());
      // Rejected, for example because there is no consent: the next event asks again at once.
      if (error) current.at = -ASK_AGAIN_MS;
      else if (answer.body) current.set = set;
    });
  };
  return { ask, stop: () => clearTimeout(timer) };
}

function createExchange(session: Session, logins: LoginCount, options: WebviewOptions) {
  const given = { __proto__: null, ...options } as WebviewOptions;
  const { owner = 'page', channel: name = 'tesseraHost', timeoutMs = 3_000 } = given;
  let isLinked = false;
  /** The phase in the last `changed`. */
  let announced: string | undefined;

  const status = () => ({ ...session.state, advertisingToken: session.advertisingToken });
  const announce = () => {
    announced = session.state.phase;
    if (isLinked) void channel.send('evt', 'changed', { body: status() });
  };

  const askHost = () => void (isLinked && owner === 'host' && sets.ask());

  const link = (gen: number) => {
    // Count logins and logouts from before `hello` in addition to the host's.
    logins.setGen(isLinked ? Math.max(logins.gen(), gen) : logins.gen() + gen);
    isLinked = true;
    announce();
    askHost();
  };

  /** Returns the members of the response. */
  const obey = async ({ type, gen, body }: Message): Promise<Partial<Message>> => {
    // A set changes the token at once only if the stored state is known.
    await session.ready;
    if (channel.isClosed()) return { error: 'late' };
    if (type === 'hello') link(gen);
    else if (!isLinked || gen < logins.gen()) return { error: 'late' };
    else logins.setGen(gen);
    try {
      let written: Promise<void> | undefined;
      if (type === 'set') written = session.setTokens(body as TokenAnswer);
      if (type === 'clear') written = session.clear();
      if (written) {
        logins.hostActed(body);
        await written;
      }
      return { body: status() };
    } catch (error) {
      return { error: (error as TokenError).code };
    }
  };

  const sets = createSetRequests(session, logins, (take) => channel.request('get', take), obey);
  const channel = createHostChannel({ name, timeoutMs, gen: logins.gen, receive: obey });
  return {
    announce,
    isAnnounced: () => session.state.phase === announced,
    askHost,
    /** Resolves with whether a host has answered. */
    greet: async () => {
      await channel.request('hello', obey);
      return isLinked;
    },
    stopAsking: sets.stop,
    close: channel.close,
  };
}

/**
 * Connect a session to the app around the page, if there is one. On a server it does nothing, and `ready` is false.
 *
 * @example
 * const session = createSession({ baseUrl, refresh: 'off' });
 * connectWebview(session, { owner: 'host' });
 */
export function connectWebview(session: Session, options: WebviewOptions = {}): WebviewLink {
  if (typeof __TESSERA_PRODUCTION__ === 'undefined') checkAdapterOptions('connectWebview', OPTIONS, options);
  if (typeof window === 'undefined') return { ready: Promise.resolve(false), disconnect: () => {} };
  if (typeof __TESSERA_PRODUCTION__ === 'undefined') checkSession('connectWebview', session);
  const logins = createLoginCount(session);
  const { announce, isAnnounced, askHost, greet, stopAsking, close } = createExchange(session, logins, options);
  const unsubscribes = [
    session.on('token', ({ advertisingToken, cause }) => {
      logins.tokenChanged(advertisingToken, cause);
      announce();
    }),
    session.subscribe(() => {
      // While a page is being left or restored, it briefly does not know who is signed in. That is not a logout.
      if (session.state.waitingFor === 'storage') return;
      // A logout is announced even if the sign-in before it was not.
      if (logins.phaseChanged() || (!session.advertisingToken && !isAnnounced())) announce();
    }),
    session.on('needsTokens', askHost),
    session.on('expired', askHost),
    stopAsking,
  ];
  const ready = greet();
  if (typeof __TESSERA_PRODUCTION__ === 'undefined')
    void ready.then(() => warningsOf(logins.gen).greeted(options.channel, options.timeoutMs));
  return {
    ready,
    disconnect: () => {
      if (typeof __TESSERA_PRODUCTION__ === 'undefined') warningsOf(logins.gen).close();
      for (const unsubscribe of unsubscribes) unsubscribe();
      close();
    },
  };
}

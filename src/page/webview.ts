/**
 * Webviews: the page inside a native app, and the app around it (the host), agree on one identity.
 *
 * Messages are JSON strings in both directions, in the envelope {@link Message}. Host objects are recognised by their shape;
 * nothing of React Native, WebKit, Android or Capacitor is imported.
 */

import type { Phase, Session } from '../session/index.ts';
import type { TokenError } from '../token/errors.ts';

/** The envelope. The receiver ignores unknown members. */
export interface Message {
  /** Version: 1. Others are refused. */
  readonly v: number;
  /** `tessera`: the channel may carry other messages. */
  readonly ns: string;
  /** A `req` expects a `res` with the same `id`; an `evt` expects nothing. */
  readonly kind: 'req' | 'res' | 'evt';
  readonly id?: string | undefined;
  /** How many logins and logouts the sender knows of. A message with fewer than the receiver knows is late, and refused. */
  readonly gen: number;
  /** In both directions `hello`; to the host `get`, `changed`; to the page `get`, `set`, `clear`. */
  readonly type: string;
  readonly body?: unknown;
  /** In a `res`: why the request was refused. */
  readonly error?: string | undefined;
}

export interface WebviewOptions {
  /**
   * `page`: the page refreshes, and notifies the host of each token, logout and opt-out. `host`: the host refreshes, and the
   * page adopts what the host supplies; its session has `refresh: 'off'`. Default `page`.
   */
  owner?: 'page' | 'host' | undefined;
  /** Name of the WKWebView message handler, the Android listener object or the Capacitor plugin. Default `tesseraHost`. */
  channel?: string | undefined;
  /** How long to wait for the answer to a greeting or a request, ms. Default 3,000. */
  timeoutMs?: number | undefined;
}

export interface WebviewLink {
  /** Whether a host has answered in time. A host that answers later is linked too. Never rejects. */
  readonly ready: Promise<boolean>;
  /** Stop listening and sending. */
  disconnect(): void;
}

/** The members that are used of the objects that hosts put into a page; `addListener` is that of a Capacitor plugin. */
interface Port {
  postMessage(message: unknown): unknown;
  onmessage?: Listener;
  addListener?(event: 'message', listener: Listener): unknown;
}
type Listener = (event: { source?: unknown; origin?: string; data: unknown }) => void;
type Post = (text: string) => unknown;
type Hosts = { [channel: string]: Port | undefined } & {
  webkit?: { messageHandlers?: Record<string, Port | undefined> };
  Capacitor?: { Plugins?: Record<string, Port | undefined> };
  ReactNativeWebView?: Port;
};

/** Interval at which an unanswered request is repeated, ms: a bridge may be installed late, and may lose early messages. */
const REPEAT_MS = 250;

const hasUser = (phase: Phase): boolean => phase !== 'empty' && phase !== 'optedOut';

/** Find the host's object, and listen to it if messages arrive through it; undefined while there is none. */
const findHost = (channel: string, hear: Listener): Post | undefined => {
  const { Capacitor, webkit, ReactNativeWebView, [channel]: listener } = window as unknown as Hosts;
  const plugin = Capacitor?.Plugins?.[channel];
  const port = plugin ?? webkit?.messageHandlers?.[channel] ?? listener ?? ReactNativeWebView;
  // Capacitor and Android deliver messages through the object that receives them.
  plugin?.addListener?.('message', hear);
  if (listener) listener.onmessage = hear;
  // Capacitor plugins take and return objects.
  return port && ((text) => port.postMessage(plugin ? { data: text } : text));
};

/** Parse a message of version 1 or another; undefined for anything that is not in this envelope. */
const parseMessage = (text: unknown): Message | undefined => {
  try {
    const message = JSON.parse(text as string) as Message;
    return message.ns === 'tessera' ? { ...message, gen: +message.gen || 0 } : undefined;
  } catch {
    return undefined; // a message of somebody else
  }
};

/** Keep requests until they are answered, and repeat them until they have waited for `timeoutMs`. */
const createRequests = (timeoutMs: number, send: (type: string, id: string) => void) => {
  const pending = new Map<string, (answer?: Message) => void>();
  return {
    pending,
    /** Resolves with the answer; undefined for none in time, or a refusal. */
    request: (type: string) =>
      new Promise<Message | undefined>((resolve) => {
        const id = Math.random().toString();
        let leftMs = timeoutMs;
        const end = (answer?: Message) => {
          clearInterval(timer);
          pending.delete(id);
          resolve(answer?.error ? undefined : answer);
        };
        const ask = () => {
          if (leftMs > 0) send(type, id);
          else end();
          leftMs -= REPEAT_MS;
        };
        const timer = setInterval(ask, REPEAT_MS);
        pending.set(id, end);
        ask();
      }),
  };
};

/**
 * Connect a session with the app around the page, if there is one.
 *
 * @param session  with `refresh: 'off'` if the host owns the identity.
 * @example
 * const session = createSession({ baseUrl, refresh: 'off' });
 * connectWebview(session, { owner: 'host' });
 */
export function connectWebview(
  session: Session,
  { owner = 'page', channel = 'tesseraHost', timeoutMs = 3_000 }: WebviewOptions = {},
): WebviewLink {
  /** Logins and logouts that are known. */
  let gen = 0;
  let isLinked = false;
  let isClosed = false;
  let post: Post | undefined;
  let isSignedIn = hasUser(session.state.phase);
  /** The token of the set that the host supplied last. */
  let fromHost: string | undefined;
  /** The phase in the last `changed`. */
  let announced: string | undefined;

  const send = async (kind: Message['kind'], type: string, more: Partial<Message> = {}) => {
    try {
      post ??= findHost(channel, hear);
      const answer = await post!(JSON.stringify({ v: 1, ns: 'tessera', kind, type, gen, ...more } satisfies Message));
      // A WKWebView handler with reply and a Capacitor plugin answer in place.
      void receive((answer as { data?: unknown } | undefined)?.data ?? answer);
    } catch {} // there is no host yet, or no longer
  };
  const { request, pending } = createRequests(timeoutMs, (type, id) => void send('req', type, { id }));

  const status = () => ({ ...session.state, advertisingToken: session.advertisingToken });
  const announce = () => {
    announced = session.state.phase;
    if (isLinked) void send('evt', 'changed', { body: status() });
  };

  /** Ask a host that owns the identity for its set; none means that nobody is signed in. */
  const askHost = async () => {
    const answer = isLinked && owner === 'host' && (await request('get'));
    if (answer) void obey({ ...answer, type: answer.body ? 'set' : isSignedIn ? 'clear' : 'none' });
  };

  /** Carry out a message of the host; returns the members of the answer. */
  const obey = async ({ type, gen: theirs, body }: Message): Promise<Partial<Message>> => {
    // A set changes the token at once only when the stored state is known.
    await session.ready;
    if (type === 'hello') {
      // Logins and logouts from before the greeting count on top of the host's.
      gen = isLinked ? Math.max(gen, theirs) : gen + theirs;
      isLinked = true;
      announce();
      void askHost();
    } else if (isClosed || !isLinked || theirs < gen) return { error: 'late' };
    else gen = theirs;
    try {
      const written = type === 'set' ? session.setTokens(body) : type === 'clear' && session.clear();
      if (written) {
        // The host's own act is neither a login nor a logout of the page.
        fromHost = session.advertisingToken;
        isSignedIn = hasUser(session.state.phase);
        await written;
      }
      return { body: status() };
    } catch (error) {
      return { error: (error as TokenError).code };
    }
  };

  const receive = async (text: unknown) => {
    const message = isClosed ? undefined : parseMessage(text);
    if (!message) return;
    const { kind, id, type, v } = message;
    const answer = v !== 1 ? { error: 'version' } : kind === 'res' ? pending.get(id!)?.(message) : await obey(message);
    if (kind === 'req') void send('res', type, { id, ...answer });
  };

  /**
   * Accept messages through the host's object (no source, no origin), of the page's own window, or of the webview (neither).
   * A message of a frame has its window as source or, once that is gone, an origin.
   */
  const hear: Listener = ({ source, origin, data }) => {
    if (source === window || (!source && !origin)) void receive(data);
  };
  addEventListener('message', hear);

  const unsubscribes = [
    () => removeEventListener('message', hear),
    session.on('token', ({ advertisingToken, cause }) => {
      if (cause === 'set' && advertisingToken !== fromHost) gen++;
      announce();
    }),
    session.subscribe(() => {
      // A page that is being left or restored does not know for a moment who is signed in: that is not a logout.
      if (session.state.waitingFor === 'storage') return;
      const wasSignedIn = isSignedIn;
      isSignedIn = hasUser(session.state.phase);
      if (wasSignedIn && !isSignedIn) gen++;
      if (!session.advertisingToken && session.state.phase !== announced) announce();
    }),
    session.on('needsTokens', askHost),
    session.on('expired', askHost),
  ];

  return {
    ready: request('hello').then(async (answer) => {
      if (answer) await obey(answer);
      return isLinked;
    }),
    disconnect: () => {
      isClosed = true;
      for (const end of [...unsubscribes, ...pending.values()]) end();
    },
  };
}

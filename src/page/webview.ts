/**
 * Webviews: the page inside a native app, and the app around it, agree on one identity.
 *
 * Messages are JSON texts both ways, in the envelope {@link Message}. Host objects are found by what they look like; nothing of
 * React Native, WebKit, Android or Capacitor is imported.
 */

import type { Session } from '../session/index.ts';
import type { TokenError } from '../token/errors.ts';

/** The envelope. What it has beyond these members is ignored. */
export interface Message {
  /** Version: 1. Another is refused. */
  readonly v: number;
  /** `tessera`: the channel may carry other messages. */
  readonly ns: string;
  /** `req` wants a `res` with the same `id`; `evt` wants nothing. */
  readonly kind: 'req' | 'res' | 'evt';
  readonly id?: string | undefined;
  /** How many logins and logouts the sender knows of: a message with fewer than the receiver's is late, and refused. */
  readonly gen: number;
  /** Both ways `hello`; to the host `get`, `changed`; to the page `get`, `set`, `clear`. */
  readonly type: string;
  readonly body?: unknown;
  /** In a `res`: why not. */
  readonly error?: string | undefined;
}

export interface WebviewOptions {
  /**
   * `page`: the page refreshes, and tells the host of each token, logout and opt-out. `host`: the host refreshes, the page
   * adopts what it is told; its session has `refresh: 'off'`. Default `page`.
   */
  owner?: 'page' | 'host' | undefined;
  /** Name of the WKWebView message handler, the Android listener object or the Capacitor plugin. Default `tesseraHost`. */
  channel?: string | undefined;
  /** How long to greet a host, and to wait for an answer of one, ms. Default 3,000. */
  timeoutMs?: number | undefined;
}

export interface WebviewLink {
  /** Whether a host has answered in time. One that comes later is heard all the same. Never rejects. */
  readonly ready: Promise<boolean>;
  disconnect(): void;
}

/** What is used of the objects that hosts put into a page; `addListener` is a Capacitor plugin's. */
interface Port {
  postMessage(message: unknown): unknown;
  onmessage?: Listener;
  addListener?(event: 'message', listener: Listener): unknown;
}
type Listener = (event: { source?: unknown; origin?: string; data: unknown }) => void;
type Hosts = { [channel: string]: Port | undefined } & {
  webkit?: { messageHandlers?: Record<string, Port | undefined> };
  Capacitor?: { Plugins?: Record<string, Port | undefined> };
  ReactNativeWebView?: Port;
};

/** How often an unanswered request is repeated, with the same id: bridges come late, and some lose what comes early. */
const REPEAT_MS = 250;

/**
 * Connect a session with the app around the page, if there is one.
 *
 * @example
 * const session = createSession({ baseUrl, refresh: 'off' });
 * connectWebview(session, { owner: 'host' });
 */
export function connectWebview(
  session: Session,
  { owner = 'page', channel = 'tesseraHost', timeoutMs = 3_000 }: WebviewOptions = {},
): WebviewLink {
  /** Logins and logouts known. */
  let gen = 0;
  let linked = false;
  let closed = false;
  let post: ((text: string) => unknown) | undefined;
  const waiting = new Map<string, (answer?: Message) => void>();

  const hasUser = () => !/empty|opted/.test(session.state.phase);
  let user = hasUser();
  /** The token that the host supplied last. */
  let supplied: string | undefined;
  /** The phase that the host was told last. */
  let told: string | undefined;

  const send = async (kind: Message['kind'], type: string, more: Partial<Message> = {}) => {
    try {
      if (!post) {
        const { Capacitor, webkit, ReactNativeWebView, [channel]: listener } = window as unknown as Hosts;
        const plugin = Capacitor?.Plugins?.[channel];
        const port = plugin ?? webkit?.messageHandlers?.[channel] ?? listener ?? ReactNativeWebView;
        // These two speak through the object that they are spoken to.
        plugin?.addListener?.('message', hear);
        if (listener) listener.onmessage = hear;
        // Plugins take and give objects.
        if (port) post = (text) => port.postMessage(plugin ? { data: text } : text);
      }
      const answer = await post!(JSON.stringify({ v: 1, ns: 'tessera', kind, type, gen, ...more } satisfies Message));
      // Of a WKWebView handler with reply, or of a plugin.
      void receive((answer as { data?: unknown } | undefined)?.data ?? answer);
    } catch {} // no host yet, or none any more
  };

  const request = (type: string) =>
    new Promise<Message | undefined>((resolve) => {
      const id = Math.random().toString();
      let leftMs = timeoutMs;
      const end = (answer?: Message) => {
        clearInterval(repeat);
        waiting.delete(id);
        resolve(answer?.error ? undefined : answer);
      };
      const ask = () => {
        if (leftMs > 0) void send('req', type, { id });
        else end();
        leftMs -= REPEAT_MS;
      };
      const repeat = setInterval(ask, REPEAT_MS);
      waiting.set(id, end);
      ask();
    });

  const status = () => ({ ...session.state, advertisingToken: session.advertisingToken });
  const tell = () => {
    told = session.state.phase;
    if (linked) void send('evt', 'changed', { body: status() });
  };

  /** Ask a host that owns for the set that it holds; none: nobody is signed in. */
  const pull = async () => {
    const answer = linked && owner === 'host' && (await request('get'));
    if (answer) void obey({ ...answer, type: answer.body ? 'set' : user ? 'clear' : 'none' });
  };

  /** Do what the host says; gives what goes into the answer. */
  const obey = async ({ type, gen: theirs, body }: Message): Promise<Partial<Message>> => {
    // From then on, what a set changes is seen at once.
    await session.ready;
    if (type === 'hello') {
      // What the page did before it met the host comes on top.
      gen = linked ? Math.max(gen, theirs) : gen + theirs;
      linked = true;
      tell();
      void pull();
    } else if (closed || !linked || theirs < gen) return { error: 'late' };
    else gen = theirs;
    try {
      const written = type === 'set' ? session.setTokens(body) : type === 'clear' && session.clear();
      if (written) {
        // By the host's word, so neither the page's own login nor its logout.
        supplied = session.advertisingToken;
        user = hasUser();
        await written;
      }
      return { body: status() };
    } catch (error) {
      return { error: (error as TokenError).code };
    }
  };

  const receive = async (text: unknown) => {
    let message: Message | undefined;
    try {
      message = JSON.parse(text as string);
    } catch {} // somebody else's
    if (closed || message?.ns !== 'tessera') return;
    const { kind, id, type, v } = message;
    message = { ...message, gen: +message.gen || 0 };
    const answer = v !== 1 ? { error: 'version' } : kind === 'res' ? waiting.get(id!)?.(message) : await obey(message);
    if (kind === 'req') void send('res', type, { id, ...answer });
  };

  /**
   * Hear what comes from the host: through its object (no source, no origin), as the page's own message, or as one of the
   * webview (neither). A frame's message shows its window or, once that is gone, its origin.
   */
  const hear: Listener = ({ source, origin, data }) => {
    if (source === window || (!source && !origin)) void receive(data);
  };
  addEventListener('message', hear);

  const ends = [
    () => removeEventListener('message', hear),
    session.on('token', ({ advertisingToken, cause }) => {
      if (cause === 'set' && advertisingToken !== supplied) gen++;
      tell();
    }),
    session.subscribe(() => {
      // A page that leaves, or comes back, does not know for a moment who is signed in: that is no logout.
      if (session.state.waitingFor === 'storage') return;
      const before = user;
      user = hasUser();
      if (before && !user) gen++;
      if (!session.advertisingToken && session.state.phase !== told) tell();
    }),
    session.on('needsTokens', pull),
    session.on('expired', pull),
  ];

  return {
    ready: request('hello').then(async (answer) => {
      if (answer) await obey(answer);
      return linked;
    }),
    disconnect: () => {
      closed = true;
      for (const end of [...ends, ...waiting.values()]) end();
    },
  };
}

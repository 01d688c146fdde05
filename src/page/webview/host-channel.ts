/** The channel between a page and the app around it (the host). It knows nothing about sessions. */

import { warningsOf } from './warnings.ts';

/** The envelope, as JSON text in both directions. The receiver ignores unknown members. */
export interface Message {
  /** Version: 1. Others are rejected. */
  readonly v: number;
  /** `tessera`: the channel may carry other messages. */
  readonly ns: string;
  /** A `req` expects a `res` with the same `id`; an `evt` expects nothing. */
  readonly kind: 'req' | 'res' | 'evt';
  readonly id?: string | undefined;
  /** How many logins and logouts the sender knows of. If the receiver knows of more, the message is late and is rejected. */
  readonly gen: number;
  /** In both directions `hello`; to the host `get`, `changed`; to the page `get`, `set`, `clear`. */
  readonly type: string;
  readonly body?: unknown;
  /** In a `res`: why the request was rejected. */
  readonly error?: string | undefined;
}

/** `addListener` belongs to Capacitor plugins. */
interface Port {
  postMessage(message: unknown): unknown;
  onmessage?: Listener | null;
  addListener?(event: 'message', listener: Listener): ListenerHandle | Promise<ListenerHandle>;
}
type ListenerHandle = { remove?(): unknown } | undefined;
type Listener = (event: { source?: unknown; origin?: string; data: unknown }) => void;
type Ports = Record<string, Port | undefined>;

interface Host {
  post(text: string): unknown;
  leave(): void;
}

/** An unanswered request is repeated: a bridge may be installed late, and may lose early messages. */
const REPEAT_MS = 250;

/** In an own property of `window`, see `clobbering.ts`, but `webkit`, which is the engine's: an element there has no message handlers. */
function readPort<T>(name: string, read: (found: T) => Port | undefined): Port | undefined {
  try {
    const isHosts = name === 'webkit' || Object.getOwnPropertyDescriptor(window, name);
    return isHosts ? read(Reflect.get(window, name)) : undefined;
  } catch {
    return undefined;
  }
}

function findHost(channel: string, hear: Listener): Host | undefined {
  const plugin = readPort<{ Plugins?: Ports }>('Capacitor', ({ Plugins }) => Plugins?.[channel]);
  const handler = readPort<{ messageHandlers?: Ports }>('webkit', (webkit) => webkit.messageHandlers?.[channel]);
  const listener = readPort<Port>(channel, (port) => port);
  const port = plugin ?? handler ?? listener ?? readPort<Port>('ReactNativeWebView', (native) => native);
  // Capacitor and Android deliver through the object that receives. `addListener` rejects without an implementation, as in a browser.
  const added = Promise.resolve(plugin?.addListener?.('message', hear)).catch(() => {});
  if (listener) listener.onmessage = hear;
  return (
    port && {
      // Capacitor plugins accept and return objects.
      post: (text) => port.postMessage(plugin ? { data: text } : text),
      leave: () => {
        if (listener?.onmessage === hear) listener.onmessage = null;
        added.then((handle) => handle?.remove?.()).catch(() => {}); // the app is gone
      },
    }
  );
}

/** A message of any version; undefined for anything that is not in this envelope. */
function parseMessage(text: unknown): Message | undefined {
  try {
    const message = { __proto__: null, ...JSON.parse(text as string) } as Message;
    // Throws if the message is nested too deeply to be written again.
    JSON.stringify(message);
    return message.ns === 'tessera' ? Object.assign(message, { gen: +message.gen || 0 }) : undefined;
  } catch {
    return undefined; // another script's message
  }
}

/** For the Inspector, without the body. */
function note(from: string, { kind, type, gen, error }: Message): void {
  dispatchEvent(new CustomEvent('tessera:message', { detail: { from, kind, type, gen, error } }));
}

/** Requests are kept until they are answered, however late, and repeated until they have waited for `timeoutMs`. */
function createRequests(timeoutMs: number, send: (type: string, id: string) => void) {
  const pending = new Map<string, (answer?: Message) => void>();
  return {
    pending,
    /** Resolves when `take` has the response, or when there is none in time: `take` may have it later. */
    request: (type: string, take: (answer: Message) => unknown) =>
      new Promise<void>((resolve) => {
        const id = `${Math.random()}`;
        let leftMs = timeoutMs;
        const end = async (answer?: Message) => {
          clearInterval(timer);
          if (answer) pending.delete(id);
          if (answer && !answer.error) await take(answer);
          resolve();
        };
        const ask = () => {
          if (leftMs > 0) send(type, id);
          else void end();
          leftMs -= REPEAT_MS;
        };
        const timer = setInterval(ask, REPEAT_MS);
        pending.set(id, end);
        ask();
      }),
  };
}

interface ChannelOptions {
  readonly name: string;
  readonly timeoutMs: number;
  gen(): number;
  /** Carry out a message that is not an answer; returns the members of the response. */
  receive(message: Message): Promise<Partial<Message>>;
}

/** The host may appear later, or never. */
export function createHostChannel({ name, timeoutMs, gen, receive }: ChannelOptions) {
  let isClosed = false;
  let host: Host | undefined;

  const send = async (kind: Message['kind'], type: string, more?: Partial<Message>) => {
    if (isClosed) return;
    try {
      host ??= findHost(name, hear);
      const { post } = host!;
      const message = { v: 1, ns: 'tessera', kind, type, gen: gen(), ...more } satisfies Message;
      if (typeof __TESSERA_PRODUCTION__ === 'undefined') warningsOf(gen).sent(message);
      note('page', message);
      const reply = await post(JSON.stringify(message));
      // A WKWebView handler with reply and a Capacitor plugin answer in place.
      void accept(({ __proto__: null, ...(reply as object) } as { data?: unknown }).data ?? reply);
    } catch {} // there is no host yet, or no host any more
  };
  const { request, pending } = createRequests(timeoutMs, (type, id) => void send('req', type, { id }));

  const accept = async (text: unknown) => {
    const message = parseMessage(text);
    if (typeof __TESSERA_PRODUCTION__ === 'undefined' && !isClosed) warningsOf(gen).heard(text, message);
    if (isClosed || !message) return;
    note('app', message);
    const { v, kind, type, id } = message;
    const handle = kind === 'res' ? pending.get(id!) : receive;
    const result = v === 1 ? await handle?.(message) : { error: 'version' };
    if (typeof __TESSERA_PRODUCTION__ === 'undefined') warningsOf(gen).refused(message, result?.error, gen());
    if (kind === 'req') void send('res', type, { id, ...result });
  };

  // A message of a frame has its window as source or, once that is gone, an origin. Of the host, it has neither. React Native
  // dispatches on the window on iOS, but on the document on Android, where it does not bubble: the window captures both.
  const hear: Listener = ({ source, origin, data }) => {
    if (source === window || !(source || origin)) void accept(data);
  };
  addEventListener('message', hear, true);

  return {
    send,
    request,
    isClosed: () => isClosed,
    close: () => {
      isClosed = true;
      removeEventListener('message', hear, true);
      pending.forEach((end) => void end());
      host?.leave();
    },
  };
}

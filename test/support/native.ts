/**
 * Fake native hosts of a webview, as each kind presents itself to scripts: what it defines on `window`, and how its messages
 * reach the page. The test decides what a host sends, and when.
 */

import type { Message } from '../../src/page/webview.ts';

export const KINDS = [
  'React Native',
  'React Native on Android',
  'WKWebView',
  'WKWebView with reply',
  'Android',
  'Capacitor',
] as const;
export type Kind = (typeof KINDS)[number];

/** The name of the hosts' channel in these tests. */
export const CHANNEL = 'tesseraHost';

/** Define a property of `window`; undefined removes it. */
const put = (name: string, value: unknown) => {
  if (value) Object.defineProperty(window, name, { value, configurable: true, writable: true });
  else Reflect.deleteProperty(window, name);
};

export const leaveHost = () => {
  for (const name of ['ReactNativeWebView', 'webkit', 'Capacitor', CHANNEL]) put(name, undefined);
};

/** Dispatch a message to the page, as if a script of the page had posted it. */
export const postHere = (data: unknown) =>
  window.dispatchEvent(new MessageEvent('message', { data, source: window, origin: 'https://page.example' }));

/** Create a host that `arrive` installs. `answer` returns its answer to a request, or undefined for none. */
export const createHost = (kind: Kind, answer: (message: Message) => object | undefined = () => undefined) => {
  const received: Message[] = [];
  let toPage: (text: string) => void = postHere;
  let plugin: ((event: { data: string }) => void) | undefined;

  const say = (message: object) => toPage(JSON.stringify({ v: 1, ns: 'tessera', kind: 'evt', gen: 0, ...message }));
  /** Handle a message; returns the text of the answer. */
  const take = (text: unknown): string | undefined => {
    if (typeof text !== 'string') throw new TypeError('expected a string');
    const message = JSON.parse(text) as Message;
    received.push(message);
    const said = message.kind === 'req' && answer(message);
    const { id, type } = message;
    return said ? JSON.stringify({ v: 1, ns: 'tessera', kind: 'res', gen: 0, id, type, ...said }) : undefined;
  };
  /** Handle a message, and answer with a message. */
  const reply = (text: unknown) => {
    const said = take(text);
    if (said) toPage(said);
  };

  const arrive: Record<Kind, () => void> = {
    'React Native': () => put('ReactNativeWebView', { postMessage: reply }),
    'React Native on Android': () => {
      // `postMessage` of its WebView: the event does not bubble.
      toPage = (data) => document.dispatchEvent(new MessageEvent('message', { data }));
      put('ReactNativeWebView', { postMessage: reply });
    },
    WKWebView: () => put('webkit', { messageHandlers: { [CHANNEL]: { postMessage: reply } } }),
    'WKWebView with reply': () =>
      put('webkit', { messageHandlers: { [CHANNEL]: { postMessage: async (text: unknown) => take(text) } } }),
    Android: () => {
      const object = { postMessage: reply, onmessage: (_: { data: string }) => {} };
      toPage = (text) => object.onmessage({ data: text });
      put(CHANNEL, object);
    },
    Capacitor: () => {
      toPage = (text) => plugin?.({ data: text });
      const postMessage = async ({ data }: { data: unknown }) => ({ data: take(data) });
      const addListener = async (_: string, listener: typeof plugin) => {
        plugin = listener;
      };
      put('Capacitor', { Plugins: { [CHANNEL]: { postMessage, addListener } } });
    },
  };
  return { received, say, arrive: arrive[kind] };
};

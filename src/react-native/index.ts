/**
 * `tessera-id/react-native`: the app's side of `tessera-id/webview`, for React Native with `react-native-webview`. `machine.ts`
 * has the rules; this file connects it with the storage, the network, timers, the app's functions and its webviews.
 */

import { TokenError } from '../token/errors.ts';
import { parseAnswer, type TokenSet } from '../token/token-set.ts';
import { requestRefresh } from './http.ts';
import { Machine } from './machine.ts';
import { parseBaseUrl, parseOrigins } from './settings.ts';
import type { Effects } from './state.ts';
import type { TesseraHost, TesseraHostOptions, TesseraView } from './types.ts';

export { isTokenError, TokenError } from '../token/errors.ts';
export type { TokenAnswer, WireTokenSet } from '../token/token-set.ts';
export { type SecureStore, secureStorage } from './secure-storage.ts';
export type { TesseraHost, TesseraHostOptions, TesseraStorage, TesseraView, TokenRequest } from './types.ts';

const taken = new Set<unknown>();

/** The longest delay of a timer, ms. */
const MAX_TIMER_MS = 2_147_483_647;

function nameOf(error: unknown): string {
  return `${(error as Error | undefined)?.name ?? error}`;
}

/** The views by number. The host holds none of them: an unmounted one may be collected. */
function createViews(origins: readonly string[]) {
  /** 0: it is detached. */
  const numbers = new WeakMap<TesseraView, number>();
  const refs = new Map<number, WeakRef<TesseraView>>();
  let count = 0;
  /** A site cannot change what `location.origin` returns, but the methods of arrays. */
  const isOwnPage = origins.map((origin) => `location.origin === ${JSON.stringify(origin)}`).join(' || ');
  return {
    /** Android's WebView may have no URL. */
    isOwnUrl: (url: string | null | undefined) =>
      origins.some((origin) => url === origin || url?.startsWith(`${origin}/`)),
    attach: (view: TesseraView) => {
      if (numbers.get(view) === 0) numbers.delete(view);
    },
    numberOf: (view: TesseraView): number => {
      const number = numbers.get(view) ?? ++count;
      numbers.set(view, number);
      if (number) refs.set(number, new WeakRef(view));
      return number;
    },
    detach: (view: TesseraView): number => {
      const number = numbers.get(view) ?? 0;
      numbers.set(view, 0);
      refs.delete(number);
      return number;
    },
    /** Returns false if the view is gone. */
    send: (number: number, text: string): boolean => {
      const view = refs.get(number)?.deref();
      // Not `postMessage`, with which any other site that the webview shows by now would receive the set.
      view?.injectJavaScript(`if (${isOwnPage}) window.postMessage(${JSON.stringify(text)}, '/'); true;`);
      if (!view) refs.delete(number);
      return !!view;
    },
    clear: () => refs.clear(),
  };
}

function createChanges() {
  const waiting = new Map<number, { resolve(): void; reject(error: Error): void }>();
  return {
    /** A caller who ignores the promise causes no unhandled rejection. */
    promise: (start: () => number): Promise<void> => {
      const stored = new Promise<void>((resolve, reject) => {
        const change = start();
        if (change) waiting.set(change, { resolve, reject });
        else resolve();
      });
      stored.catch(() => {});
      return stored;
    },
    settle: (until: number, error: string | undefined): void => {
      for (const [change, { resolve, reject }] of waiting) {
        if (change > until) continue;
        waiting.delete(change);
        if (error === undefined) resolve();
        else reject(new TokenError('storage_failed', `the storage has not confirmed the change: ${error}`));
      }
    },
  };
}

/** What the machine has done: timers, storage, network, the app's functions. What arrives from them is passed to `machine()`. */
function createEffects(
  { storage, onToken, onLog }: TesseraHostOptions,
  baseUrl: string,
  machine: () => Machine,
): Omit<Effects, 'send' | 'settled' | 'released' | 'needsTokens'> {
  const running = new Map<number, AbortController>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const log = (line: string) => {
    try {
      onLog?.(line);
    } catch {} // a log harms nothing
  };
  return {
    log,
    wall: () => Date.now(),
    uptime: () => performance.now(),
    wakeIn: (ms) => {
      clearTimeout(timer);
      if (ms !== undefined) timer = setTimeout(() => machine().wake(), Math.min(ms, MAX_TIMER_MS));
    },
    // In an `async` function, a storage that throws rejects.
    read: () =>
      void (async () => storage.read())().then(
        (text) => machine().readEnded(text ?? null),
        (error) => machine().readEnded(null, nameOf(error)),
      ),
    write: (id, text) =>
      void (async () => storage.write(text))().then(
        () => machine().writeEnded(id),
        (error) => machine().writeEnded(id, nameOf(error)),
      ),
    refresh: (id, set) => {
      const controller = new AbortController();
      running.set(id, controller);
      void requestRefresh(baseUrl, set, controller).then((outcome) => {
        running.delete(id);
        machine().refreshEnded(id, outcome);
      });
    },
    cancel: (id) => running.get(id)?.abort(),
    token: (token) => call('onToken', () => onToken?.(token), log),
  };
}

/** Run a function of the app: one that throws or rejects is reported, and harms nothing. */
function call(name: string, work: () => unknown, log: (line: string) => void): void {
  void (async () => work())().catch((error) => log(`${name}: ${nameOf(error)}`));
}

function parse(answer: unknown): TokenSet | undefined {
  const parsed = parseAnswer(answer);
  return parsed === 'optout' ? undefined : parsed;
}

/**
 * Create the app's side, which shares one identity with the pages in the app's webviews and keeps it between starts of the app.
 * @throws {TypeError} for a wrong setting. {Error} if another host has the storage: call its `close` before.
 * @example
 * const host = createTesseraHost({ baseUrl, origins: ['https://www.publisher.example'], storage: secureStorage(SecureStore) });
 * await host.signedIn(answer);
 */
export function createTesseraHost(options: TesseraHostOptions): TesseraHost {
  const { storage, owner = 'app', onNeedsTokens, allowInsecure = false } = options;
  const baseUrl = parseBaseUrl(options.baseUrl, allowInsecure);
  const views = createViews(parseOrigins(options.origins, allowInsecure));
  if (owner !== 'app' && owner !== 'page') throw new TypeError('owner: expected "app" or "page"');
  const key = storage.name ?? storage;
  if (taken.has(key)) throw new Error('storage: another host has it; close that host first');
  taken.add(key);
  const changes = createChanges();
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const effects = createEffects(options, baseUrl, () => machine);
  const change = (start: () => number): Promise<void> =>
    changes.promise(() => {
      if (machine.isClosed) throw new TokenError('closed', 'the host is closed');
      return start();
    });
  const renew = async (request: number, answer: unknown): Promise<boolean> => {
    let used = 0;
    await change(() => (used = machine.renew(request, answer === null ? null : parse(answer))));
    return used > 0;
  };
  const machine = new Machine(owner, {
    ...effects,
    send: (view, text) => {
      try {
        if (!views.send(view, text)) machine.left(view);
      } catch (error) {
        effects.log(`page: ${nameOf(error)}`); // it may be gone
      }
    },
    settled: changes.settle,
    released: () => {
      taken.delete(key);
      release();
    },
    needsTokens: (request) =>
      call('onNeedsTokens', () => onNeedsTokens?.({ renew: (answer) => renew(request, answer) }), effects.log),
  });
  machine.start();
  return {
    get advertisingToken() {
      return machine.advertisingToken;
    },
    signedIn: (answer) => change(() => machine.changed(parse(answer))),
    signedOut: () => change(() => machine.changed(null)),
    optedOut: () => change(() => machine.changed(undefined)),
    resume: () => machine.resume(),
    pause: () => machine.pause(),
    onMessage: ({ nativeEvent: { data, url } }, view) => {
      const number = views.isOwnUrl(url) ? views.numberOf(view) : undefined;
      if (number) machine.received(number, data);
    },
    attach: views.attach,
    detach: (view) => machine.left(views.detach(view)),
    close: () => {
      machine.close();
      views.clear();
      return released;
    },
  };
}

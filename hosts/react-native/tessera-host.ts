/**
 * The app's side of `tessera-id/webview`, for React Native with `react-native-webview`. Copy this file into your app.
 *
 * It needs the package `tessera-id`, React Native 0.79 (before, Metro finds `tessera-id/token` only with the option
 * `unstable_enablePackageExports`), react-native-webview 13.13.1, and `atob`, `TextDecoder` and `fetch` in the app's runtime. Without
 * Web Crypto, answers are decrypted by `@noble/ciphers`, a dependency of the package. The messages are described in docs/webview.md. Tested in Node, with a
 * stand-in of react-native-webview, a session and an operator; not in React Native, and not on a device.
 */

import { openRefresh, parseAnswer, parseStoredTokenSet, type TokenSet, toWire } from 'tessera-id/token';

/** Where the app keeps the identity. It contains secrets: use the Keychain or the Keystore, and leave it out of backups. */
export interface TesseraStorage {
  /** Return what was last written, or null. */
  read(): Promise<string | null>;
  write(text: string): Promise<unknown>;
}

/** The ref of a `<WebView>`. */
export interface TesseraView {
  injectJavaScript(script: string): void;
}

export interface TesseraHostOptions {
  /** The operator, `https://operator.example`. */
  readonly baseUrl: string;
  /** The origins of your pages, `https://www.publisher.example`. Messages of other pages are ignored. */
  readonly origins: readonly string[];
  readonly storage: TesseraStorage;
  /**
   * Who refreshes the identity. With `app`, the default, the page has `owner: 'host'` and `refresh: 'off'`; with `page`, the defaults.
   */
  readonly owner?: 'app' | 'page' | undefined;
  /** There is another advertising token, or, if it is undefined, none any more. */
  readonly onToken?: ((advertisingToken: string | undefined) => void) | undefined;
  /**
   * With `owner: 'app'`: a user is signed in and there is no set, or the service no longer accepts it. Request one from your server for
   * the user who is signed in there, and pass it to `renewed`; if nobody is, call `signedOut`. Called again at the next start of the app
   * and at each `resume` until you have done so. If another user has signed in meanwhile, drop the set.
   */
  readonly onNeedsTokens?: (() => void) | undefined;
  /** A line for a debug log: a message without its body, or a failure. It contains no token and no key. */
  readonly onLog?: ((line: string) => void) | undefined;
}

export interface TesseraHost {
  /** The token for the app's own ads; undefined if there is none, if it has expired, and after a logout or an opt-out. */
  readonly advertisingToken: string | undefined;
  /**
   * `onMessage` of the `<WebView>`, with its ref. From react-native-webview 13.13.1, `url` is that of the frame that has sent the message;
   * before, and in an Android WebView without `WEB_MESSAGE_LISTENER`, it is that of the page, so frames of other sites count as the page.
   */
  onMessage(event: { readonly nativeEvent: { readonly data: string; readonly url: string } }, view: TesseraView): void;
  /** The `<WebView>` is unmounted. */
  detach(view: TesseraView): void;
  /**
   * A user has signed in in the app.
   *
   * @param answer  parsed JSON that your server has received from the operator: a `generate` response, its body or an opt-out.
   * @throws {TokenError} `invalid_token_set` for anything else. Then nothing has changed.
   */
  signedIn(answer: unknown): void;
  /** As `signedIn`, with a newer set of the same user, whom the app has not signed in again. After `signedOut` or an opt-out it changes nothing. */
  renewed(answer: unknown): void;
  /** The user has signed out in the app. */
  signedOut(): void;
  /** The app is in the foreground (`AppState` is `active`), or the network is back. A refresh that is due starts now. */
  resume(): void;
  /** The app is in the background: no refresh starts until `resume`. */
  pause(): void;
}

const USERS = ['unknown', 'signedIn', 'signedOut', 'optedOut'] as const;
type User = (typeof USERS)[number];

/** What the app keeps. */
interface State {
  readonly gen: number;
  readonly user: User;
  /** What the app was given or has refreshed. After an opt-out: a set that the service has yet to accept or refuse. */
  readonly set?: TokenSet | undefined;
  /** The last token of which the app knows; `expiresAt` is epoch ms. */
  readonly told?: { readonly token: string; readonly expiresAt: number } | undefined;
}

/** A message of a page, of which nothing is known to be valid. */
interface Received {
  readonly v?: unknown;
  readonly ns?: unknown;
  readonly kind?: unknown;
  readonly id?: unknown;
  readonly type?: unknown;
  readonly gen?: unknown;
  readonly body?: {
    readonly phase?: unknown;
    readonly advertisingToken?: unknown;
    readonly expiresAt?: unknown;
  } | null;
}

interface Outcome {
  readonly name: string;
  readonly set?: TokenSet | undefined;
  /** The service's clock, epoch ms. */
  readonly date?: number | undefined;
  readonly retryAfterMs?: number | undefined;
}

const TIMEOUT_MS = 10_000;
const FIRST_PAUSE_MS = 5_000;
const MIN_PAUSE_MS = 30_000;
const DUE_ON_ARRIVAL_MS = 60_000;
const MAX_PAUSE_MS = 300_000;
const DAY_MS = 86_400_000;
/** The longest delay of a timer, ms. */
const MAX_TIMER_MS = 2_147_483_647;
/** The statuses with which the service ends a refresh token. */
const ENDED = ['invalid_token', 'expired_token'];

function parse<T>(text: string): T | undefined {
  try {
    return (JSON.parse(text) ?? undefined) as T | undefined;
  } catch {
    return undefined; // the page's other scripts use the same bridge
  }
}

/** Read what the app has stored. Anything else is no state. */
function parseState(text: string | null): State {
  try {
    const { gen, user, set, told } = JSON.parse(text ?? '') as State;
    if (USERS.includes(user)) return { gen: Number(gen) || 0, user, told, set: set && parseStoredTokenSet(set) };
  } catch {}
  return { gen: 0, user: 'unknown' };
}

/** Ask the service for a newer set. */
async function refreshSet(baseUrl: string, set: TokenSet): Promise<Outcome> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), TIMEOUT_MS);
  try {
    const response = await fetch(`${baseUrl.replace(/\/+$/, '')}/v2/token/refresh`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: set.refreshToken,
      credentials: 'omit',
      // A redirect would send the refresh token to another server. The `fetch` of React Native itself ignores this, as `credentials`.
      redirect: 'error',
      // On the web, where this file may run too, the address of the page could contain personal data.
      referrerPolicy: 'no-referrer',
      signal: controller.signal,
    });
    const text = await response.text();
    const { status, headers } = response;
    const more = {
      date: Date.parse(headers.get('date') ?? '') || undefined,
      retryAfterMs: Number(headers.get('retry-after')) * 1000 || 0,
    };
    if (status === 200) {
      const answer = parseAnswer(JSON.parse(await openRefresh(text, set.responseKeyB64)));
      return answer === 'optout' ? { name: 'optout', ...more } : { name: 'success', set: answer, ...more };
    }
    const refusal = status === 400 && parse<{ status?: string }>(text)?.status;
    return { name: refusal && ENDED.includes(refusal) ? refusal : `failed: HTTP ${status}`, ...more };
  } catch (error) {
    return { name: `failed: ${(error as Error).name}` };
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Create the app's side, which shares one identity with the pages in the app's webviews and keeps it between starts of the app.
 * Resolves when the stored state is known; render webviews after that.
 */
export async function createTesseraHost(options: TesseraHostOptions): Promise<TesseraHost> {
  const { baseUrl, origins, storage, owner = 'app', onToken, onNeedsTokens, onLog } = options;
  const views = new Set<TesseraView>();
  /** The views whose page has been handed the set once more, because it had lost it. */
  const restored = new Set<TesseraView>();
  let isActive = true;
  let isRefreshing = false;
  /** The service has refused the set: only `onNeedsTokens` helps. */
  let isRefused = false;
  let failures = 0;
  /** No refresh starts before this instant of `now`. */
  let notBefore = 0;
  /** The service has asked for the pause: `resume` does not end it. */
  let isPauseAsked = false;
  /** The service's clock minus this device's, ms; 0 within a minute. */
  let offsetMs = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const failed = (what: string, error: unknown) => onLog?.(`${what}: ${(error as Error)?.name}`);
  const read = await storage.read().catch((error) => {
    failed('storage', error);
    return null;
  });
  let state = parseState(read);
  let writing: Promise<unknown> = Promise.resolve();

  /** An expression in a page. A site cannot change what `location.origin` returns, but the methods of arrays. */
  const isOwnPage = origins.map((origin) => `location.origin === ${JSON.stringify(origin)}`).join(' || ');

  const now = () => Date.now() + offsetMs;
  const told = () => {
    if (state.user === 'optedOut') return undefined;
    const { set } = state;
    return owner === 'app' && set ? { token: set.advertisingToken, expiresAt: set.expiresAt } : state.told;
  };
  const token = () => {
    const last = told();
    return last && now() < last.expiresAt ? last.token : undefined;
  };
  let lastToken = token();
  const notifyToken = () => {
    const next = token();
    if (next === lastToken) return;
    lastToken = next;
    onToken?.(next);
  };

  // Messages

  const log = (from: string, { kind, type, gen }: Received, more: unknown = '') =>
    onLog?.(`${from}: ${kind} ${type}, gen ${gen} ${more}`.trim());
  const send = (
    view: TesseraView,
    message: { kind: string; type: string; error?: string | undefined; [more: string]: unknown },
  ) => {
    const whole = { v: 1, ns: 'tessera', gen: state.gen, ...message };
    log('app', whole, message.error);
    try {
      // Not `postMessage`, with which any other site that the webview shows by now would receive the set.
      const post = `window.postMessage(${JSON.stringify(JSON.stringify(whole))}, '/')`;
      view.injectJavaScript(`if (${isOwnPage}) ${post}; true;`);
    } catch (error) {
      failed('page', error); // it may be gone
    }
  };
  /** The body of a `set`, or null if nobody is signed in. */
  const answer = () => (state.user === 'optedOut' ? { status: 'optout' } : state.set ? toWire(state.set) : null);
  /** Tell a page what the app knows: its set, an opt-out, or that nobody is signed in. */
  const tell = (view: TesseraView) => {
    const body = answer();
    send(view, { kind: 'evt', type: body ? 'set' : 'clear', body });
  };
  const broadcast = (except?: TesseraView) => {
    for (const view of views) if (view !== except) tell(view);
  };

  // The identity

  const change = (next: State) => {
    if (next.set !== state.set) isRefused = false;
    state = next;
    const text = JSON.stringify(next);
    writing = writing.then(() => storage.write(text)).catch((error) => failed('storage', error));
    notifyToken();
    schedule();
  };
  const adopt = (set: TokenSet | undefined, gen: number) => {
    failures = 0;
    notBefore = 0;
    change(
      set
        ? { gen, user: 'signedIn', set, told: { token: set.advertisingToken, expiresAt: set.expiresAt } }
        : { gen: Math.max(gen, state.gen + 1), user: 'optedOut' },
    );
    broadcast();
  };
  const adoptAnswer = (given: unknown, raise: number) => {
    const parsed = parseAnswer(given);
    // The answer has taken longer than the user.
    if (raise === 0 && ['signedOut', 'optedOut'].includes(state.user)) onLog?.('renewed: nobody is signed in');
    else adopt(parsed === 'optout' ? undefined : parsed, state.gen + raise);
  };
  /** A user is signed in, and the app has no set of that user. */
  const isWithoutSet = () => state.user === 'signedIn' && !state.set;
  /** There will be a set, or another one. A `get` has no answer until then: null would log the user out. Pages repeat it, and are told. */
  const isWaiting = () => isWithoutSet() || (isRefreshing && !token());
  const askForTokens = () => {
    if (owner === 'app' && (isWithoutSet() || isRefused)) onNeedsTokens?.();
  };

  const pageChanged = (view: TesseraView, gen: number, body: NonNullable<Received['body']>) => {
    // A page that has not yet received what the app has done.
    if (gen < state.gen) return;
    const { phase, advertisingToken, expiresAt } = body;
    const next =
      typeof advertisingToken === 'string' ? { token: advertisingToken, expiresAt: Number(expiresAt) } : undefined;
    const { user, set } = state;
    if (gen > state.gen) {
      // The set belongs to the user before.
      change({ gen, user: next ? 'signedIn' : phase === 'optedOut' ? 'optedOut' : 'signedOut', told: next });
      if (next) askForTokens();
      else broadcast(view);
    } else if (user === 'signedOut' || user === 'optedOut') {
      // The app has signed the user out, and the page has not received it yet.
    } else if (phase === 'optedOut') {
      // The page has learned of it without the app. If the app owns a set, the service is asked whether it still accepts it.
      notBefore = 0;
      change({ gen, user: 'optedOut', set: owner === 'app' ? set : undefined });
    } else if (next) {
      // An app that owns the identity and knows of no user has lost its storage: the page is about to be logged out.
      if (owner === 'page' || isWithoutSet()) change({ gen, user: 'signedIn', set, told: next });
    } else if (phase === 'empty' && owner === 'page' && set && !restored.has(view)) {
      // The page has lost its storage. The set that the app signed in with may still be refreshed.
      restored.add(view);
      tell(view);
    }
  };

  // Refreshing

  /** When the next refresh starts; undefined if none will. */
  const refreshAt = () => {
    const { set, user } = state;
    if (owner === 'page' || !set || isRefreshing || isRefused) return undefined;
    // If the clock was set back, the longest pause counts from now.
    return Math.max(user === 'optedOut' ? 0 : set.refreshAt, Math.min(notBefore, now() + DAY_MS));
  };
  /** Set the timer to the next refresh or the expiry of the token, whichever is first. */
  const schedule = () => {
    clearTimeout(timer);
    const next = Math.min(refreshAt() ?? Infinity, token() ? (told()?.expiresAt ?? Infinity) : Infinity);
    if (isActive && next < Infinity) timer = setTimeout(wake, Math.min(Math.max(0, next - now()), MAX_TIMER_MS));
  };
  const wake = () => {
    notifyToken();
    const at = refreshAt();
    if (at !== undefined && at <= now()) void refresh();
    schedule();
  };
  const refresh = async () => {
    const { set } = state;
    if (!set) return;
    isRefreshing = true;
    const outcome = await refreshSet(baseUrl, set);
    isRefreshing = false;
    // A sign-in or a logout in the meantime: the outcome is too late.
    if (state.set === set) refreshed(outcome);
    schedule();
  };
  /** A set that is due, or nearly due, on arrival is refreshed halfway to its expiry: endless requests would help nobody. */
  const dueOnArrival = ({ refreshAt: from, expiresAt }: TokenSet) => {
    if (from - now() > Math.min(DUE_ON_ARRIVAL_MS, (expiresAt - from) / 20)) return 0;
    return Math.max((Math.max(from, now()) + expiresAt) / 2, now() + MIN_PAUSE_MS);
  };
  const refreshed = ({ name, set, date = 0, retryAfterMs = 0 }: Outcome) => {
    onLog?.(`refresh: ${name}`);
    offsetMs = date && Math.abs(date - Date.now()) >= 60_000 ? date - Date.now() : 0;
    if (name === 'success' || name === 'optout') {
      adopt(set, state.gen);
      if (set) notBefore = dueOnArrival(set);
    } else if (ENDED.includes(name)) {
      isRefused = true;
      askForTokens();
    } else {
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** failures++, MAX_PAUSE_MS);
      isPauseAsked = retryAfterMs > pauseMs;
      notBefore = now() + Math.max(pauseMs, Math.min(retryAfterMs, DAY_MS));
    }
    // The token may have expired in the meantime.
    notifyToken();
  };

  schedule();
  if (isWithoutSet()) setTimeout(askForTokens); // once the app has the host
  return {
    get advertisingToken() {
      return token();
    },
    onMessage: ({ nativeEvent: { data, url } }, view) => {
      // Not `new URL(url).origin`, which many versions of React Native do not implement.
      if (!origins.some((origin) => url === origin || url.startsWith(`${origin}/`))) return;
      const message = parse<Received>(data);
      if (message?.ns !== 'tessera') return;
      const { v, kind, id, type, gen, body } = message;
      log('page', message, body?.phase);
      views.add(view);
      const answerWith = (more: object) => {
        if (kind === 'req') send(view, { kind: 'res', type: `${type}`, id, ...more });
      };
      if (v !== 1) {
        answerWith({ body: null, error: 'version' });
        return;
      }
      if (type === 'hello') restored.delete(view);
      if (type === 'changed') pageChanged(view, Number(gen) || 0, body ?? {});
      if (type === 'get' && isWaiting()) return;
      answerWith({ body: type === 'get' ? answer() : null });
    },
    detach: (view) => {
      views.delete(view);
      restored.delete(view);
    },
    signedIn: (given) => adoptAnswer(given, 1),
    renewed: (given) => adoptAnswer(given, 0),
    signedOut: () => {
      change({ gen: state.gen + 1, user: 'signedOut' });
      broadcast();
    },
    resume: () => {
      isActive = true;
      if (failures > 0 && !isPauseAsked) notBefore = 0;
      askForTokens();
      wake();
    },
    pause: () => {
      isActive = false;
      clearTimeout(timer);
    },
  };
}

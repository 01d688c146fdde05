/**
 * Google Secure Signals: offer the session's token to Google's ad tags (GPT, IMA) as a signal.
 *
 * Google asks a provider once and keeps the answer: so a provider is pushed once per page, its promise stays pending until
 * there is a token, and Google's cache is emptied when the user changes, never at a plain refresh.
 */

import type { Session } from '../session/index.ts';

export interface SecureSignalsOptions {
  /** Whose signal it is: `uid2` is the provider `uidapi.com`, `euid` is `euid.eu`. Default `uid2`. */
  name?: 'uid2' | 'euid' | undefined;
  /** Push a provider of the publisher's own, under its Ad Manager network code, in place of that one. */
  networkCode?: string | undefined;
  /** False where Google's hosted script registers the provider: it finds the token by the global function. Default true. */
  register?: boolean | undefined;
}

/** What is kept on the page for one provider, shared by all copies of this file. */
interface Place {
  /** What Google calls: resolves with a token, sooner or later; never rejects. */
  collect(): Promise<string>;
  /** Those who wait for a token. */
  readonly waiting: ((token: string) => void)[];
  /** The token to give, by whoever is connected. */
  read?: (() => string | undefined) | undefined;
  pushed?: boolean;
}

interface Provider {
  id?: string;
  networkCode?: string;
  collectorFunction(): Promise<string>;
}

/** What is used of Google's globals. Before GPT loads, queue and providers are plain arrays. */
interface Page {
  googletag?: {
    cmd?: { push(call: () => void): unknown };
    secureSignalProviders?: { push(provider: Provider): unknown; clearAllCache?(): void };
  };
  google?: { ima?: { secureSignals?: { clearAllCache(): void } } };
  tesseraSignals?: Record<string, Place>;
}

const createPlace = (): Place => {
  const place: Place = {
    waiting: [],
    collect: () =>
      new Promise((resolve) => {
        const token = place.read?.();
        if (token) resolve(token);
        else place.waiting.push(resolve);
      }),
  };
  return place;
};

/**
 * Offer the session's token as a secure signal, before or after GPT loads: pushes a provider, unless this page has it, and
 * sets `window.getUid2AdvertisingToken` (`getEuidAdvertisingToken`), which Google's hosted script looks for. On login, logout, switch of
 * user and opt-out, Google's cache of signals is emptied (all of it: there is no other way).
 *
 * Use either this or Prebid's `encryptedSignalSources` for a provider, not both.
 *
 * @returns disconnects: who asks from then on waits for the next connection.
 */
export function connectSecureSignals(
  session: Session,
  { name = 'uid2', networkCode, register = true }: SecureSignalsOptions = {},
): () => void {
  const page = window as Page;
  const [standard, hosted] =
    name === 'euid' ? ['euid.eu', 'getEuidAdvertisingToken'] : ['uidapi.com', 'getUid2AdvertisingToken'];
  const id = networkCode ?? standard!;
  const place = ((page.tesseraSignals ??= {})[id] ??= createPlace());
  const google = (page.googletag ??= {});

  /** The token that has been told: one that is in force, but not yet told, may belong to another user than Google's cache. */
  let told = session.advertisingToken;
  const hasUser = () => !/empty|opted/.test(session.state.phase);
  let user = hasUser();

  const clear = () => {
    (google.cmd ??= [] as (() => void)[]).push(() => google.secureSignalProviders?.clearAllCache?.());
    page.google?.ima?.secureSignals?.clearAllCache();
  };
  const read = () => (session.advertisingToken === told ? told : undefined);
  const serve = () => {
    const token = read();
    if (token) for (const resolve of place.waiting.splice(0)) resolve(token);
  };

  const offToken = session.on('token', ({ advertisingToken, cause }) => {
    // A set from the publisher is a login or another user; news of a user where there was none is a login elsewhere.
    if (cause === 'set' || (!user && cause !== 'load')) clear();
    user = true;
    told = advertisingToken;
    serve();
  });
  const offChange = session.subscribe(() => {
    // A page that leaves, or comes back, does not know for a moment who is signed in: that is no logout.
    if (session.state.waitingFor === 'storage') return;
    const before = user;
    user = hasUser();
    if (before && !user) clear();
  });

  place.read = read;
  (page as Record<string, unknown>)[hosted!] = place.collect;
  serve();
  if (register && !place.pushed) {
    place.pushed = true;
    const providers = (google.secureSignalProviders ??= [] as Provider[]);
    // Somebody else's, seen before GPT puts an object in the place of the array.
    const taken =
      Array.isArray(providers) && providers.some((other: Provider) => id === (other.networkCode ?? other.id));
    if (!taken) providers.push({ [networkCode ? 'networkCode' : 'id']: id, collectorFunction: place.collect });
  }
  return () => {
    offToken();
    offChange();
    if (place.read === read) place.read = undefined;
  };
}

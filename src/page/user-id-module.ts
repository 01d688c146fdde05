/** `tessera-id/prebid`. Prebid neither stores nor refreshes a bare `value`. Content blockers block files that are called `prebid`. */

import type { Session } from '../session/index.ts';
import { checkAdapterOptions, checkSession, noteConnection } from './adapter-options.ts';

/** Of Prebid's `userSync.userIds`. */
export interface UserId {
  name: string;
  bidders?: string[] | undefined;
  value?: Record<string, { id?: string } | undefined> | undefined;
}

/** Before Prebid has loaded, only the queue exists. */
export interface Prebid {
  que?: { push(call: () => void): unknown };
  getConfig?(topic: 'userSync'): { userIds?: UserId[] } | undefined;
  setConfig?(config: object): void;
  onEvent?(event: string, listener: () => void): void;
  offEvent?(event: string, listener: () => void): void;
}

/** Options of `connectPrebid`. */
export interface PrebidOptions {
  /** Prebid's global, or an empty object before Prebid has loaded. Default `window.pbjs`, created if it is missing. */
  pbjs?: Prebid | undefined;
  /** Prebid's module. Default `uid2`. */
  name?: 'uid2' | 'euid' | undefined;
  /** Called when an auction begins: the function that `onVitals` passes to its option `mark`. Default: none. */
  mark?: ((moment: 'auction') => void) | undefined;
}

const OPTIONS = { pbjs: 'object', name: ['uid2', 'euid'], mark: 'function' } as const;

function globalPrebid(): Prebid {
  // Not declared globally: that would conflict with Prebid's own types.
  const page = window as { pbjs?: Prebid };
  // The same as `ownGlobal` of clobbering.ts, which is not imported because each adapter is built as one file.
  const own = Object.getOwnPropertyDescriptor(page, 'pbjs') && page.pbjs;
  return own ?? (page.pbjs = {});
}

/**
 * Keep Prebid's user ID equal to the session's token: logout, opt-out, expiry, withdrawn consent and `session.close()` remove it. It
 * replaces an entry of the same name that the page has configured, so that Prebid's module does not refresh as well. The entry keeps its
 * `bidders`, and `userSync` all other members. On a server, or if a content blocker has replaced Prebid's global, it does nothing.
 *
 * @returns a function that disconnects, and removes the token from Prebid.
 * @example
 * connectPrebid(session); // before or after Prebid loads
 * await session.getToken({ timeoutMs: 500 }).catch(() => {}); // make an auction wait for the token
 * pbjs.que.push(() => pbjs.requestBids({ ... }));
 */
export function connectPrebid(session: Session, options: PrebidOptions = {}): () => void {
  if (typeof __TESSERA_PRODUCTION__ === 'undefined') checkAdapterOptions('connectPrebid', OPTIONS, options);
  if (typeof window === 'undefined') return () => {}; // on a server
  if (typeof __TESSERA_PRODUCTION__ === 'undefined') checkSession('connectPrebid', session);
  const {
    pbjs: prebid = globalPrebid(),
    name: module = 'uid2',
    mark,
  } = { __proto__: null, ...options } as PrebidOptions;
  // Entries are found by their names in lower case: one that is not found again would keep a former user's token.
  const name = module.toLowerCase();
  const que = (call: () => void) => {
    try {
      (prebid.que ??= [] as (() => void)[] as NonNullable<Prebid['que']>).push(call);
    } catch {} // a content blocker has replaced Prebid with a constant or a frozen object
  };
  const forget =
    typeof __TESSERA_PRODUCTION__ === 'undefined' ? noteConnection('connectPrebid', Object(prebid), name) : undefined;
  let isConnected = true;
  /** Prebid must keep its value even if the page's next `setConfig` omits it. */
  let isGiven = false;

  const give = () => {
    const token = isConnected ? session.advertisingToken : undefined;
    const userSync: { userIds?: UserId[] } = Object.assign(Object.create(null), prebid.getConfig!('userSync'));
    // Like Prebid, ignore a value that is not an array, and entries that are null.
    const ids = [userSync.userIds ?? []].flat();
    const isOwn = (id: UserId | null) => id?.name?.toLowerCase() === name;
    const own = ids.find(isOwn);
    // There is no token yet and no entry of the page to replace, or Prebid is up to date.
    if (!isGiven && !(isConnected && (token || own))) return;
    if (own?.value && own.value[name]?.id === token) return;
    isGiven = true;
    // `setConfig` drops every member that is omitted, and `mergeConfig` keeps the old entry before the new one.
    prebid.setConfig!({
      userSync: {
        ...userSync,
        userIds: [
          ...ids.filter((id) => !isOwn(id)),
          { name, bidders: own?.bidders, value: { [name]: token ? { id: token } : {} } },
        ],
        autoRefresh: true,
      },
    });
  };

  const stop = session.subscribe(() => {
    // Before Prebid has loaded, the call below is still queued: it reads the token when it runs.
    if (prebid.getConfig) que(give);
  });
  const onAuction = () => {
    // A hidden page has no timer, so an expiry or a new configuration is noticed when an auction begins.
    give();
    mark?.('auction');
  };
  que(() => {
    prebid.onEvent!('requestBids', onAuction);
    give();
  });
  return () => {
    if (typeof __TESSERA_PRODUCTION__ === 'undefined') forget?.();
    isConnected = false;
    stop();
    que(() => {
      prebid.offEvent!('requestBids', onAuction);
      give();
    });
  };
}

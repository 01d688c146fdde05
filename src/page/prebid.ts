/**
 * Prebid.js: hand it the token in force, each time it changes.
 *
 * The session refreshes, Prebid only sends: its `uid2` (or `euid`) module gets a bare `value`, which it neither stores nor
 * refreshes. Prebid's own object is all that is known of it here.
 */

import type { Session } from '../session/index.ts';

/** An entry of Prebid's `userSync.userIds`. */
interface UserId {
  name: string;
  bidders?: string[] | undefined;
  value?: Record<string, { id?: string } | undefined> | undefined;
}

/** What is used of Prebid's global; all but the queue is there once Prebid has loaded. */
export interface Prebid {
  que?: { push(call: () => void): unknown };
  getConfig?(topic: 'userSync'): { userIds?: UserId[] } | undefined;
  setConfig?(config: object): void;
  onEvent?(event: string, listener: () => void): void;
  offEvent?(event: string, listener: () => void): void;
}

export interface PrebidOptions {
  /** Prebid's global, also before Prebid has loaded. Default `window.pbjs`, made where there is none. */
  pbjs?: Prebid | undefined;
  /** Prebid's module. Default `uid2`. */
  name?: 'uid2' | 'euid' | undefined;
}

/**
 * Keep Prebid's user ID equal to the session's token: new tokens reach it mid-page, and it is taken away by logout, opt-out,
 * expiry, withdrawn consent and `session.close()`. An entry of the same name that the page has configured gives way, so that
 * the module does not refresh as well; its `bidders` stay, and so does all else in `userSync`.
 *
 * @returns disconnects: the token is taken out of Prebid.
 * @example
 * connectPrebid(session); // before or after Prebid loads
 * await session.getToken({ timeoutMs: 500 }).catch(() => {}); // an auction that wants the token waits for it
 * pbjs.que.push(() => pbjs.requestBids({ ... }));
 */
export function connectPrebid(session: Session, { pbjs, name = 'uid2' }: PrebidOptions = {}): () => void {
  // Not declared: Prebid's own types do, for those who have them.
  const prebid = pbjs ?? ((window as { pbjs?: Prebid }).pbjs ??= {});
  const que = (call: () => void) => (prebid.que ??= [] as (() => void)[] as NonNullable<Prebid['que']>).push(call);
  let connected = true;
  /** Prebid has been given something, which it keeps also where the page's next `setConfig` leaves it out. */
  let given = false;

  const give = () => {
    const token = connected ? session.advertisingToken : undefined;
    const userSync = prebid.getConfig!('userSync');
    const ids = userSync?.userIds ?? [];
    const isOwn = (id: UserId) => id.name?.toLowerCase() === name;
    const own = ids.find(isOwn);
    // No token yet, and nothing of the page's to take the place of; or Prebid is up to date.
    if (!given && !(connected && (token || own))) return;
    if (own?.value && own.value[name]?.id === token) return;
    given = true;
    const value = { [name]: token ? { id: token } : {} };
    // `setConfig` forgets what it is not told again, and `mergeConfig` would keep our old entry, before the new one.
    prebid.setConfig!({
      userSync: {
        ...userSync,
        userIds: [...ids.filter((id) => !isOwn(id)), { name, bidders: own?.bidders, value }],
        autoRefresh: true,
      },
    });
  };

  const stop = session.subscribe(() => que(() => give()));
  que(() => {
    // A hidden page has no timer: what expired meanwhile, or was configured anew, is noticed when an auction begins.
    if (connected) prebid.onEvent!('requestBids', give);
    give();
  });
  return () => {
    connected = false;
    stop();
    que(() => {
      prebid.offEvent!('requestBids', give);
      give();
    });
  };
}

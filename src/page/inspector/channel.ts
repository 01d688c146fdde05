/** The inspectors of all tabs of one origin show one another's lanes, over a BroadcastChannel of their own. */

import type { Entry, Lane } from './entries.ts';

const MAX_ENTRIES = 150;
/** The latest instant that `Date` can write. A later one would make the report throw. */
const MAX_DATE = 8.64e15;

function isEntry(value: unknown) {
  const { at, text, label = '' } = Object(value) as Record<keyof Entry, unknown>;
  return typeof at === 'number' && Math.abs(at) <= MAX_DATE && typeof text === 'string' && typeof label === 'string';
}

/** Whether a message is a lane that can be shown: another version of the inspector may have sent it, or any other script. */
export function isLane(value: unknown): value is Lane {
  const { tab, label, status, entries } = Object(value) as Record<keyof Lane, unknown>;
  if (![tab, label, status].every((text) => typeof text === 'string')) return false;
  return Array.isArray(entries) && entries.length <= MAX_ENTRIES && entries.every(isEntry);
}

/** Messages: a lane; `HELLO`, which asks all others for their lanes; or the name of a tab that has gone. */
const HELLO = 'hello';

/** `name`: of the session. `ownLane`: undefined without a session. `onLanes`: called with the lanes of all other tabs. */
export function connectLanes(name: string, ownLane: () => Lane | undefined, onLanes: (lanes: readonly Lane[]) => void) {
  const others = new Map<string, Lane>();
  let channel: BroadcastChannel | undefined;
  const changed = () => onLanes([...others.values()].sort((one, other) => one.label.localeCompare(other.label)));
  const send = () => {
    const lane = ownLane();
    if (lane) channel?.postMessage({ ...lane, entries: lane.entries.slice(-MAX_ENTRIES) });
  };
  const connect = () => {
    try {
      channel = new BroadcastChannel(`${name}-inspector`);
      channel.onmessage = ({ data }) => {
        if (data === HELLO) return send();
        if (isLane(data)) others.set(data.tab, data);
        else if (!others.delete(data)) return;
        changed();
      };
      channel.postMessage(HELLO);
      send();
    } catch {
      // A browser or a sandboxed frame without BroadcastChannel: one lane.
    }
  };
  // A message on an open channel would make Chromium evict the page from its back/forward cache.
  const leave = () => {
    const lane = ownLane();
    if (lane) channel?.postMessage(lane.tab);
    channel?.close();
    channel = undefined;
    others.clear();
    changed();
  };
  const comeBack = ({ persisted }: PageTransitionEvent) => {
    if (persisted) connect();
  };
  connect();
  globalThis.addEventListener?.('pagehide', leave);
  globalThis.addEventListener?.('pageshow', comeBack);
  return {
    send,
    close: () => {
      leave();
      globalThis.removeEventListener?.('pagehide', leave);
      globalThis.removeEventListener?.('pageshow', comeBack);
    },
  };
}

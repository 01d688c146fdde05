/**
 * Lets the inspectors of all tabs of one origin show one another's lanes, over their own BroadcastChannel. The session's channel
 * and store are not touched.
 *
 * Any script of the origin can post here, so a message is checked field by field before any of it is shown.
 */

import type { NextStep, Phase } from '../../session/index.ts';
import { CAUSES, type Entry, type Lane, MARKS, OUTCOMES, REASONS } from './entries.ts';

/** Longest list of entries that is sent and accepted. */
const MAX_ENTRIES = 150;
/** How many other tabs are shown. A tab whose process has ended does not announce that it is gone. */
const MAX_LANES = 30;
const PHASES = { empty: 1, fresh: 1, due: 1, stale: 1, ended: 1, optedOut: 1 } satisfies Record<Phase, 1>;
const ACTIONS = { refresh: 1, provide: 1, expire: 1, setTokens: 1, signIn: 1 } satisfies Record<NextStep['action'], 1>;

/** The latest instant that `Date` can write. A later one would make the report throw. */
const MAX_DATE = 8.64e15;

function isTime(value: unknown) {
  return typeof value === 'number' && Math.abs(value) <= MAX_DATE;
}

function isOptional(value: unknown, check: (value: unknown) => boolean) {
  return value === undefined || check(value);
}

function isText(value: unknown) {
  return typeof value === 'string' && toText(value) === value;
}

function isKey(value: unknown) {
  return typeof value === 'string' && /^[\d./]{1,80}$/.test(value);
}

function isIn(list: object) {
  return (value: unknown) => typeof value === 'string' && Object.hasOwn(list, value);
}

/**
 * Convert `text` to a form that other tabs accept: letters and digits of any script, space and `_.:/'-`, at most 40 characters.
 */
export function toText(text: string): string {
  return text.replace(/[^\p{L}\p{N} _.:/'-]/gu, '_').slice(0, 40);
}

type Check = (value: unknown) => boolean;

const isTimeOrNone: Check = (value) => isOptional(value, isTime);

/** The fields of each kind of entry. Unlisted fields are dropped. */
const FIELDS: Readonly<Record<Entry['kind'], Readonly<Record<string, Check>>>> = {
  generation: {
    until: isTimeOrNone,
    refreshAt: isTime,
    expiresAt: isTime,
    endsAt: isTime,
    endedAt: isTimeOrNone,
    key: isKey,
    cause: (value) => isOptional(value, isIn(CAUSES)),
    isFirst: (value) => typeof value === 'boolean',
  },
  attempt: {
    until: isTimeOrNone,
    action: isIn(ACTIONS),
    outcome: (value) => isOptional(value, isIn(OUTCOMES)),
    failure: (value) => isOptional(value, isText),
  },
  wait: { until: isTimeOrNone, plannedAt: isTimeOrNone, action: isIn(ACTIONS), reason: isIn(REASONS) },
  outage: { until: isTimeOrNone, failure: isText },
  mark: { name: isIn(MARKS), detail: isText },
};

function parseEntry(value: unknown): Entry | undefined {
  const given = Object(value) as Record<string, unknown>;
  const kind = given['kind'];
  if (typeof kind !== 'string' || !Object.hasOwn(FIELDS, kind)) return undefined;
  const checks: Readonly<Record<string, Check>> = { id: isTime, at: isTime, ...FIELDS[kind as Entry['kind']] };
  const fields: Record<string, unknown> = { kind };
  for (const [name, check] of Object.entries(checks)) {
    if (!check(given[name])) return undefined;
    if (given[name] !== undefined) fields[name] = given[name];
  }
  return fields as unknown as Entry;
}

/** Check a lane that another tab has sent; undefined if anything in it is wrong. */
export function parseLane(value: unknown): Lane | undefined {
  const { tab, label, phase, persistence, clockOffsetMs, entries } = Object(value) as Record<string, unknown>;
  if (typeof tab !== 'string' || !/^[a-z0-9]{1,12}$/.test(tab) || !isText(label) || !isText(persistence))
    return undefined;
  if (!isIn(PHASES)(phase) || !isTime(clockOffsetMs)) return undefined;
  if (!Array.isArray(entries) || entries.length > MAX_ENTRIES) return undefined;
  const parsed = entries.map(parseEntry);
  if (parsed.includes(undefined)) return undefined;
  return { tab, label, phase, persistence, clockOffsetMs, entries: parsed } as Lane;
}

/** Messages: a lane; `HELLO`, which asks all others for their lanes; or the name of a tab that has gone. */
const HELLO = 'hello';

/**
 * Connect to the inspectors of other tabs.
 *
 * @param name      of the session. Inspectors of other sessions are ignored.
 * @param ownLane   this tab's lane; undefined if there is no session yet.
 * @param onLanes   called with the lanes of all other tabs after any change.
 */
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
        if (typeof data === 'string') return others.delete(data) && changed();
        const lane = parseLane(data);
        if (lane && (others.has(lane.tab) || others.size < MAX_LANES)) others.set(lane.tab, lane);
        changed();
      };
      channel.postMessage(HELLO);
    } catch {
      // A browser or a sandboxed frame without BroadcastChannel: one lane.
    }
  };
  const disconnect = () => {
    const lane = ownLane();
    if (lane) channel?.postMessage(lane.tab);
    channel?.close();
    channel = undefined;
  };
  // A message on an open channel would make Chromium evict the page from its back/forward cache.
  const leave = () => {
    disconnect();
    others.clear();
    changed();
  };
  const comeBack = ({ persisted }: PageTransitionEvent) => {
    if (!persisted) return;
    connect();
    send();
  };
  connect();
  globalThis.addEventListener?.('pagehide', leave);
  globalThis.addEventListener?.('pageshow', comeBack);
  return {
    send,
    close: () => {
      disconnect();
      globalThis.removeEventListener?.('pagehide', leave);
      globalThis.removeEventListener?.('pageshow', comeBack);
    },
  };
}

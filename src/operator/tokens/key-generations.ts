/**
 * The rules of key generations, as functions of the stored list. A generation is announced (stored, and published by the key
 * endpoints) before it seals, so that every node and bidder has it when the first token under it arrives. It opens until it is
 * retired.
 */

import { TokenError } from '../../token/index.ts';
import { MAX_LIVE_GENERATIONS } from '../crypto/keys.ts';
import type { StoredGeneration } from '../ports/state.ts';

const DAY_MS = 86_400_000;
/** How long before it seals a generation is announced, ms. Bidders' libraries read the keys about once an hour. */
export const ANNOUNCE_MS = DAY_MS;
/** Lifetime of a sharing token, ms. Clients seal these tokens with the keys of their site. */
export const SHARING_TOKEN_MS = 30 * DAY_MS;
/** Added before a generation is retired, to allow for clocks that differ. */
const RETIRE_MARGIN_MS = DAY_MS;
/** The first generation seals from a time before the start, so that clients whose clocks are behind may use it too. */
const FIRST_AGE_MS = 3_600_000;

/** Return the generations that open, ascending. */
export function liveGenerations(list: readonly StoredGeneration[]): readonly StoredGeneration[] {
  return list.filter(({ retiredAt }) => retiredAt === null);
}

/** Return the generation that seals at `now` (epoch ms); undefined if all are retired. */
export function sealingGeneration(list: readonly StoredGeneration[], now: number): StoredGeneration | undefined {
  const live = liveGenerations(list);
  // If no generation has started to seal, this clock is behind that of the first node: the oldest generation seals.
  return live.findLast(({ activatesAt }) => activatesAt <= now) ?? live[0];
}

/** Return the generations up to `newest` for an empty state: as many as can be open. The last one seals. */
export function firstGenerations(newest: number, now: number, longestMs: number): StoredGeneration[] {
  const count = Math.min(newest, MAX_LIVE_GENERATIONS);
  return Array.from({ length: count }, (_, index) => ({
    generation: newest - count + 1 + index,
    activatesAt: now - (count - index) * FIRST_AGE_MS,
    retiredAt: null,
    longestMs,
  }));
}

/**
 * @param number  default: one more than the newest, retired ones included.
 * @throws {TokenError} `storage_failed` if too many generations are not yet retired.
 */
export function nextGeneration(
  list: readonly StoredGeneration[],
  activatesAt: number,
  longestMs: number,
  number: number = (list.at(-1)?.generation ?? 0) + 1,
): StoredGeneration {
  const oldest = liveGenerations(list)[0]?.generation ?? number;
  if (number - oldest >= MAX_LIVE_GENERATIONS)
    throw new TokenError(
      'storage_failed',
      `keys: expected generation ${oldest} to be retired before generation ${number} is announced, got one that still decrypts`,
    );
  return { generation: number, activatesAt, retiredAt: null, longestMs };
}

/** From when on no token that it sealed can be valid, epoch ms; undefined until a later generation is announced. */
export function endsAt(list: readonly StoredGeneration[], { generation, longestMs }: StoredGeneration) {
  const later = list.filter(
    (other) => other.generation > generation && (other.retiredAt === null || other.retiredAt > other.activatesAt),
  );
  if (later.length === 0) return undefined;
  return Math.min(...later.map(({ activatesAt }) => activatesAt)) + longestMs + RETIRE_MARGIN_MS;
}

export interface ScheduledStep {
  /** When it is due, epoch ms. */
  readonly dueAt: number;
  /** Returns the generation to store then: one to announce, or one to retire. */
  readonly change: (now: number) => StoredGeneration;
}

/** List the next steps of a schedule with a new generation every `rotationMs`, in any order. */
export function scheduledSteps(
  list: readonly StoredGeneration[],
  rotationMs: number,
  longestMs: number,
): readonly ScheduledStep[] {
  const live = liveGenerations(list);
  const retirements = live.slice(0, -1).flatMap((row): ScheduledStep[] => {
    const dueAt = endsAt(list, row);
    return dueAt === undefined ? [] : [{ dueAt, change: (now) => ({ ...row, retiredAt: now }) }];
  });
  const leadMs = Math.min(ANNOUNCE_MS, rotationMs / 2);
  const nextAt = live.at(-1)!.activatesAt + rotationMs;
  const announcement: ScheduledStep = {
    dueAt: nextAt - leadMs,
    change: (now) => nextGeneration(list, Math.max(nextAt, now + leadMs), longestMs),
  };
  const [oldest] = live;
  const isBlocked = list.at(-1)!.generation + 1 - oldest!.generation >= MAX_LIVE_GENERATIONS;
  return isBlocked ? retirements : [...retirements, announcement];
}

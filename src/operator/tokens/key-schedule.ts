/**
 * The keys of an operator over time: reads the stored generations, follows the calendar, and returns the keys in force.
 *
 * The generations are read again at most half a second later, so that a rotation or a retirement on one node, or by the
 * command line, reaches all nodes within a second.
 */

import { TokenError } from '../../token/index.ts';
import type { DeriveKey, Keys } from '../crypto/keys.ts';
import { createKeys } from '../crypto/keys.ts';
import type { KeyStore, StoredGeneration } from '../state/state.ts';
import {
  ANNOUNCE_MS,
  calendarSteps,
  firstGenerations,
  liveGenerations,
  nextGeneration,
  SHARING_TOKEN_MS,
  sealingGeneration,
} from './key-generations.ts';

/** How old, in real time, the generations in memory may be, ms. */
export const RELOAD_MS = 500;

/** The keys of an operator over time. */
export interface KeySchedule {
  /** Return the keys in force at `now` (epoch ms). */
  at(now: number): Promise<Keys>;
  /** Return the stored generation of a key. */
  rowOf(generation: number): StoredGeneration | undefined;
}

/** What a schedule follows. Durations are ms. */
export interface KeyScheduleOptions {
  readonly store: KeyStore;
  readonly derive: DeriveKey;
  /** Time between two generations; undefined if they do not follow the calendar. */
  readonly rotationMs: number | undefined;
  /** Lifetime of a refresh token: its keys must open for as long. */
  readonly refreshExpiresMs: number;
}

const longestOf = ({ refreshExpiresMs }: Pick<KeyScheduleOptions, 'refreshExpiresMs'>): number =>
  Math.max(refreshExpiresMs, SHARING_TOKEN_MS);

/**
 * Store the first generations in an empty state. In another one, announce those up to `wanted` that are not stored.
 *
 * @param wanted  the newest generation as the options name it; undefined for the stored one.
 * @throws {TokenError} `storage_failed` if `wanted` is lower than the newest stored one: tokens under that would not open.
 */
export async function prepareGenerations(
  options: Pick<KeyScheduleOptions, 'store' | 'refreshExpiresMs'>,
  wanted: number | undefined,
  now: number,
): Promise<void> {
  const { store } = options;
  const list = await store.list();
  const newest = list.at(-1)?.generation;
  if (newest === undefined) return store.put(firstGenerations(wanted ?? 1, now, longestOf(options)));
  if (wanted === undefined || wanted === newest) return;
  if (wanted < newest)
    throw new TokenError(
      'storage_failed',
      `keyGeneration: expected ${newest} or more, since the database has announced that generation, or none, got ${wanted}`,
    );
  // Those between, too: after the restore of an older backup, tokens under them may be alive.
  const missing = Array.from({ length: wanted - newest }, (_, index) => newest + 1 + index);
  const sealsFrom = now + ANNOUNCE_MS;
  await store.put(
    missing.map((number) => nextGeneration(list, sealsFrom - (wanted - number) * 1000, longestOf(options), number)),
  );
}

interface Loaded {
  readonly list: readonly StoredGeneration[];
  /** `performance.now()` before it was read. */
  readonly readAt: number;
  /** When the calendar demands a change, epoch ms. */
  readonly dueAt: number;
}

/** Create a schedule. The state must hold a generation: see {@link prepareGenerations}. */
export function createKeySchedule(options: KeyScheduleOptions): KeySchedule {
  const { store, derive, rotationMs } = options;
  const longestMs = longestOf(options);
  let loaded: Loaded | undefined;
  let loading: Promise<void> | undefined;
  let current: { readonly from: Loaded; readonly sealing: number; readonly keys: Keys } | undefined;

  const stepsOf = (list: readonly StoredGeneration[]) =>
    rotationMs === undefined ? [] : calendarSteps(list, rotationMs, longestMs);

  // What must be written before these generations may be used.
  const changesTo = (list: readonly StoredGeneration[], now: number): StoredGeneration[] => {
    // First a lifetime that is longer than that of the other nodes: it may defer a retirement.
    const shorter = liveGenerations(list).filter((row) => row.longestMs < longestMs);
    if (shorter.length > 0) return shorter.map((row) => ({ ...row, longestMs }));
    return stepsOf(list)
      .filter(({ dueAt }) => dueAt <= now)
      .map(({ change }) => change(now));
  };

  const load = async (now: number): Promise<void> => {
    const readAt = performance.now();
    let list = await store.list();
    if (liveGenerations(list).length === 0)
      throw new TokenError('storage_failed', 'keys: expected a generation that is not retired, got none');
    const changes = changesTo(list, now);
    if (changes.length > 0) {
      await store.put(changes);
      list = await store.list();
    }
    const dueAt = Math.min(...stepsOf(list).map((step) => step.dueAt));
    loaded = { list, readAt, dueAt };
  };

  return {
    at: async (now) => {
      if (!loaded || performance.now() - loaded.readAt >= RELOAD_MS || now >= loaded.dueAt)
        await (loading ??= load(now).finally(() => {
          loading = undefined;
        }));
      const from = loaded!;
      const sealing = sealingGeneration(from.list, now)!.generation;
      if (current?.from !== from || current.sealing !== sealing) {
        const opening = liveGenerations(from.list).map(({ generation }) => generation);
        current = { from, sealing, keys: createKeys(derive, opening, sealing) };
      }
      return current.keys;
    },
    rowOf: (number) => loaded?.list.find(({ generation }) => generation === number),
  };
}

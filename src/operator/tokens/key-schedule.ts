/**
 * The keys of an operator over time. The generations are read again after half a second, so that a rotation or retirement on one
 * node, or through the command line, reaches all nodes within a second.
 */

import { TokenError } from '../../token/index.ts';
import { createKeys, type DeriveKey, type Keys } from '../crypto/keys.ts';
import { createOutageLog, type Logger } from '../ports/logger.ts';
import type { KeyStore, StoredGeneration } from '../ports/state.ts';
import {
  ANNOUNCE_MS,
  firstGenerations,
  liveGenerations,
  nextGeneration,
  SHARING_TOKEN_MS,
  scheduledSteps,
  sealingGeneration,
} from './key-generations.ts';

/** Maximum age of the generations in memory, in real time, ms. */
export const RELOAD_MS = 500;

export interface KeySchedule {
  /** Return the keys in force at `now` (epoch ms): the same object until they change. */
  at(now: number): Promise<Keys>;
  rowOf(generation: number): StoredGeneration | undefined;
}

/** The options of a schedule. Durations are ms. */
export interface KeyScheduleOptions {
  readonly store: KeyStore;
  readonly derive: DeriveKey;
  /** Time between two generations; undefined if they are not rotated on a schedule. */
  readonly rotationMs: number | undefined;
  /** Lifetime of a refresh token, during which its keys must open. */
  readonly refreshExpiresMs: number;
  readonly logger?: Logger | undefined;
}

function longestOf({ refreshExpiresMs }: Pick<KeyScheduleOptions, 'refreshExpiresMs'>): number {
  return Math.max(refreshExpiresMs, SHARING_TOKEN_MS);
}

/**
 * Store the first generations in an empty state. Otherwise, announce those up to `wanted` that are not stored; undefined: none.
 *
 * @throws {TokenError} `storage_failed` if `wanted` is lower than the newest stored generation, whose tokens would not open.
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
      `keyGeneration: expected none, or ${newest} or more, because the database has announced that generation, got ${wanted}`,
    );
  // Include those in between: after an older backup was restored, tokens under them may be valid.
  const missing = Array.from({ length: wanted - newest }, (_, index) => newest + 1 + index);
  const sealsFrom = now + ANNOUNCE_MS;
  await store.put(
    missing.map((number) => nextGeneration(list, sealsFrom - (wanted - number) * 1000, longestOf(options), number)),
  );
}

interface Loaded {
  readonly list: readonly StoredGeneration[];
  /** `performance.now()` before the generations were read. */
  readonly readAt: number;
  /** When the schedule requires a change, epoch ms. */
  readonly dueAt: number;
}

/** Writes the changes that are due. A database that cannot be written must not stop the keys in force: try again later. */
function createStepWriter({ store, rotationMs, logger }: KeyScheduleOptions, longestMs: number) {
  const outage = createOutageLog(logger, {
    failure: 'keys: a scheduled change cannot be written',
    recovery: 'keys: scheduled changes are written again',
  });
  const stepsOf = (list: readonly StoredGeneration[]) =>
    rotationMs === undefined ? [] : scheduledSteps(list, rotationMs, longestMs);

  const put = async (list: readonly StoredGeneration[], changes: readonly StoredGeneration[]) => {
    if (changes.length === 0) return list;
    await store.put(changes);
    return store.list();
  };
  const write = async (list: readonly StoredGeneration[], now: number) => {
    // A lifetime that is longer than on the other nodes must be written first, because it may defer a retirement.
    const shorter = liveGenerations(list).filter((row) => row.longestMs < longestMs);
    const current = await put(
      list,
      shorter.map((row) => ({ ...row, longestMs })),
    );
    const due = stepsOf(current).filter(({ dueAt }) => dueAt <= now);
    return put(
      current,
      due.map(({ change }) => change(now)),
    );
  };

  return async (list: readonly StoredGeneration[], now: number): Promise<Omit<Loaded, 'readAt'>> => {
    try {
      const current = await write(list, now);
      outage.recovered();
      return { list: current, dueAt: Math.min(...stepsOf(current).map((step) => step.dueAt)) };
    } catch (error) {
      outage.failed(error);
      return { list, dueAt: Number.POSITIVE_INFINITY };
    }
  };
}

/** Create a schedule. The state must hold a generation: see {@link prepareGenerations}. */
export function createKeySchedule(options: KeyScheduleOptions): KeySchedule {
  const { store, derive } = options;
  const longestMs = longestOf(options);
  const writeSteps = createStepWriter(options, longestMs);
  let loaded: Loaded | undefined;
  let loading: Promise<void> | undefined;
  let current: { readonly list: Loaded['list']; readonly sealing: number; readonly keys: Keys } | undefined;

  const load = async (now: number): Promise<void> => {
    const readAt = performance.now();
    const list = await store.list();
    if (liveGenerations(list).length === 0)
      throw new TokenError(
        'storage_failed',
        'keys: expected a generation that is not retired, got none; "tessera keys rotate" announces one',
      );
    const next = await writeSteps(list, now);
    // The same object while nothing has changed, because the key endpoints keep what they have made for these keys.
    const isSame = JSON.stringify(loaded?.list) === JSON.stringify(next.list);
    loaded = { list: isSame ? loaded!.list : next.list, dueAt: next.dueAt, readAt };
  };

  return {
    at: async (now) => {
      if (!loaded || performance.now() - loaded.readAt >= RELOAD_MS || now >= loaded.dueAt)
        await (loading ??= load(now).finally(() => {
          loading = undefined;
        }));
      const { list } = loaded!;
      const sealing = sealingGeneration(list, now)!.generation;
      if (current?.list !== list || current.sealing !== sealing) {
        const opening = liveGenerations(list).map(({ generation }) => generation);
        current = { list, sealing, keys: createKeys(derive, opening, sealing) };
      }
      return current.keys;
    },
    rowOf: (number) => loaded?.list.find(({ generation }) => generation === number),
  };
}

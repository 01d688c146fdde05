/**
 * The keys that seal tokens: master, refresh, and one for each site. They are derived from the root secret and never stored, so
 * every node with the same root secret opens the tokens of all others.
 */

import type { Bytes } from '../../token/bytes.ts';
import type { Secrets } from './secrets.ts';

export interface TokenKey {
  /** In the token: slot x 128 + 1 + (generation - 1) mod 127, below 2^31. Slot 0: master, 1: refresh key, site ID + 1: a site. */
  readonly id: number;
  /** Site that owns the key; {@link MASTER} or {@link REFRESH} for the operator's own. */
  readonly siteId: number;
  readonly generation: number;
  /** 32 bytes. */
  readonly secret: Bytes;
}

export type FindKey = (id: number) => TokenKey | undefined;

/** The keys of one operator at an instant. */
export interface Keys {
  readonly master: TokenKey;
  readonly refresh: TokenKey;
  site(siteId: number): TokenKey;
  readonly byId: FindKey;
  /** Find a refresh key by its number. Derives no other key, regardless of the number that an anonymous caller sends. */
  readonly refreshById: FindKey;
  /** Return one owner's keys of all generations that open, oldest first. `siteId` may be {@link MASTER}. */
  generations(siteId: number): TokenKey[];
}

/** Greatest site ID whose key numbers still fit into 31 bits. */
export const MAX_SITE_ID = 2 ** 31 / 128 - 3;
/** Maximum of generations that can open at the same time. With more, two would share a number. */
export const MAX_LIVE_GENERATIONS = 127;

/** `siteId` of the master keys. */
export const MASTER = -1;
/** `siteId` of the refresh keys. */
export const REFRESH = -2;

/** Bounds the memory of an operator with very many sites. */
const MAX_CACHED_KEYS = 10_000;

function slotOf(siteId: number): number {
  return siteId === MASTER ? 0 : siteId === REFRESH ? 1 : siteId + 1;
}

function ownerOf(slot: number): number {
  return slot === 0 ? MASTER : slot === 1 ? REFRESH : slot - 1;
}

function labelOf(siteId: number): string {
  return siteId === MASTER ? 'master-key' : siteId === REFRESH ? 'refresh-key' : `site-key/${siteId}`;
}

function numberOf(generation: number): number {
  return 1 + ((generation - 1) % MAX_LIVE_GENERATIONS);
}

/** Returns the key of an owner (a site ID, {@link MASTER} or {@link REFRESH}) in a generation. */
export type DeriveKey = (siteId: number, generation: number) => TokenKey;

/** Derive keys from a root secret, each only once. */
export function keyDerivation(secrets: Secrets): DeriveKey {
  const cache = new Map<string, TokenKey>();
  return (siteId, generation) => {
    const label = `${labelOf(siteId)}/${generation}`;
    const cached = cache.get(label);
    if (cached) return cached;
    const id = slotOf(siteId) * 128 + numberOf(generation);
    const key = { id, siteId, generation, secret: secrets.derive(label) };
    // The oldest one alone: if a full cache were emptied, one more site would cost all others their keys.
    if (cache.size >= MAX_CACHED_KEYS) cache.delete(cache.keys().next().value!);
    cache.set(label, key);
    return key;
  };
}

/** Collect the keys of the generations that open, ascending, at least one. `sealing` is the one of them that seals. */
export function createKeys(
  derive: DeriveKey,
  generations: readonly number[],
  sealing: number = generations.at(-1)!,
): Keys {
  const byNumber = new Map(generations.map((generation) => [numberOf(generation), generation]));
  return {
    master: derive(MASTER, sealing),
    refresh: derive(REFRESH, sealing),
    site: (siteId) => derive(siteId, sealing),
    byId: (id) => {
      const number = id % 128;
      const generation = byNumber.get(number);
      return generation === undefined ? undefined : derive(ownerOf((id - number) / 128), generation);
    },
    refreshById: (id) => {
      const generation = byNumber.get(id - slotOf(REFRESH) * 128);
      return generation === undefined ? undefined : derive(REFRESH, generation);
    },
    generations: (siteId) => generations.map((generation) => derive(siteId, generation)),
  };
}

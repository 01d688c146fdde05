/**
 * The keys that seal tokens, addressed by number: master, refresh, and one for each publisher site.
 *
 * A key is derived from the root secret and its number and never stored, so every node with the same root secret opens
 * the tokens of all others. Generations count from 1. The newest generation seals; every generation opens.
 */

import type { Bytes } from '../../token/bytes.ts';
import type { Secrets } from './secrets.ts';

/** A key that seals tokens or parts of them. */
export interface TokenKey {
  /** Number written into the token: slot x 128 + generation. Slot 0 is master, 1 refresh, site ID + 1 a site's. */
  readonly id: number;
  /** Site that owns the key; {@link MASTER} or {@link REFRESH} for the operator's own. */
  readonly siteId: number;
  readonly generation: number;
  /** 32 bytes. */
  readonly secret: Bytes;
}

/** Find a key by the number that a token carries; undefined if there is none. */
export type FindKey = (id: number) => TokenKey | undefined;

/** The keys of one operator. */
export interface Keys {
  /** The master key that seals. */
  readonly master: TokenKey;
  /** The refresh key that seals. */
  readonly refresh: TokenKey;
  /** Return the key that seals the tokens of a site. */
  site(siteId: number): TokenKey;
  readonly byId: FindKey;
  /** Return all generations of one owner's keys, oldest first. `siteId` may be {@link MASTER}. */
  generations(siteId: number): TokenKey[];
}

/** Greatest site ID: the numbers of its keys still fit 31 bits. */
export const MAX_SITE_ID = 2 ** 31 / 128 - 3;
/** Greatest generation of keys. */
export const MAX_GENERATION = 127;

/** `siteId` of the master keys. */
export const MASTER = -1;
/** `siteId` of the refresh keys. */
export const REFRESH = -2;

// Bounds the memory of an operator with very many sites: a full cache is emptied.
const MAX_CACHED_KEYS = 10_000;

const slotOf = (siteId: number): number => (siteId === MASTER ? 0 : siteId === REFRESH ? 1 : siteId + 1);
const ownerOf = (slot: number): number => (slot === 0 ? MASTER : slot === 1 ? REFRESH : slot - 1);
const labelOf = (siteId: number): string =>
  siteId === MASTER ? 'master-key' : siteId === REFRESH ? 'refresh-key' : `site-key/${siteId}`;

/** Derive keys from a root secret. `newest` is the generation that seals, 1 to {@link MAX_GENERATION}. */
export function createKeys(secrets: Secrets, newest: number): Keys {
  const cache = new Map<number, TokenKey>();

  const keyOf = (siteId: number, generation: number): TokenKey => {
    const id = slotOf(siteId) * 128 + generation;
    const cached = cache.get(id);
    if (cached) return cached;
    const secret = secrets.derive(`${labelOf(siteId)}/${generation}`);
    const key = { id, siteId, generation, secret };
    if (cache.size >= MAX_CACHED_KEYS) cache.clear();
    cache.set(id, key);
    return key;
  };

  return {
    master: keyOf(MASTER, newest),
    refresh: keyOf(REFRESH, newest),
    site: (siteId) => keyOf(siteId, newest),
    byId: (id) => {
      const generation = id % 128;
      return generation >= 1 && generation <= newest ? keyOf(ownerOf((id - generation) / 128), generation) : undefined;
    },
    generations: (siteId) => Array.from({ length: newest }, (_, index) => keyOf(siteId, index + 1)),
  };
}

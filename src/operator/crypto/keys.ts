/**
 * The keys that seal tokens, by number: master, refresh, and one per publisher site.
 *
 * Nothing is stored: a key is derived from its number, so every node with the same root secret opens what another
 * sealed. Generations are numbered from 1; the newest seals, all of them open.
 */

import type { Bytes } from '../../token/bytes.ts';
import type { Secrets } from './secrets.ts';

/** A key of a token. */
export interface TokenKey {
  /** Number written into the token: slot x 128 + generation; slot 0 master, 1 refresh, site id + 1 a site's. */
  readonly id: number;
  /** Site that owns it; -1 master, -2 refresh. */
  readonly siteId: number;
  readonly generation: number;
  /** 32 bytes. */
  readonly secret: Bytes;
}

/** Finds the key of a number that a token names; undefined where there is none. */
export type KeyOf = (id: number) => TokenKey | undefined;

/** What {@link createKeys} gives. */
export interface Keys {
  /** The key that seals now. */
  readonly master: TokenKey;
  readonly refresh: TokenKey;
  site(siteId: number): TokenKey;
  readonly byId: KeyOf;
  /** All generations of one owner, oldest first: -1 master, else a site id. */
  all(siteId: number): TokenKey[];
}

/** Greatest site id whose keys have a number of their own in 31 bits. */
export const MAX_SITE_ID = 2 ** 31 / 128 - 3;
/** Greatest generation of keys. */
export const MAX_GENERATION = 127;

export const MASTER = -1;
export const REFRESH = -2;

// Sites beyond this number are derived afresh: the cache of a busy node stays small.
const CACHED_KEYS = 10_000;

const slotOf = (siteId: number): number => (siteId === MASTER ? 0 : siteId === REFRESH ? 1 : siteId + 1);
const ownerOf = (slot: number): number => (slot === 0 ? MASTER : slot === 1 ? REFRESH : slot - 1);
const labelOf = (siteId: number): string =>
  siteId === MASTER ? 'master-key' : siteId === REFRESH ? 'refresh-key' : `site-key/${siteId}`;

/** Derive keys from a root secret; `newest` is the generation that seals, 1 to 127. */
export function createKeys(secrets: Secrets, newest: number): Keys {
  const known = new Map<number, TokenKey>();

  const keyOf = (siteId: number, generation: number): TokenKey => {
    const id = slotOf(siteId) * 128 + generation;
    const cached = known.get(id);
    if (cached) return cached;
    const secret = secrets.derive(`${labelOf(siteId)}/${generation}`);
    const made = { id, siteId, generation, secret };
    if (known.size >= CACHED_KEYS) known.clear();
    known.set(id, made);
    return made;
  };

  return {
    master: keyOf(MASTER, newest),
    refresh: keyOf(REFRESH, newest),
    site: (siteId) => keyOf(siteId, newest),
    byId: (id) => {
      const generation = id % 128;
      return generation >= 1 && generation <= newest ? keyOf(ownerOf((id - generation) / 128), generation) : undefined;
    },
    all: (siteId) => Array.from({ length: newest }, (_, at) => keyOf(siteId, at + 1)),
  };
}

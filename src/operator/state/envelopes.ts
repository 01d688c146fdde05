/**
 * The request envelopes of the last minutes, so that every node recognises one that is sent twice.
 *
 * An envelope is identified by its authentication tag, which covers the whole content: nobody without the client secret can
 * create another envelope that opens.
 */

import type { Database } from '../../database/index.ts';

/** Remembers envelopes. */
export interface EnvelopeStore {
  /**
   * Remember an envelope for `ENVELOPE_MS` after `now`, or after `sealedAt` if that is later (both epoch ms).
   *
   * @param tag       its authentication tag, base64.
   * @param sealedAt  the time inside it.
   * @returns         true if it is the first one with this tag.
   */
  add(tag: string, now: number, sealedAt: number): Promise<boolean>;
}

/** A node accepts an envelope if the time inside differs by less than this from its own clock, ms. */
export const CLOCK_WINDOW_MS = 120_000;

/**
 * How long an envelope is remembered, ms.
 *
 * In the worst case, a node stores it when its own clock shows 120 s before the time inside. Another node, whose clock is 120 s
 * behind, accepts it until that clock shows 120 s after. A third node, whose clock is 120 s ahead, then reads 480 s after the
 * envelope was stored.
 */
export const ENVELOPE_MS = 4 * CLOCK_WINDOW_MS;
// An envelope of a clock that is ahead is rejected until its time comes. Of one that is further ahead than this, ms, it is forgotten
// earlier, so that no caller can fill the store for ever.
const MAX_AHEAD_MS = 86_400_000;

const expiryOf = (now: number, sealedAt: number): number =>
  Math.max(now, Math.min(sealedAt, now + MAX_AHEAD_MS)) + ENVELOPE_MS;

/** Create a store in the memory of this process. */
export function memoryEnvelopes(): EnvelopeStore {
  const expiries = new Map<string, number>();
  let cleanAt = Number.NEGATIVE_INFINITY;
  return {
    add: async (tag, now, sealedAt) => {
      if (now >= cleanAt) {
        cleanAt = now + ENVELOPE_MS;
        for (const [old, expiresAt] of expiries) if (expiresAt <= now) expiries.delete(old);
      }
      if ((expiries.get(tag) ?? now) > now) return false;
      expiries.set(tag, expiryOf(now, sealedAt));
      return true;
    },
  };
}

/** Create a store that all nodes on a database share. */
export function databaseEnvelopes(database: Database): EnvelopeStore {
  let cleanAt = Number.NEGATIVE_INFINITY;
  return {
    add: async (tag, now, sealedAt) => {
      const added = await database.query(
        'INSERT INTO tessera_envelopes VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING tag',
        [tag, expiryOf(now, sealedAt)],
      );
      if (now >= cleanAt) {
        cleanAt = now + ENVELOPE_MS;
        await database.query('DELETE FROM tessera_envelopes WHERE expires_at <= $1', [now]);
      }
      return added.length > 0;
    },
  };
}

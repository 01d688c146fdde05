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
   * Remember an envelope at `now` (epoch ms) for `ENVELOPE_MS`.
   *
   * @param tag  its authentication tag, base64.
   * @returns    true if it is the first one with this tag.
   */
  add(tag: string, now: number): Promise<boolean>;
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
const ENVELOPE_MS = 4 * CLOCK_WINDOW_MS;

/** Create a store in the memory of this process. */
export function memoryEnvelopes(): EnvelopeStore {
  const expiries = new Map<string, number>();
  return {
    add: async (tag, now) => {
      // In the order of their insertion, and thus of their expiry.
      for (const [old, expiresAt] of expiries) {
        if (expiresAt > now) break;
        expiries.delete(old);
      }
      if (expiries.has(tag)) return false;
      expiries.set(tag, now + ENVELOPE_MS);
      return true;
    },
  };
}

/** Create a store that all nodes on a database share. */
export function databaseEnvelopes(database: Database): EnvelopeStore {
  let cleanAt = Number.NEGATIVE_INFINITY;
  return {
    add: async (tag, now) => {
      const added = await database.query(
        'INSERT INTO tessera_envelopes VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING tag',
        [tag, now + ENVELOPE_MS],
      );
      if (now >= cleanAt) {
        cleanAt = now + ENVELOPE_MS;
        await database.query('DELETE FROM tessera_envelopes WHERE expires_at <= $1', [now]);
      }
      return added.length > 0;
    },
  };
}

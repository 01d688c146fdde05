/** The two stores of request envelopes: the memory of one process, and the database that all nodes share. */

import type { Database } from '../../database/index.ts';
import { ENVELOPE_MS, type EnvelopeStore } from '../ports/envelopes.ts';

/** An envelope whose time is further ahead, ms, is forgotten before that time comes: no caller can fill the store for ever. */
const MAX_AHEAD_MS = 3_600_000;

function expiryOf(now: number, sealedAt: number): number {
  return Math.max(now, Math.min(sealedAt, now + MAX_AHEAD_MS)) + ENVELOPE_MS;
}

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

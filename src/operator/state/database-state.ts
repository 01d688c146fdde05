/** The state of an operator in a database that several nodes share. Only refreshes rely on memory: see `opt-out-memory.ts`. */

import { type Database, durableTransaction } from '../../database/index.ts';
import type { Secrets } from '../crypto/secrets.ts';
import type { Logger } from '../ports/logger.ts';
import type { OptOutStore, State } from '../ports/state.ts';
import { databaseEnvelopes } from './envelopes.ts';
import { keyRows } from './key-rows.ts';
import { createOptOutMemory, type OptOutMemory } from './opt-out-memory.ts';
import { participantRows } from './participant-rows.ts';

/** Base64 of 32 bytes. Other strings match no row, and PostgreSQL rejects some of them, such as those with U+0000. */
const HASH_PATTERN = /^[A-Za-z0-9+/]{43}=$/;

const PUT_OPT_OUTS = `WITH users AS (
    INSERT INTO tessera_opt_outs SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[])
      ON CONFLICT (user_hash) DO UPDATE SET
        through = greatest(tessera_opt_outs.through, excluded.through),
        extend_at = greatest(tessera_opt_outs.extend_at, excluded.extend_at)
  )
  INSERT INTO tessera_raw_ids SELECT * FROM unnest($5::text[], $6::text[]) ON CONFLICT DO NOTHING`;

function optOutStore(database: Database, memory: OptOutMemory, epochAt: number): OptOutStore {
  const findSince = async (sql: string, hashes: readonly string[]): Promise<(number | undefined)[]> => {
    const wanted = hashes.filter((hash) => HASH_PATTERN.test(hash));
    if (wanted.length === 0) return hashes.map(() => undefined);
    const rows = await database.query<{ hash: string; since: number }>(sql, [wanted]);
    const found = new Map(rows.map(({ hash, since }) => [hash, since]));
    return hashes.map((hash) => found.get(hash));
  };
  return {
    // `installation.ts` wrote it when the first node opened the database.
    epochAt: async () => epochAt,
    isAbsent: memory.isAbsent,
    since: (users) =>
      findSince('SELECT user_hash AS hash, since FROM tessera_opt_outs WHERE user_hash = ANY($1::text[])', users),
    sinceByRawId: (rawIds) =>
      findSince(
        `SELECT raw_id AS hash, since FROM tessera_raw_ids JOIN tessera_opt_outs USING (user_hash)
          WHERE raw_id = ANY($1::text[])`,
        rawIds,
      ),
    put: async (optOuts) => {
      // Every node writes in the same order, so that nodes that extend the same records cannot deadlock.
      const users = optOuts.toSorted((a, b) => (a.user < b.user ? -1 : 1));
      const ids = users
        .flatMap(({ user, rawIds }) => rawIds.map((rawId) => [rawId, user] as const))
        .sort(([a], [b]) => (a < b ? -1 : 1));
      const hashes = users.map(({ user }) => user);
      const params = [
        hashes,
        users.map(({ since }) => since),
        users.map(({ through }) => through),
        users.map(({ extendAt }) => extendAt),
        ids.map(([rawId]) => rawId),
        ids.map(([, user]) => user),
      ];
      // Before the transaction, because it may fail after its commit, and a user in memory only costs a query. Again after it,
      // because the memory may have been emptied meanwhile.
      memory.add(hashes);
      await durableTransaction(database, ({ query }) => query(PUT_OPT_OUTS, params));
      memory.add(hashes);
    },
    due: (at, limit) =>
      database.query(
        `SELECT user_hash AS "user", since, through, extend_at AS "extendAt" FROM tessera_opt_outs
          WHERE extend_at <= $1 ORDER BY extend_at LIMIT $2`,
        [at, limit],
      ),
  };
}

export function databaseState(database: Database, secrets: Secrets, epochAt: number, logger?: Logger): State {
  const memory = createOptOutMemory(database, { logger });
  return {
    participants: participantRows(database, secrets),
    keys: keyRows(database, logger),
    optOuts: optOutStore(database, memory, epochAt),
    optOutMemory: memory,
    envelopes: databaseEnvelopes(database),
    check: async () => {
      // A table, because a database that answers may still lack ours.
      await database.query('SELECT 1 FROM tessera_operator');
    },
    close: async () => {
      await memory.close();
      await database.close();
    },
  };
}

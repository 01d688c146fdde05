/**
 * What an operator must remember, in a database: it outlives the process, and several nodes share it.
 *
 * Nothing is cached here: what one node has written, every node reads with its next request.
 */

import type { Database } from '../../database/contract.ts';
import { fromB64, toB64 } from '../../token/bytes.ts';
import { sealer } from '../crypto/aes-gcm.ts';
import type { Secrets } from '../crypto/secrets.ts';
import type { Role } from '../identity/roles.ts';
import { sharedLimiter } from './rate-limit.ts';
import type { OptOutStore, ParticipantStore, State } from './state.ts';

// Other text is nobody's hash, and may hold what no database takes for text.
const HASH = /^[A-Za-z0-9+/]{43}=$/;

const participantsIn = (database: Database, secrets: Secrets): ParticipantStore => {
  // A key for each: a secret that is moved to another row does not open there.
  const keyOf = (keyHash: string) => secrets.derive(`stored-client-secret/${keyHash}`);
  return {
    byKeyHash: async (keyHash) => {
      const [row] = await database.query<{ sealed: Uint8Array<ArrayBuffer>; siteId: number; roles: Role[] }>(
        'SELECT sealed_secret AS sealed, site_id AS "siteId", roles FROM tessera_participants WHERE key_hash = $1',
        [keyHash],
      );
      const secret = row && (await sealer.open(keyOf(keyHash), row.sealed));
      return secret && { keyHash, clientSecret: toB64(secret), siteId: row.siteId, roles: row.roles };
    },
    siteIds: async () => {
      const rows = await database.query<{ id: number }>('SELECT DISTINCT site_id AS id FROM tessera_participants');
      return rows.map(({ id }) => id);
    },
    put: async (participants) => {
      for (const { keyHash, clientSecret, siteId, roles } of participants)
        await database.query(
          `INSERT INTO tessera_participants VALUES ($1, $2, $3, $4)
            ON CONFLICT (key_hash) DO UPDATE
            SET sealed_secret = excluded.sealed_secret, site_id = excluded.site_id, roles = excluded.roles`,
          [keyHash, await sealer.seal(keyOf(keyHash), fromB64(clientSecret)), siteId, roles],
        );
    },
  };
};

const optOutsIn = (database: Database, epochAt: number): OptOutStore => {
  const sinceBy = async (sql: string, hashes: readonly string[]): Promise<(number | undefined)[]> => {
    const wanted = hashes.filter((hash) => HASH.test(hash));
    if (wanted.length === 0) return hashes.map(() => undefined);
    const rows = await database.query<{ hash: string; since: number }>(sql, [wanted]);
    const found = new Map(rows.map(({ hash, since }) => [hash, since]));
    return hashes.map((hash) => found.get(hash));
  };
  return {
    // Written when the database was first opened, by whichever node that was.
    epochAt: async () => epochAt,
    since: (users) =>
      sinceBy('SELECT user_hash AS hash, since FROM tessera_opt_outs WHERE user_hash = ANY($1::text[])', users),
    sinceByRawId: (rawIds) =>
      sinceBy(
        `SELECT raw_id AS hash, since FROM tessera_raw_ids JOIN tessera_opt_outs USING (user_hash)
          WHERE raw_id = ANY($1::text[])`,
        rawIds,
      ),
    put: async (optOuts) => {
      // In one order everywhere, so that nodes which extend the same records never wait for each other in a circle.
      const users = optOuts.toSorted((a, b) => (a.user < b.user ? -1 : 1));
      const ids = users
        .flatMap(({ user, rawIds }) => rawIds.map((rawId) => [rawId, user] as const))
        .sort(([a], [b]) => (a < b ? -1 : 1));
      await database.query(
        `WITH users AS (
          INSERT INTO tessera_opt_outs SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[])
            ON CONFLICT (user_hash) DO UPDATE SET
              through = greatest(tessera_opt_outs.through, excluded.through),
              extend_at = greatest(tessera_opt_outs.extend_at, excluded.extend_at)
        )
        INSERT INTO tessera_raw_ids SELECT * FROM unnest($5::text[], $6::text[]) ON CONFLICT DO NOTHING`,
        [
          users.map(({ user }) => user),
          users.map(({ since }) => since),
          users.map(({ through }) => through),
          users.map(({ extendAt }) => extendAt),
          ids.map(([rawId]) => rawId),
          ids.map(([, user]) => user),
        ],
      );
    },
    due: (at, most) =>
      database.query(
        `SELECT user_hash AS "user", since, through, extend_at AS "extendAt" FROM tessera_opt_outs
          WHERE extend_at <= $1 ORDER BY extend_at LIMIT $2`,
        [at, most],
      ),
  };
};

/** The state of an operator in its database. `epochAt`: its first instant, epoch ms. */
export function lastingState(database: Database, secrets: Secrets, epochAt: number): State {
  return {
    participants: participantsIn(database, secrets),
    optOuts: optOutsIn(database, epochAt),
    // A folder has one process, which counts faster by itself.
    ...(database.kind === 'postgres' && { limiter: (perSecond) => sharedLimiter(database, perSecond) }),
    check: async () => {
      await database.query('SELECT 1');
    },
    close: () => database.close(),
  };
}

/** Participants in a database: API keys as keyed hashes, client secrets sealed. */

import { type Database, durableTransaction } from '../../database/index.ts';
import { fromB64, toB64 } from '../../token/bytes.ts';
import { aesGcm } from '../crypto/aes-gcm.ts';
import type { Secrets } from '../crypto/secrets.ts';
import type { Role } from '../identity/roles.ts';
import type { ParticipantStore } from './state.ts';

// Changes a stored participant, unless it has been revoked or was put with the same options before. A new row has no xmax.
const PUT = `INSERT INTO tessera_participants (key_hash, sealed_secret, site_id, roles, options_hash, added_at)
  VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT (key_hash) DO UPDATE SET
    sealed_secret = excluded.sealed_secret, site_id = excluded.site_id, roles = excluded.roles,
    options_hash = coalesce(excluded.options_hash, tessera_participants.options_hash)
  WHERE tessera_participants.revoked_at IS NULL
    AND (excluded.options_hash IS NULL OR tessera_participants.options_hash IS DISTINCT FROM excluded.options_hash)
  RETURNING xmax = 0 AS "isNew"`;

/** Create the store of participants in a database. */
export function participantRows(database: Database, secrets: Secrets): ParticipantStore {
  // Each row has its own key, so a sealed secret that is copied to another row does not open there.
  const sealingKey = (keyHash: string) => secrets.derive(`stored-client-secret/${keyHash}`);
  return {
    byKeyHash: async (keyHash) => {
      const [row] = await database.query<{ sealed: Uint8Array<ArrayBuffer>; siteId: number; roles: Role[] }>(
        `SELECT sealed_secret AS sealed, site_id AS "siteId", roles FROM tessera_participants
          WHERE key_hash = $1 AND revoked_at IS NULL`,
        [keyHash],
      );
      const secret = row && (await aesGcm.open(sealingKey(keyHash), row.sealed));
      return secret && { keyHash, clientSecret: toB64(secret), siteId: row.siteId, roles: row.roles };
    },
    siteIds: async () => {
      const rows = await database.query<{ id: number }>('SELECT DISTINCT site_id AS id FROM tessera_participants');
      return rows.map(({ id }) => id);
    },
    put: async (participants, now) => {
      const rows = await Promise.all(
        participants
          // Every node writes in the same order, so nodes that start at once cannot deadlock.
          .toSorted((a, b) => (a.keyHash < b.keyHash ? -1 : 1))
          .map(async ({ keyHash, clientSecret, siteId, roles, optionsHash = null }) => {
            const sealed = await aesGcm.seal(sealingKey(keyHash), fromB64(clientSecret));
            return [keyHash, sealed, siteId, roles, optionsHash, now] as const;
          }),
      );
      return durableTransaction(database, async ({ query }) => {
        const added: string[] = [];
        for (const row of rows) {
          const [changed] = await query<{ isNew: boolean }>(PUT, row);
          if (changed?.isNew) added.push(row[0]);
        }
        return added;
      });
    },
    list: () =>
      database.query(
        `SELECT key_hash AS "keyHash", site_id AS "siteId", roles, added_at AS "addedAt", revoked_at AS "revokedAt"
          FROM tessera_participants ORDER BY site_id, added_at, key_hash`,
      ),
    revoke: async (keyHashes, now) => {
      await durableTransaction(database, ({ query }) =>
        query(
          `UPDATE tessera_participants SET revoked_at = $2, sealed_secret = ''::bytea
            WHERE key_hash = ANY($1::text[]) AND revoked_at IS NULL`,
          [keyHashes, now],
        ),
      );
    },
  };
}

/** Participants in a database: API keys as keyed hashes, client secrets sealed. */

import { type Database, durableTransaction, type Queries } from '../../database/index.ts';
import { fromB64, toB64, toHex } from '../../token/bytes.ts';
import { aesGcm } from '../crypto/aes-gcm.ts';
import type { Secrets } from '../crypto/secrets.ts';
import { CACHE_MS } from '../identity/participants.ts';
import type { Role } from '../ports/roles.ts';
import type { ParticipantStore, StoredParticipant } from '../ports/state.ts';

/** The instant $n from which on every node remembers the envelopes of a participant who gets the role OPTOUT now. */
function optOutSince(now: string): string {
  return `opt_out_since =
    CASE WHEN 'OPTOUT' = ANY(tessera_participants.roles) THEN tessera_participants.opt_out_since ELSE ${now}::bigint + ${CACHE_MS} END`;
}

/** The list of former secrets after a change, which adds the replaced one, unless it is the same. */
function formerSecrets(replaced: string, given: string): string {
  return `array_remove(array_append(tessera_participants.former_secrets, ${replaced}::text), ${given}::text)`;
}

/**
 * Changes a stored participant, unless it has been revoked, was put with the same options before, must be kept ($7), or had this
 * client secret ($8) before the stored one ($9): such options are older than the database. A new row has no xmax.
 */
const PUT = `INSERT INTO tessera_participants (key_hash, sealed_secret, site_id, roles, options_hash, added_at, opt_out_since)
  VALUES ($1, $2, $3, $4, $5, $6, $6)
  ON CONFLICT (key_hash) DO UPDATE SET
    sealed_secret = excluded.sealed_secret, site_id = excluded.site_id, roles = excluded.roles,
    options_hash = coalesce(excluded.options_hash, tessera_participants.options_hash),
    former_secrets = ${formerSecrets('$9', '$8')},
    ${optOutSince('$6')}
  WHERE tessera_participants.revoked_at IS NULL AND NOT $7::boolean
    AND NOT $8::text = ANY(tessera_participants.former_secrets)
    AND (excluded.options_hash IS NULL OR tessera_participants.options_hash IS DISTINCT FROM excluded.options_hash)
  RETURNING xmax = 0 AS "isNew"`;

/** The additional methods for administration. Each call is one transaction, so that of two simultaneous calls neither is lost. */
export interface ParticipantRows extends ParticipantStore {
  /**
   * Add a participant at `now` (epoch ms). If one with its `keyHash` is already stored, resolves with false and changes nothing.
   */
  add(participant: StoredParticipant, now: number): Promise<boolean>;
  /**
   * Replace a participant at `now` (epoch ms) with the result of `change`. Resolves with undefined if there is none, or if it has
   * been revoked.
   */
  update(
    keyHash: string,
    now: number,
    change: (stored: StoredParticipant) => StoredParticipant,
  ): Promise<StoredParticipant | undefined>;
}

const FIND = `SELECT sealed_secret AS sealed, site_id AS "siteId", roles, opt_out_since AS "optOutSince" FROM tessera_participants
  WHERE key_hash = $1 AND revoked_at IS NULL`;

interface ParticipantRow {
  readonly sealed: Uint8Array<ArrayBuffer>;
  readonly siteId: number;
  readonly roles: Role[];
  readonly optOutSince: number | null;
}

type Find = (queries: Pick<Queries, 'query'>, keyHash: string, lock?: string) => Promise<StoredParticipant | undefined>;
type Seal = (keyHash: string, clientSecret: string) => Uint8Array | Promise<Uint8Array>;
type HashSecret = (participant: StoredParticipant) => string;

function changesOf(
  database: Database,
  find: Find,
  seal: Seal,
  hashSecret: HashSecret,
): Pick<ParticipantRows, 'add' | 'update'> {
  return {
    add: async ({ keyHash, clientSecret, siteId, roles }, now) => {
      const sealed = await seal(keyHash, clientSecret);
      const rows = await durableTransaction(database, ({ query }) =>
        query(
          `INSERT INTO tessera_participants (key_hash, sealed_secret, site_id, roles, added_at, opt_out_since)
          VALUES ($1, $2, $3, $4, $5, $5) ON CONFLICT (key_hash) DO NOTHING RETURNING key_hash`,
          [keyHash, sealed, siteId, roles, now],
        ),
      );
      return rows.length === 1;
    },
    update: (keyHash, now, change) =>
      durableTransaction(database, async (queries) => {
        // A second update waits for the first one and starts from its result.
        const stored = await find(queries, keyHash, ' FOR UPDATE');
        if (!stored) return undefined;
        const changed = change(stored);
        await queries.query(
          `UPDATE tessera_participants SET sealed_secret = $2, site_id = $3, roles = $4,
          ${optOutSince('$5')},
           former_secrets = ${formerSecrets('$6', '$7')} WHERE key_hash = $1`,
          [
            keyHash,
            await seal(keyHash, changed.clientSecret),
            changed.siteId,
            changed.roles,
            now,
            hashSecret(stored),
            hashSecret(changed),
          ],
        );
        return changed;
      }),
  };
}

/** Those of these participants that `PUT` would change. `PUT` decides again, because another node may write meanwhile. */
async function whatChanges(
  { query }: Pick<Queries, 'query'>,
  participants: readonly StoredParticipant[],
  hashSecret: HashSecret,
): Promise<readonly StoredParticipant[]> {
  const rows = await query<{
    keyHash: string;
    optionsHash: string | null;
    revokedAt: number | null;
    formerSecrets: string[];
  }>(
    `SELECT key_hash AS "keyHash", options_hash AS "optionsHash", revoked_at AS "revokedAt",
        former_secrets AS "formerSecrets"
      FROM tessera_participants WHERE key_hash = ANY($1::text[])`,
    [participants.map(({ keyHash }) => keyHash)],
  );
  const stored = new Map(rows.map((row) => [row.keyHash, row]));
  return participants.filter((participant) => {
    const { keyHash, optionsHash, keepStored = false } = participant;
    const found = stored.get(keyHash);
    if (!found) return true;
    const isSame = optionsHash !== undefined && optionsHash === found.optionsHash;
    const isFormer = found.formerSecrets.includes(hashSecret(participant));
    return !(keepStored || isSame || isFormer || found.revokedAt !== null);
  });
}

function putWith(database: Database, find: Find, seal: Seal, hashSecret: HashSecret): ParticipantRows['put'] {
  return async (participants, now) => {
    const differing = await whatChanges(database, participants, hashSecret);
    // A start that changes nothing also succeeds on a database that is read-only after a failover.
    if (differing.length === 0) return [];
    const rows = await Promise.all(
      differing
        // Every node writes in the same order, so that nodes that start at once cannot deadlock.
        .toSorted((a, b) => (a.keyHash < b.keyHash ? -1 : 1))
        .map(async (given) => {
          const { keyHash, siteId, roles, optionsHash = null, keepStored = false } = given;
          const sealed = await seal(keyHash, given.clientSecret);
          return [keyHash, sealed, siteId, roles, optionsHash, now, keepStored, hashSecret(given)] as const;
        }),
    );
    return durableTransaction(database, async (queries) => {
      const added: string[] = [];
      for (const row of rows) {
        const stored = await find(queries, row[0], ' FOR UPDATE');
        const [changed] = await queries.query<{ isNew: boolean }>(PUT, [...row, stored ? hashSecret(stored) : row[7]]);
        if (changed?.isNew) added.push(row[0]);
      }
      return added;
    });
  };
}

export function participantRows(database: Database, secrets: Secrets): ParticipantRows {
  // Each row has its own key, so a sealed secret that is copied to another row cannot be opened there.
  const sealingKey = (keyHash: string) => secrets.derive(`stored-client-secret/${keyHash}`);
  const seal: Seal = (keyHash, clientSecret) => aesGcm.seal(sealingKey(keyHash), fromB64(clientSecret));
  const hashSecret: HashSecret = ({ keyHash, clientSecret }) =>
    toHex(secrets.derive(`former-client-secret/${keyHash}/${clientSecret}`));
  const find: Find = async ({ query }, keyHash, lock = '') => {
    const [row] = await query<ParticipantRow>(FIND + lock, [keyHash]);
    const secret = row && (await aesGcm.open(sealingKey(keyHash), row.sealed));
    if (!secret) return undefined;
    const { sealed: _, ...stored } = row;
    return { keyHash, clientSecret: toB64(secret), ...stored };
  };
  return {
    byKeyHash: (keyHash) => find(database, keyHash),
    ...changesOf(database, find, seal, hashSecret),
    siteIds: async () => {
      const rows = await database.query<{ id: number }>('SELECT DISTINCT site_id AS id FROM tessera_participants');
      return rows.map(({ id }) => id);
    },
    put: putWith(database, find, seal, hashSecret),
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

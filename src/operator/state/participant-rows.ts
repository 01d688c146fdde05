/** Participants in a database: API keys as keyed hashes, client secrets sealed. */

import { type Database, durableTransaction, type Queries } from '../../database/index.ts';
import { fromB64, toB64, toHex } from '../../token/bytes.ts';
import { aesGcm } from '../crypto/aes-gcm.ts';
import type { Secrets } from '../crypto/secrets.ts';
import { CACHE_MS } from '../identity/participants.ts';
import type { Role } from '../ports/roles.ts';
import type { ListedParticipant, ParticipantStore, StoredParticipant } from '../ports/state.ts';

/** The instant $n from which on every node remembers the envelopes of a participant who gets the role OPTOUT now. */
function optOutSince(now: string): string {
  return `opt_out_since =
    CASE WHEN 'OPTOUT' = ANY(tessera_participants.roles) THEN tessera_participants.opt_out_since ELSE ${now}::bigint + ${CACHE_MS} END`;
}

/** The list of former secrets after a change, which adds the replaced one, unless it is the same. */
function formerSecrets(replaced: string, given: string): string {
  return `array_remove(array_append(tessera_participants.former_secrets, ${replaced}::text), ${given}::text)`;
}

/** Participants to put, as one array for each column. A secret is in base64, roles are separated by commas. */
const GIVEN = `unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
    AS given (key_hash, sealed, site_id, roles, options_hash, keep, secret_hash, stored_hash)`;
const GIVEN_ROLES = "string_to_array(given.roles, ',')";

const ADD = `INSERT INTO tessera_participants (key_hash, sealed_secret, site_id, roles, options_hash, added_at, opt_out_since)
  SELECT key_hash, decode(sealed, 'base64'), site_id, ${GIVEN_ROLES}, options_hash, $9::bigint, $9::bigint FROM ${GIVEN}
  ON CONFLICT (key_hash) DO NOTHING RETURNING key_hash AS "keyHash"`;

/**
 * Changes stored participants, except those that have been revoked, were put with the same options before, must be kept, or had this
 * client secret before the stored one: such options are older than the database.
 */
const CHANGE = `UPDATE tessera_participants SET
    sealed_secret = decode(given.sealed, 'base64'), site_id = given.site_id, roles = ${GIVEN_ROLES},
    options_hash = coalesce(given.options_hash, tessera_participants.options_hash),
    former_secrets = ${formerSecrets('given.stored_hash', 'given.secret_hash')},
    ${optOutSince('$9')}
  FROM ${GIVEN}
  WHERE tessera_participants.key_hash = given.key_hash AND revoked_at IS NULL AND given.keep = ''
    AND NOT given.secret_hash = ANY(tessera_participants.former_secrets)
    AND (given.options_hash IS NULL OR tessera_participants.options_hash IS DISTINCT FROM given.options_hash)`;

/** The methods for administration. Each call is one transaction, so that of two simultaneous calls neither is lost. */
export interface ParticipantRows extends ParticipantStore {
  /** List the participants whose `keyHash` has one of these starts; by default, all. */
  list(starts?: readonly string[]): Promise<readonly ListedParticipant[]>;
  /** If one with its `keyHash` is stored, resolves with false and changes nothing. `now`: epoch ms. */
  add(participant: StoredParticipant, now: number): Promise<boolean>;
  /** Resolves with undefined if there is none, or if it has been revoked. `now`: epoch ms. */
  update(
    keyHash: string,
    now: number,
    change: (stored: StoredParticipant) => StoredParticipant,
  ): Promise<StoredParticipant | undefined>;
}

/** In an order that is the same for all, so that those who lock the rows cannot deadlock. */
const FIND = `SELECT key_hash AS "keyHash", sealed_secret AS sealed, site_id AS "siteId", roles, opt_out_since AS "optOutSince"
  FROM tessera_participants WHERE key_hash = ANY($1::text[]) AND revoked_at IS NULL ORDER BY key_hash`;

/** Those whose `key_hash` has one of the starts $1, of hexadecimal digits, all of which are before `g`. */
const LIST = `SELECT key_hash AS "keyHash", site_id AS "siteId", roles, added_at AS "addedAt", revoked_at AS "revokedAt"
  FROM tessera_participants WHERE key_hash IN (
    SELECT key_hash FROM unnest($1::text[]) AS start
      JOIN tessera_participants ON key_hash >= start AND key_hash < start || 'g')
  ORDER BY site_id, added_at, key_hash`;

interface ParticipantRow {
  readonly keyHash: string;
  readonly sealed: Uint8Array<ArrayBuffer>;
  readonly siteId: number;
  readonly roles: Role[];
  readonly optOutSince: number | null;
}

function codecOf(secrets: Secrets) {
  // Each row has its own key, so a sealed secret that is copied to another row cannot be opened there.
  const sealingKey = (keyHash: string) => secrets.derive(`stored-client-secret/${keyHash}`);
  const open = async ({ keyHash, sealed, ...row }: ParticipantRow): Promise<StoredParticipant | undefined> => {
    const secret = await aesGcm.open(sealingKey(keyHash), sealed);
    return secret && { keyHash, clientSecret: toB64(secret), ...row };
  };
  return {
    find: async ({ query }: Pick<Queries, 'query'>, keyHashes: readonly string[], lock = '') => {
      const rows = await query<ParticipantRow>(FIND + lock, [keyHashes]);
      return (await Promise.all(rows.map(open))).filter((each) => each !== undefined);
    },
    seal: (keyHash: string, clientSecret: string) => aesGcm.seal(sealingKey(keyHash), fromB64(clientSecret)),
    hashSecret: ({ keyHash, clientSecret }: StoredParticipant) =>
      toHex(secrets.derive(`former-client-secret/${keyHash}/${clientSecret}`)),
  };
}

type Codec = ReturnType<typeof codecOf>;

function changesOf(database: Database, { find, seal, hashSecret }: Codec): Pick<ParticipantRows, 'add' | 'update'> {
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
        const [stored] = await find(queries, [keyHash], ' FOR UPDATE');
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
  hashSecret: Codec['hashSecret'],
): Promise<readonly StoredParticipant[]> {
  type Row = { keyHash: string; optionsHash: string | null; revokedAt: number | null; formerSecrets: string[] };
  const rows = await query<Row>(
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

function putWith(database: Database, { find, seal, hashSecret }: Codec): ParticipantRows['put'] {
  return async (participants, now) => {
    const differing = await whatChanges(database, participants, hashSecret);
    // A start that changes nothing also succeeds on a database that is read-only after a failover.
    if (differing.length === 0) return [];
    const rows = await Promise.all(
      // Every node writes in the same order, so that nodes that start at once cannot deadlock.
      differing
        .toSorted((a, b) => (a.keyHash < b.keyHash ? -1 : 1))
        .map(async (given) => ({ given, sealed: toB64(await seal(given.keyHash, given.clientSecret)) })),
    );
    return durableTransaction(database, async (queries) => {
      const write = (sql: string, written: typeof rows, stored: ReadonlyMap<string, string>) =>
        queries.query<{ keyHash: string }>(sql, [
          written.map(({ given }) => given.keyHash),
          written.map(({ sealed }) => sealed),
          written.map(({ given }) => given.siteId),
          written.map(({ given }) => given.roles.join()),
          written.map(({ given }) => given.optionsHash ?? null),
          written.map(({ given }) => (given.keepStored ? 'keep' : '')),
          written.map(({ given }) => hashSecret(given)),
          written.map(({ given }) => stored.get(given.keyHash) ?? hashSecret(given)),
          now,
        ]);
      const added = (await write(ADD, rows, new Map())).map(({ keyHash }) => keyHash);
      const isAdded = new Set(added);
      const others = rows.filter(({ given }) => !isAdded.has(given.keyHash));
      if (others.length === 0) return added;
      const stored = await find(
        queries,
        others.map(({ given }) => given.keyHash),
        ' FOR UPDATE',
      );
      await write(CHANGE, others, new Map(stored.map((each) => [each.keyHash, hashSecret(each)])));
      return added;
    });
  };
}

export function participantRows(database: Database, secrets: Secrets): ParticipantRows {
  const codec = codecOf(secrets);
  return {
    byKeyHashes: (keyHashes) => codec.find(database, keyHashes),
    ...changesOf(database, codec),
    siteIds: async () => {
      // One value is read much faster than as many rows.
      const [row] = await database.query<{ ids: number[] | null }>(
        'SELECT jsonb_agg(DISTINCT site_id) AS ids FROM tessera_participants',
      );
      return row?.ids ?? [];
    },
    put: putWith(database, codec),
    list: (starts = ['']) => database.query(LIST, [starts]),
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

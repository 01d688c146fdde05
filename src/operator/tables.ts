/**
 * The operator's tables in a database. The list is only ever added to: see `database/migrations.ts`.
 *
 * | table | a row is |
 * |---|---|
 * | `tessera_operator` | the one operator of this database: what must not change, and its first instant |
 * | `tessera_participants` | who may call: API key as keyed hash, client secret sealed |
 * | `tessera_opt_outs` | an opted-out user, by first-level hash |
 * | `tessera_raw_ids` | a raw ID that such a user had, has, or has next |
 * | `tessera_rate_limits` | what a participant has used up of the present second; need not outlive a crash |
 *
 * Hashes are text, base64 or hexadecimal, compared byte by byte. Instants are epoch ms.
 */

import type { Migrations } from '../database/migrations.ts';

export const TABLES: Migrations = {
  name: 'operator',
  steps: [
    `CREATE TABLE tessera_operator (
      one integer PRIMARY KEY DEFAULT 1 CHECK (one = 1),
      environment text NOT NULL,
      scope text NOT NULL,
      rotation_period bigint NOT NULL,
      fingerprint text NOT NULL,
      root_secret bytea,
      epoch_at bigint NOT NULL
    );
    CREATE TABLE tessera_participants (
      key_hash text COLLATE "C" PRIMARY KEY,
      sealed_secret bytea NOT NULL,
      site_id bigint NOT NULL,
      roles text[] NOT NULL
    );
    CREATE TABLE tessera_opt_outs (
      user_hash text COLLATE "C" PRIMARY KEY,
      since bigint NOT NULL,
      through bigint NOT NULL,
      extend_at bigint NOT NULL
    );
    CREATE INDEX tessera_opt_outs_extend_at ON tessera_opt_outs (extend_at);
    CREATE TABLE tessera_raw_ids (
      raw_id text COLLATE "C" PRIMARY KEY,
      user_hash text COLLATE "C" NOT NULL
    );
    CREATE UNLOGGED TABLE tessera_rate_limits (
      key text COLLATE "C" PRIMARY KEY,
      points integer NOT NULL,
      expire bigint
    );`,
  ],
};

/**
 * The operator's tables. Migrations may only be appended: see `database/migrations.ts`.
 *
 * | table | one row is |
 * |---|---|
 * | `tessera_operator` | the only row: the settings that the first start fixed, and the operator's first instant |
 * | `tessera_participants` | a participant: API key as keyed hash, client secret sealed, empty once it is revoked |
 * | `tessera_keys` | a generation of keys: when it seals, and since when it is retired |
 * | `tessera_opt_outs` | an opted-out user, by first-level hash |
 * | `tessera_raw_ids` | a raw ID that an opted-out user had, has, or gets next |
 * | `tessera_envelopes` | a request envelope of the last minutes; unlogged, so a crash may lose it |
 *
 * Hashes are text in base64 or hexadecimal, compared byte by byte. Instants are epoch ms.
 */

import type { Migrations } from '../../database/index.ts';

/** The channel on which a write to `tessera_opt_outs` is notified when it is committed. */
export const OPT_OUT_CHANNEL = 'tessera_opt_outs';

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
    );`,
    `CREATE TABLE tessera_keys (
      generation bigint PRIMARY KEY,
      activates_at bigint NOT NULL,
      retired_at bigint,
      longest_ms bigint NOT NULL
    );
    ALTER TABLE tessera_participants
      ADD COLUMN options_hash text,
      ADD COLUMN added_at bigint,
      ADD COLUMN revoked_at bigint;`,
    `CREATE UNLOGGED TABLE tessera_envelopes (
      tag text COLLATE "C" PRIMARY KEY,
      expires_at bigint NOT NULL
    );
    CREATE INDEX tessera_envelopes_expires_at ON tessera_envelopes (expires_at);`,
    // Number the opt-outs in the order of their commits, so that a reader up to a number has missed none: the lock, whose key is
    // arbitrary, is released after the commit. Use triggers, because nodes of older versions also write, and so does the restore
    // of a backup. Do not use a sequence, which such a restore would set back.
    `ALTER TABLE tessera_opt_outs ADD COLUMN number bigint GENERATED ALWAYS AS IDENTITY;
    ALTER TABLE tessera_opt_outs ALTER COLUMN number DROP IDENTITY;
    CREATE UNIQUE INDEX tessera_opt_outs_number ON tessera_opt_outs (number);
    CREATE FUNCTION tessera_announce_opt_outs() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      PERFORM pg_advisory_xact_lock(132671099);
      NOTIFY tessera_opt_outs;
      RETURN NULL;
    END $$;
    CREATE TRIGGER tessera_announce BEFORE INSERT OR DELETE OR TRUNCATE ON tessera_opt_outs
      FOR EACH STATEMENT EXECUTE FUNCTION tessera_announce_opt_outs();
    CREATE FUNCTION tessera_number_opt_out() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
      NEW.number := 1 + coalesce((SELECT max(number) FROM tessera_opt_outs), 0);
      RETURN NEW;
    END $$;
    CREATE TRIGGER tessera_number BEFORE INSERT ON tessera_opt_outs
      FOR EACH ROW EXECUTE FUNCTION tessera_number_opt_out();`,
    // Also active under `session_replication_role = replica`, which is set by tools that restore or replicate rows.
    `ALTER TABLE tessera_opt_outs ENABLE ALWAYS TRIGGER tessera_announce;
    ALTER TABLE tessera_opt_outs ENABLE ALWAYS TRIGGER tessera_number;`,
    'ALTER TABLE tessera_participants ADD COLUMN opt_out_since bigint',
    `ALTER TABLE tessera_participants ADD COLUMN former_secrets text[] NOT NULL DEFAULT '{}';`,
  ],
};

/**
 * The tables of stored mappings. The list is only ever added to: see `database/migrations.ts`.
 *
 * | table | a row is |
 * |---|---|
 * | `tessera_mappings` | one person's email address or phone number, by hash, and its mapping |
 * | `tessera_mapping_buckets` | one: until when rotated salt buckets were looked at (version 2) |
 * | `tessera_mapping_upkeep` | one: rows written since the table was last tidied up (PGlite alone) |
 *
 * Hashes and raw IDs are base64 text, compared byte by byte. Instants are epoch ms, by the service's clock.
 *
 * `due_at` says from when on a row is to be asked for: an instant, null for never, {@link ASKED_FOR} or {@link ROTATED}.
 * It is the whole queue: a partial index over it, and another over the buckets, are why a due run costs by what is due.
 */

import type { Migrations } from '../database/migrations.ts';

/** `due_at` of a row that a source of `map` holds, and that nobody has asked for yet. */
export const ASKED_FOR = 0;
/** `due_at` of a row whose salt bucket has rotated. */
export const ROTATED = 1;

export const TABLES: Migrations = {
  room: 'mapping',
  steps: [
    `CREATE TABLE tessera_mappings (
      type text COLLATE "C" NOT NULL,
      hash text COLLATE "C" NOT NULL,
      state text NOT NULL,
      raw_id text,
      previous_raw_id text,
      remap_at bigint,
      bucket_id text COLLATE "C",
      answered_at bigint,
      due_at bigint,
      PRIMARY KEY (type, hash)
    );
    CREATE INDEX tessera_mappings_due_at ON tessera_mappings (due_at) WHERE due_at IS NOT NULL;
    CREATE INDEX tessera_mappings_bucket_id ON tessera_mappings (bucket_id) WHERE bucket_id IS NOT NULL;
    CREATE TABLE tessera_mapping_buckets (
      one integer PRIMARY KEY DEFAULT 1 CHECK (one = 1),
      looked_until bigint NOT NULL
    );
    CREATE TABLE tessera_mapping_upkeep (
      one integer PRIMARY KEY DEFAULT 1 CHECK (one = 1),
      rewritten bigint NOT NULL DEFAULT 0
    );
    INSERT INTO tessera_mapping_upkeep DEFAULT VALUES;`,
  ],
};

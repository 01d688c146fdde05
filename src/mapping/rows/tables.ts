/**
 * The tables of stored mappings. Scripts are appended, never changed: see `database/migrations.ts`.
 *
 * | table | content |
 * |---|---|
 * | `tessera_mappings` | one row per email address or phone number: its hash and its mapping |
 * | `tessera_mapping_buckets` | one row: the time up to which rotated salt buckets have been checked (version 2) |
 * | `tessera_mapping_upkeep` | one row: number of rows rewritten since the last VACUUM (PGlite alone) |
 *
 * Hashes and raw IDs are base64 strings, compared byte by byte. Instants are epoch ms by the service's clock. `due_at` is the
 * instant from which a row is to be mapped again, null for never, or {@link ROTATED}. With partial indexes on it and on the
 * buckets, the cost of a due run depends on the number of due rows, not on the size of the table.
 */

import type { Database, Migrations, Queries } from '../../database/index.ts';

/** `due_at` of a row whose salt bucket has rotated. */
export const ROTATED = 1;

export const TABLES: Migrations = {
  name: 'mapping',
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
    // Nearly every comparison ends at the first column, which used to be the type.
    'ALTER TABLE tessera_mappings DROP CONSTRAINT tessera_mappings_pkey, ADD PRIMARY KEY (hash, type)',
    `DROP INDEX tessera_mappings_due_at;
    CREATE INDEX tessera_mappings_due_at ON tessera_mappings (due_at) WHERE due_at > 0;
    CREATE INDEX tessera_mappings_requested ON tessera_mappings (due_at) WHERE due_at = 0;`,
    // A job used to store the keys of its source as rows with `due_at` 0 before it requested them.
    `DROP INDEX tessera_mappings_requested;
    DELETE FROM tessera_mappings WHERE state = 'pending';
    UPDATE tessera_mappings SET due_at = CASE WHEN state = 'mapped' THEN ${ROTATED} END WHERE due_at = 0;`,
  ],
};

/**
 * Run a transaction that finds rows through indexes. The planners prefer to read the whole table, or to collect all matching rows
 * before the first: PGlite never runs ANALYZE by itself, and PostgreSQL underestimates both for a table that has just grown. A
 * bitmap scan would also read the entries of all rows that were locked before, until a VACUUM; an index scan marks them as dead.
 */
export function indexedTransaction<T>(database: Database, work: (queries: Queries) => Promise<T>): Promise<T> {
  return database.transaction(async (queries) => {
    await queries.script(
      ['seqscan', 'bitmapscan', 'hashjoin', 'mergejoin'].map((plan) => `SET LOCAL enable_${plan} = off`).join(';'),
    );
    return work(queries);
  });
}

/**
 * A claim keeps all other jobs from the keys of a batch, from the look-up until the answers are written. If the process is
 * killed, its claims end with it.
 *
 * On PostgreSQL, which several processes share, a claim is one transaction, and its locks are those of the database. PGlite has one
 * process and one connection: a transaction that waited for the service would stop everything else. A claim there is a set of keys
 * in memory, and each of its steps a transaction of its own.
 */

import type { Database, Queries } from '../database/index.ts';
import type { Key } from './key.ts';
import { indexedTransaction } from './tables.ts';

export interface Claim {
  /**
   * The engine decides what a claim guarantees until it ends.
   *
   * - `postgres`: the rows that a step has locked stay locked, and stay where they are.
   * - `pglite`: no other job requests or inserts the keys that {@link take} has returned.
   */
  readonly kind: Database['kind'];
  /** How a step locks the rows that it selects from `m`, and skips those of others: SQL, empty for a claim in memory. */
  readonly lockRows: string;
  /** Number of keys that other claims have in memory. */
  readonly takenElsewhere: number;
  /** Run one step: a transaction of its own, or a part of the claim's. */
  step<T>(work: (queries: Queries) => Promise<T>): Promise<T>;
  /** Take keys, within the step that has read them. Returns those that no other claim has in memory, up to `max`. */
  take<K extends Key>(keys: readonly K[], max?: number): readonly K[];
}

/** Hashes alone: that an address and a number have the same is so rare that one may wait for the other. */
const takenIn = new WeakMap<Database, Set<string>>();

/** Run `work` with a claim, which ends with it. */
export async function withClaim<T>(database: Database, work: (claim: Claim) => Promise<T>): Promise<T> {
  if (database.kind === 'postgres')
    return indexedTransaction(database, (queries) =>
      work({
        kind: 'postgres',
        lockRows: 'FOR UPDATE OF m SKIP LOCKED',
        takenElsewhere: 0,
        step: (statements) => statements(queries),
        take: (keys) => keys,
      }),
    );
  const taken = takenIn.get(database) ?? new Set();
  takenIn.set(database, taken);
  const own: string[] = [];
  try {
    return await work({
      kind: 'pglite',
      lockRows: '',
      get takenElsewhere() {
        return taken.size - own.length;
      },
      step: (statements) => indexedTransaction(database, statements),
      take: (keys, max = Number.POSITIVE_INFINITY) => {
        const free = keys.filter(({ hash }) => !taken.has(hash)).slice(0, max);
        for (const { hash } of free) {
          taken.add(hash);
          own.push(hash);
        }
        return free;
      },
    });
  } finally {
    for (const hash of own) taken.delete(hash);
  }
}

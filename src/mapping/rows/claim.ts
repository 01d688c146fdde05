/**
 * A claim keeps all other jobs from the keys of a batch, from the look-up until the answers are written, or the process ends.
 *
 * The jobs of a store share a set of claimed keys in memory. On PostgreSQL, which several processes share, a claim is also one
 * transaction with its locks. On PGlite's one connection, a transaction that waited for the service would stop everything else,
 * so each step is its own.
 */

import type { Database, Queries } from '../../database/index.ts';
import type { Key } from './key.ts';
import { indexedTransaction } from './tables.ts';

export interface Claim {
  /** `postgres`: locked rows stay locked and in place until it ends. `pglite`: no other job inserts the keys of {@link take}. */
  readonly kind: Database['kind'];
  /** How a step locks the rows that it selects from `m`, and skips those of others: SQL, empty on PGlite. */
  readonly lockRows: string;
  /** Number of rows of other claims that {@link lockRows} does not skip, and {@link takeRows} does. */
  readonly takenElsewhere: number;
  step<T>(work: (queries: Queries) => Promise<T>): Promise<T>;
  /** Take keys. Returns those that no other claim of this store has. */
  take<K extends Key>(keys: readonly K[]): readonly K[];
  release(keys: readonly Key[]): void;
  /** Take rows that a step has selected with {@link lockRows}. Returns those that no other claim has, up to `max`. */
  takeRows<K extends Key>(rows: readonly K[], max?: number): readonly K[];
}

/** The hashes of claimed keys, without their types: an address and a number hardly ever have the same hash. */
const takenIn = new WeakMap<Database, Set<string>>();

export async function withClaim<T>(database: Database, work: (claim: Claim) => Promise<T>): Promise<T> {
  const { kind } = database;
  const taken = takenIn.get(database) ?? new Set();
  takenIn.set(database, taken);
  const own = new Set<string>();
  const isLocking = kind === 'postgres';
  const take = <K extends Key>(keys: readonly K[], max = Number.POSITIVE_INFINITY): readonly K[] => {
    const free = keys.filter(({ hash }) => !taken.has(hash)).slice(0, max);
    for (const { hash } of free) {
      taken.add(hash);
      own.add(hash);
    }
    return free;
  };
  const release = (hashes: Iterable<string>): void => {
    for (const hash of hashes) {
      taken.delete(hash);
      own.delete(hash);
    }
  };
  const claimWith = (step: Claim['step']): Claim => ({
    kind,
    lockRows: isLocking ? 'FOR UPDATE OF m SKIP LOCKED' : '',
    get takenElsewhere() {
      return isLocking ? 0 : taken.size - own.size;
    },
    step,
    take: (keys) => take(keys),
    release: (keys) => release(keys.map(({ hash }) => hash)),
    takeRows: isLocking ? (rows) => rows : take,
  });
  try {
    return await (isLocking
      ? indexedTransaction(database, (queries) => work(claimWith((statements) => statements(queries))))
      : work(claimWith((statements) => indexedTransaction(database, statements))));
  } finally {
    release(own);
  }
}

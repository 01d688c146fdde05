/**
 * A hash table of the first 8 bytes of first-level hashes: 11 to 21 bytes for each user, up to 32 while it grows. Two users may
 * share these bytes, one pair in 2^64, so a hit proves nothing, but a miss does.
 */

export const DIGEST_BYTES = 8;

const FIRST_CAPACITY = 1024;
const MAX_LOAD = 0.75;

function readWord(bytes: Uint8Array, at: number): number {
  return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0;
}

/** Slots of a former table that one addition moves. With 2, the former table would already be empty before the new one is full. */
const MOVED_SLOTS = 16;

/** Two words for each slot. A slot whose second word is 0 is empty. */
type Table = Uint32Array;

function emptyTable(capacity: number): Table {
  return new Uint32Array(2 * capacity);
}

/** Where a digest is, or belongs. The first word is uniformly distributed, so it needs no further hashing. */
function indexOf(table: Table, high: number, low: number): number {
  const mask = table.length / 2 - 1;
  let slot = high & mask;
  while (table[2 * slot + 1] !== 0 && (table[2 * slot] !== high || table[2 * slot + 1] !== low))
    slot = (slot + 1) & mask;
  return 2 * slot;
}

function includes(table: Table, high: number, low: number): boolean {
  return table[indexOf(table, high, low) + 1] !== 0;
}

function insert(table: Table, high: number, low: number): void {
  const at = indexOf(table, high, low);
  table[at] = high;
  table[at + 1] = low;
}

/**
 * An empty set of users: first-level hashes, or other bytes whose first 8 are uniformly distributed. It grows in small steps, so
 * that an addition never takes longer because there are more users.
 */
export function createDigestSet() {
  let table = emptyTable(FIRST_CAPACITY);
  // Stays whole until all its slots are moved, so a look-up finds each digest in one of the two.
  let former: Table | undefined;
  let moved = 0;
  let size = 0;

  const move = (): void => {
    if (!former) return;
    const end = Math.min(moved + 2 * MOVED_SLOTS, former.length);
    for (; moved < end; moved += 2) if (former[moved + 1] !== 0) insert(table, former[moved]!, former[moved + 1]!);
    if (moved === former.length) former = undefined;
  };
  const has = (high: number, low: number): boolean =>
    includes(table, high, low) || (former !== undefined && includes(former, high, low));
  // The second word is never 0: 0 and 1 count as equal.
  const lowWord = (bytes: Uint8Array, offset: number): number => readWord(bytes, offset + 4) || 1;

  return {
    size: () => size,
    /** Of the table. */
    byteLength: () => table.byteLength + (former?.byteLength ?? 0),
    has: (user: Uint8Array): boolean => has(readWord(user, 0), lowWord(user, 0)),
    /** Add the user whose digest starts at `offset`. Returns whether it was not in the set. */
    add: (bytes: Uint8Array, offset = 0): boolean => {
      const high = readWord(bytes, offset);
      const low = lowWord(bytes, offset);
      move();
      if (has(high, low)) return false;
      if (size >= (MAX_LOAD * table.length) / 2) {
        former = table;
        moved = 0;
        table = emptyTable(table.length);
      }
      insert(table, high, low);
      size++;
      return true;
    },
    clear: (): void => {
      table = emptyTable(FIRST_CAPACITY);
      former = undefined;
      size = 0;
    },
  };
}

/**
 * A set of users in little memory: a hash table of the first 8 bytes of their first-level hashes, 11 to 21 bytes for each.
 *
 * Two users may share these bytes, one pair in 2^64, so a hit is not a proof. A miss is one. It knows no database.
 */

/** A set of users. A user is bytes whose first 8 are uniformly distributed: a first-level hash, or its digest alone. */
export interface DigestSet {
  /** Number of different digests. */
  size(): number;
  /** Size of the table, bytes. */
  byteLength(): number;
  has(user: Uint8Array): boolean;
  /** Add the user whose digest starts at `offset` of `bytes`. */
  add(bytes: Uint8Array, offset?: number): void;
  clear(): void;
}

/** Bytes of a digest. */
export const DIGEST_BYTES = 8;

const FIRST_CAPACITY = 1024;
const MAX_LOAD = 0.75;

const readWord = (bytes: Uint8Array, at: number): number =>
  ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0;

/** Create an empty set. */
export function createDigestSet(): DigestSet {
  // Two words for each slot. A slot whose second word is 0 is empty.
  let slots = new Uint32Array(2 * FIRST_CAPACITY);
  let mask = FIRST_CAPACITY - 1;
  let size = 0;

  // Where a digest is, or where it belongs. The first word is uniformly distributed, so it needs no further hashing.
  const slotOf = (high: number, low: number): number => {
    let slot = high & mask;
    while (slots[2 * slot + 1] !== 0 && (slots[2 * slot] !== high || slots[2 * slot + 1] !== low))
      slot = (slot + 1) & mask;
    return 2 * slot;
  };
  const insert = (high: number, low: number): void => {
    const at = slotOf(high, low);
    if (slots[at + 1] !== 0) return;
    slots[at] = high;
    slots[at + 1] = low;
    size++;
  };
  const allocate = (capacity: number): void => {
    slots = new Uint32Array(2 * capacity);
    mask = capacity - 1;
    size = 0;
  };
  const grow = (): void => {
    const old = slots;
    allocate(2 * (mask + 1));
    for (let at = 0; at < old.length; at += 2) if (old[at + 1] !== 0) insert(old[at]!, old[at + 1]!);
  };
  // The second word is never 0: 0 and 1 count as the same.
  const lowWord = (bytes: Uint8Array, offset: number): number => readWord(bytes, offset + 4) || 1;

  return {
    size: () => size,
    byteLength: () => slots.byteLength,
    has: (user) => slots[slotOf(readWord(user, 0), lowWord(user, 0)) + 1] !== 0,
    add: (bytes, offset = 0) => {
      if (size >= MAX_LOAD * (mask + 1)) grow();
      insert(readWord(bytes, offset), lowWord(bytes, offset));
    },
    clear: () => allocate(FIRST_CAPACITY),
  };
}

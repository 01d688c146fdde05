/** Reads opted-out users page by page, from where the last reading stopped. If that row has changed, it starts over. */

import type { Queries } from '../../database/index.ts';
import { toHex } from '../../token/bytes.ts';
import { createDigestSet, DIGEST_BYTES } from './digest-set.ts';

const PAGE_SIZE = 10_000;

interface Position {
  readonly number: number;
  readonly digest: Uint8Array;
}

const START: Position = { number: 0, digest: new Uint8Array(DIGEST_BYTES) };

interface Page {
  readonly count: number;
  readonly digests: Uint8Array | null;
  readonly number: number | null;
  readonly digest: Uint8Array | null;
  /** Whether the row at the position is still there. */
  readonly isSame: boolean;
}

/** One statement, so that there is one snapshot. An empty page has NULLs. */
const PAGE = `WITH page AS (
    SELECT number, substring(decode(user_hash, 'base64') for ${DIGEST_BYTES}) AS digest FROM tessera_opt_outs
      WHERE number > $1::bigint ORDER BY number LIMIT ${PAGE_SIZE}
  )
  SELECT count(*)::integer AS count, string_agg(digest, ''::bytea) AS digests, max(number) AS number,
    (SELECT digest FROM page ORDER BY number DESC LIMIT 1) AS digest,
    $1::bigint = 0 OR EXISTS (
      SELECT FROM tessera_opt_outs
        WHERE number = $1::bigint AND substring(decode(user_hash, 'base64') for ${DIGEST_BYTES}) = $2::bytea
    ) AS "isSame"
  FROM page`;

/** Reports rows that an earlier reading has found and that are missing. `seenAt`: when that reading ended, epoch ms. */
type OnLoss = (missing: number, seenAt: number) => void;

function keyOf(bytes: Uint8Array, at = 0): string {
  return toHex(bytes.subarray(at, at + DIGEST_BYTES));
}

/** The users who have been read, and those whose rows this process writes, until it reads them. */
function createUsers() {
  const set = createDigestSet();
  // Not in the set, because a row that is read for the first time makes up for no lost one.
  const unread = new Set<string>();
  return {
    size: () => set.size() + unread.size,
    has: (user: Uint8Array): boolean => set.has(user) || (unread.size > 0 && unread.has(keyOf(user))),
    /** Add a user (first-level hash) whose row is written. `isRead`: the row will not be read. */
    add: (user: Uint8Array, isRead: boolean): void => {
      if (isRead) set.add(user);
      else if (!set.has(user)) unread.add(keyOf(user));
    },
    /** Add the users of a page. Returns how many of them have been read before. */
    addRead: (digests: Uint8Array): number => {
      let known = 0;
      for (let at = 0; at < digests.length; at += DIGEST_BYTES) {
        if (!set.add(digests, at)) known++;
        if (unread.size > 0) unread.delete(keyOf(digests, at));
      }
      return known;
    },
    clear: (): void => {
      set.clear();
      unread.clear();
    },
  };
}

/** Reads the table from where the last reading stopped. */
export function createOptOutReader(onLoss: OnLoss) {
  const users = createUsers();
  let position = START;
  // `performance.now()` when the last complete reading began.
  let readAt = Number.NEGATIVE_INFINITY;
  let seenAt = 0;
  // Up to the position: the number of rows, and of those that were in the set already.
  let rows = 0;
  let known = 0;
  // The number of rows before the reading began again; 0 once all of them are read.
  let former = 0;

  // The set stays: a user in it who has not opted out only costs a query.
  const startOver = (): void => {
    former = Math.max(former, rows);
    position = START;
    readAt = Number.NEGATIVE_INFINITY;
    rows = 0;
    known = 0;
  };
  /** Read all rows that were committed before the call. Resolves with false as soon as `mayContinue` returns false. */
  const read = async ({ query }: Pick<Queries, 'query'>, mayContinue: () => boolean): Promise<boolean> => {
    while (mayContinue()) {
      const startedAt = performance.now();
      const [page] = await query<Page>(PAGE, [position.number, position.digest]);
      // The rows were removed or replaced, for example by restoring a backup into the tables.
      if (!page!.isSame) {
        startOver();
        continue;
      }
      const { count, digests, number, digest } = page!;
      if (digests) known += users.addRead(digests);
      if (number !== null) position = { number, digest: digest! };
      rows += count;
      if (count === PAGE_SIZE) continue;
      const missing = former - known;
      former = 0;
      if (missing > 0) {
        onLoss(missing, seenAt);
        rows = 0;
        startOver();
        users.clear();
        continue;
      }
      seenAt = Date.now();
      readAt = startedAt;
      return true;
    }
    return false;
  };
  return { users, read, startOver, readAt: () => readAt };
}

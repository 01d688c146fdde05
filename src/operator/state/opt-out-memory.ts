/**
 * The opted-out users of a database in the memory of this process, so that a refresh for any other user needs no query.
 *
 * It reads the rows in the order of their numbers, which is the order of their commits: see `tables.ts`. On PostgreSQL, it
 * continues when it is notified, and every {@link CATCH_UP_MS} in any case. If the last complete reading began less than {@link
 * MAX_AGE_MS} ago, a user who is missing has not opted out; if it is older, nothing is known. On PGlite, this process is the only
 * writer, so one complete reading is enough.
 *
 * A lost connection ends this at once, and the next connection reads all rows again. A working connection is renewed every
 * minute; the row at which the reading stopped shows whether the new connection reaches the same rows. Rows that are missing when
 * all have been read again are lost: that is logged and counted.
 *
 * It never says that a user has opted out: only the database does.
 */

import type { Database, Queries, Subscription } from '../../database/index.ts';
import { fromB64 } from '../../token/bytes.ts';
import { createOutageLog, type Logger, reasonOf } from '../ports/logger.ts';
import { createDigestSet, DIGEST_BYTES } from './digest-set.ts';
import { OPT_OUT_CHANNEL } from './tables.ts';

/** How long a complete reading is relied on, ms of real time. After that time, every node knows of an opt-out. */
export const MAX_AGE_MS = 1000;
/** Longest time between two readings while the connection works, ms. */
const CATCH_UP_MS = 250;
/** Maximum number of opt-outs in memory: 537 MB. With more, every refresh queries the database. */
const MAX_OPT_OUTS = 50_000_000;

const PAGE_SIZE = 10_000;
/** A connection stays with the server that it has reached. A new one finds the primary that has taken over its name. */
const RENEW_MS = 60_000;
const MIN_RECONNECT_MS = 100;
const MAX_RECONNECT_MS = 2000;

const LOST =
  'opt-outs: rows that this node has read are missing from the database, as after a failover to a replica that lagged; record them again (https://github.com/tessera-id/tessera/blob/main/docs/guide/backup.md#after-a-restore)';

/** The opted-out users in memory. */
export interface OptOutMemory {
  /** Return whether this user (first-level hash, 32 bytes) has certainly not opted out. If false, query the database. */
  isAbsent(user: Uint8Array): boolean;
  /** Add users (first-level hashes, base64) whose opt-outs are committed, or are about to be. */
  add(users: readonly string[]): void;
  size(): number;
  /** How many rows have gone missing from the database after this process had read them. */
  lost(): number;
  /** Whether `isAbsent` can answer true. */
  isCurrent(): boolean;
  /** Stop reading. Every call returns the same promise. */
  close(): Promise<void>;
}

export interface OptOutMemoryOptions {
  readonly logger?: Logger | undefined;
  /** Default: {@link MAX_OPT_OUTS}. */
  readonly maxOptOuts?: number | undefined;
}

/** The last row that has been read: its number and its digest. */
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

/** Reads the table from where the last reading stopped. */
function createReader(onLoss: OnLoss) {
  const set = createDigestSet();
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
      if (digests) for (let at = 0; at < digests.length; at += DIGEST_BYTES) if (!set.add(digests, at)) known++;
      if (number !== null) position = { number, digest: digest! };
      rows += count;
      if (count === PAGE_SIZE) continue;
      const missing = former - known;
      former = 0;
      if (missing > 0) {
        onLoss(missing, seenAt);
        rows = 0;
        startOver();
        set.clear();
        continue;
      }
      seenAt = Date.now();
      readAt = startedAt;
      return true;
    }
    return false;
  };
  return { set, read, startOver, readAt: () => readAt };
}

/** Resolves at the next call of `wake`, or after `ms`. */
function createPause() {
  let isWoken = false;
  let resume = (): void => {};
  return {
    wake: (): void => {
      isWoken = true;
      resume();
    },
    wait: async (ms: number): Promise<void> => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      if (!isWoken)
        await new Promise<void>((resolve) => {
          resume = resolve;
          timer = setTimeout(resolve, ms);
          // Only in Node: the timer must not keep the process alive.
          (timer as { unref?(): void }).unref?.();
        });
      clearTimeout(timer);
      isWoken = false;
    },
  };
}

interface Follower {
  /** Open a connection that follows the channel. */
  readonly subscribe: () => Promise<Subscription>;
  /** Read all rows; resolves with false if there is nothing more to do. */
  readonly read: (subscription: Subscription) => Promise<boolean>;
  /** Read everything again. */
  readonly startOver: () => void;
  readonly pause: ReturnType<typeof createPause>;
  readonly mayContinue: () => boolean;
  readonly logger: Logger | undefined;
}

async function followOnce({ subscribe, read, pause }: Follower, onRead: () => void): Promise<void> {
  const subscription = await subscribe();
  const renewAt = performance.now() + RENEW_MS;
  subscription.ended.addEventListener('abort', pause.wake);
  try {
    while (await read(subscription)) {
      onRead();
      if (performance.now() >= renewAt) return;
      await pause.wait(CATCH_UP_MS);
    }
  } finally {
    subscription.close();
  }
}

async function follow(follower: Follower): Promise<void> {
  const { startOver, pause, mayContinue, logger } = follower;
  let failures = 0;
  const outage = createOutageLog(logger, {
    failure: 'opt-outs: the connection that follows them is lost; refreshes query the database',
    recovery: 'opt-outs: the connection that follows them is back',
  });
  while (mayContinue()) {
    try {
      await followOnce(follower, () => {
        outage.recovered();
        failures = 0;
      });
    } catch (error) {
      if (!mayContinue()) return;
      // While there was no subscription, rows may have been restored without the triggers, which the last row alone would not
      // show.
      startOver();
      failures++;
      outage.failed(error);
      await pause.wait(Math.min(MIN_RECONNECT_MS * 2 ** (failures - 1), MAX_RECONNECT_MS));
    }
  }
}

/**
 * Create the memory and start to fill it. Until it is filled `isAbsent` returns false.
 *
 * @param database  with `subscribe`, other processes may write to it. A PostgreSQL database without `subscribe` cannot be
 *   followed, so nothing is kept in memory.
 */
export function createOptOutMemory(
  database: Database,
  { logger, maxOptOuts = MAX_OPT_OUTS }: OptOutMemoryOptions = {},
): OptOutMemory {
  let lost = 0;
  const { set, read, startOver, readAt } = createReader((missing, seenAt) => {
    lost += missing;
    logger?.error({ missing, seenAt: new Date(seenAt).toISOString() }, LOST);
  });
  const pause = createPause();
  const isExclusive = database.kind === 'pglite';
  let isClosed = false;
  // Stays true when the set is emptied.
  let wasFull = false;
  const isFull = (): boolean => {
    wasFull ||= set.size() >= maxOptOuts;
    return wasFull;
  };
  const mayContinue = (): boolean => !isClosed && !isFull();
  const isCurrent = (): boolean =>
    mayContinue() && (isExclusive ? readAt() >= 0 : performance.now() - readAt() < MAX_AGE_MS);

  const run = async (): Promise<void> => {
    const subscribe = database.subscribe && (() => database.subscribe!(OPT_OUT_CHANNEL, pause.wake));
    const readAll = (source: Pick<Queries, 'query'>) => read(source, mayContinue);
    if (subscribe) await follow({ subscribe, read: readAll, startOver, pause, mayContinue, logger });
    else if (isExclusive) await readAll(database);
    if (!isFull()) return;
    set.clear();
    logger?.warn({}, `opt-outs: there are more than ${maxOptOuts}; refreshes query the database`);
  };
  const running = run().catch((error: unknown) => {
    if (!isClosed) logger?.warn(reasonOf(error), 'opt-outs: they cannot be read; refreshes query the database');
  });

  return {
    isAbsent: (user) => isCurrent() && !set.has(user),
    add: (users) => {
      if (!isFull()) for (const user of users) set.add(fromB64(user));
    },
    size: set.size,
    lost: () => lost,
    isCurrent,
    close: async () => {
      isClosed = true;
      pause.wake();
      await running;
    },
  };
}

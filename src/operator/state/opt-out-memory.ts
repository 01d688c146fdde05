/**
 * The opted-out users of a database in memory, so that a refresh for any other user needs no query. It never says that a user has
 * opted out: only the database does.
 *
 * It reads the rows in the order of their commits (`tables.ts`), on PostgreSQL at each notification and every {@link
 * CATCH_UP_MS}. If the last complete reading began less than {@link MAX_AGE_MS} ago, a missing user has not opted out; otherwise
 * nothing is known. On PGlite, this process is the only writer, so one complete reading is enough.
 *
 * A lost connection ends this at once, and the next one reads all rows again. A working one is renewed every minute; the row at
 * which the reading stopped shows whether it reaches the same rows. Rows that are missing after another reading are lost: logged,
 * counted.
 */

import type { Database, Queries, Subscription } from '../../database/index.ts';
import { fromB64 } from '../../token/bytes.ts';
import { createOutageLog, type Logger, reasonOf } from '../ports/logger.ts';
import { createOptOutReader } from './opt-out-reader.ts';
import { OPT_OUT_CHANNEL } from './tables.ts';

/** How long a complete reading is relied on, ms of real time. After that time, every node knows of an opt-out. */
export const MAX_AGE_MS = 1000;
/** Longest time between two readings while the connection works, ms. */
const CATCH_UP_MS = 250;
/** Maximum number of opt-outs in memory: 537 MB. With more, every refresh queries the database. */
const MAX_OPT_OUTS = 50_000_000;

/** A connection stays with the server that it has reached. A new one finds the primary that has taken over its name. */
const RENEW_MS = 60_000;
const MIN_RECONNECT_MS = 100;
const MAX_RECONNECT_MS = 2000;

const LOST =
  'opt-outs: rows that this node has read are missing from the database, as after a failover to a replica that lagged; record them again (https://github.com/tessera-id/tessera/blob/main/docs/operating/postgresql.md#after-a-restore)';

export interface OptOutMemory {
  /** Return whether this user (first-level hash, 32 bytes) has certainly not opted out. If false, query the database. */
  isAbsent(user: Uint8Array): boolean;
  /** Add users (first-level hashes, base64) whose opt-outs are committed, or are about to be. */
  add(users: readonly string[]): void;
  size(): number;
  /** How many rows have gone missing from the database after this process had read them. */
  lost(): number;
  isCurrent(): boolean;
  close(): Promise<void>;
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
      // Meanwhile, rows may have been restored without the triggers, which the last row alone would not show.
      startOver();
      failures++;
      outage.failed(error);
      await pause.wait(Math.min(MIN_RECONNECT_MS * 2 ** (failures - 1), MAX_RECONNECT_MS));
    }
  }
}

/**
 * Create the memory and start to fill it; until then, `isAbsent` returns false. With `subscribe`, other processes may write to
 * the database. PostgreSQL without it cannot be followed, so nothing is kept.
 */
export function createOptOutMemory(
  database: Database,
  { logger, maxOptOuts = MAX_OPT_OUTS }: { readonly logger?: Logger | undefined; readonly maxOptOuts?: number } = {},
): OptOutMemory {
  let lost = 0;
  const { users, read, startOver, readAt } = createOptOutReader((missing, seenAt) => {
    lost += missing;
    logger?.error({ missing, seenAt: new Date(seenAt).toISOString() }, LOST);
  });
  const pause = createPause();
  const isExclusive = database.kind === 'pglite';
  let isClosed = false;
  // Stays true when the set is emptied.
  let wasFull = false;
  const isFull = (): boolean => {
    wasFull ||= users.size() >= maxOptOuts;
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
    users.clear();
    logger?.warn({}, `opt-outs: there are more than ${maxOptOuts}; refreshes query the database`);
  };
  const running = run().catch((error: unknown) => {
    if (!isClosed) logger?.warn(reasonOf(error), 'opt-outs: they cannot be read; refreshes query the database');
  });

  return {
    isAbsent: (user) => isCurrent() && !users.has(user),
    add: (written) => {
      if (!isFull()) for (const user of written) users.add(fromB64(user), isExclusive);
    },
    size: users.size,
    lost: () => lost,
    isCurrent,
    close: async () => {
      isClosed = true;
      pause.wake();
      await running;
    },
  };
}

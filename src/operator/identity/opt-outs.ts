/**
 * Opt-outs, which are never lifted: a user is a first-level hash, with all raw IDs from the operator's first day to the current
 * rotation and usually the next one, so a caller with an old ID learns of the opt-out too (docs/protocol.md, "Opt-out").
 */

import { fromB64 } from '../../token/bytes.ts';
import { TokenError } from '../../token/index.ts';
import { encodeB64 } from '../crypto/base64.ts';
import { settledWithin } from '../ports/settled-within.ts';
import type { ExtendedOptOut, OptOutStore } from '../ports/state.ts';
import { bucketOf, type RawIds } from './raw-ids.ts';
import type { ReservedPurpose } from './reserved-identities.ts';
import type { Salts } from './salts.ts';

/** Opt-outs of one operator. Users are first-level hashes, 32 bytes or their base64; instants are epoch ms. */
export interface OptOuts {
  /** Tell which of these users (base64) have opted out, in their order. */
  areOptedOut(users: readonly string[]): Promise<boolean[]>;
  /** At a refresh, which costs no query: an opt-out that another process records in the database takes effect within a second. */
  isOptedOutAtRefresh(user: Uint8Array): boolean | Promise<boolean>;
  /** Record an opt-out. A user who has already opted out keeps the earlier time. */
  record(user: Uint8Array, now: number): Promise<void>;
  /** Return when the owner of each raw ID opted out, rounded down to whole seconds; undefined if there is no opt-out. */
  sinceByRawId(rawIds: readonly string[], now: number): Promise<readonly (number | undefined)[]>;
}

/** Records that are extended in one statement: about 1 ms of hashing. */
const EXTEND_BATCH_SIZE = 500;

/** How long a look-up waits for earlier ones, ms, so that one hanging connection does not block all of them. */
const GATHER_MS = 50;

/** How many opt-outs wait for those that are being written. */
const MAX_WAITING = 500;

/**
 * Returns a function that asks for one item. Items that arrive while a call is running are served together by the next one, which
 * waits until it has ended, or at most `waitMs`. At most `max` items wait.
 */
function gather<Item, Answer>(
  ask: (items: readonly Item[]) => Promise<readonly Answer[]>,
  { waitMs, max = Number.POSITIVE_INFINITY }: { readonly waitMs?: number; readonly max?: number },
) {
  let batch: { readonly items: Item[]; readonly answer: Promise<readonly Answer[]> } | undefined;
  let last: Promise<unknown> = Promise.resolve();
  const send = async (items: readonly Item[]): Promise<readonly Answer[]> => {
    await last;
    batch = undefined;
    const answer = ask(items);
    last = waitMs === undefined ? answer.catch(() => {}) : settledWithin(answer, waitMs);
    return answer;
  };
  return async (item: Item): Promise<Answer> => {
    if (!batch) {
      const items: Item[] = [];
      batch = { items, answer: send(items) };
    }
    const { items, answer } = batch;
    if (items.length >= max)
      throw new TokenError('storage_failed', `opt-outs: expected at most ${max} that wait for the database, got more`);
    const index = items.push(item) - 1;
    const answers = await answer;
    if (index >= answers.length)
      throw new RangeError(`opt-outs: expected an answer for each of ${items.length} items, got ${answers.length}`);
    return answers[index]!;
  };
}

/** Of several opt-outs of one user, the last, which has the most raw IDs, with the time of the first. */
function oncePerUser(optOuts: readonly ExtendedOptOut[]): readonly ExtendedOptOut[] {
  const users = new Map<string, ExtendedOptOut>();
  for (const optOut of optOuts)
    users.set(optOut.user, { ...optOut, since: users.get(optOut.user)?.since ?? optOut.since });
  return [...users.values()];
}

/** The parts that opt-outs are created from. `rotationPeriod` in s, `startedAt` in epoch ms. */
interface OptOutParts {
  readonly store: OptOutStore;
  readonly rawIds: RawIds;
  readonly salts: Salts;
  readonly reserved: ReadonlyMap<string, ReservedPurpose>;
  readonly rotationPeriod: number;
  readonly startedAt: number;
}

/** Builds a record with the raw IDs from `firstRotation` to the rotation after the one at `at`. */
function recordBuilder({ rawIds, salts, rotationPeriod }: OptOutParts) {
  return (user: Uint8Array, since: number, firstRotation: number, at: number): ExtendedOptOut => {
    const { number, startSeconds } = salts.rotation(bucketOf(user), at);
    const ids: string[] = [];
    for (let rotation = firstRotation; rotation <= number + 1; rotation++) ids.push(rawIds.during(user, rotation));
    const extendAt = (startSeconds + rotationPeriod) * 1000;
    return { user: encodeB64(user), since, through: number + 1, extendAt, rawIds: ids };
  };
}

/**
 * Extends the records with the raw IDs that users have received since. A record that becomes due lacks the ID of the next
 * rotation, which nobody receives for another period. So a caller waits only for records that have been due for a whole period;
 * the others, after weeks without a call a large part of all records, are extended in the background.
 */
function createExtension(parts: OptOutParts, recordOf: ReturnType<typeof recordBuilder>) {
  const { store, rotationPeriod } = parts;
  const periodMs = rotationPeriod * 1000;
  // How often records are checked for extension: about daily with a period of one year.
  const checkIntervalMs = Math.floor(periodMs / 365);
  let nextCheckAt = Number.NEGATIVE_INFINITY;
  let overdue: Promise<void> | undefined;
  let isExtending = false;

  const extendDue = async (dueAt: number, now: number): Promise<void> => {
    for (;;) {
      const due = await store.due(dueAt, EXTEND_BATCH_SIZE);
      if (due.length === 0) return;
      await store.put(
        due.map(({ user, since, through, extendAt }) =>
          recordOf(fromB64(user), since, through + 1, Math.max(now, extendAt)),
        ),
      );
    }
  };

  return async (now: number): Promise<void> => {
    if (now < nextCheckAt) return;
    // Both include records that become due before the next check. Callers in the meantime wait for the same extension.
    overdue ??= extendDue(now + checkIntervalMs - periodMs, now).finally(() => {
      overdue = undefined;
    });
    await overdue;
    if (isExtending) return;
    isExtending = true;
    extendDue(now + checkIntervalMs, now)
      .then(() => {
        nextCheckAt = now + checkIntervalMs;
      })
      // If the store fails, the next call tries again.
      .catch(() => {})
      .finally(() => {
        isExtending = false;
      });
  };
}

export function createOptOuts(parts: OptOutParts): OptOuts {
  const { store, salts, reserved, startedAt } = parts;
  const recordOf = recordBuilder(parts);
  const extendIfDue = createExtension(parts, recordOf);
  // Fix the operator's first day when it starts, not at the first opt-out. If the store fails now, `record` tries again.
  store.epochAt(startedAt).catch(() => {});

  const isOptedOut = gather(
    async (users: readonly string[]) => (await store.since(users)).map((since) => since !== undefined),
    { waitMs: GATHER_MS },
  );
  // One call at a time, because each holds a connection until its commit, which may wait for a replica, and locks out the others.
  const put = gather(
    async (optOuts: readonly ExtendedOptOut[]) => {
      await store.put(oncePerUser(optOuts));
      return optOuts;
    },
    { max: MAX_WAITING },
  );

  return {
    areOptedOut: async (users) => {
      const since = await store.since(users);
      return users.map((user, index) => {
        const purpose = reserved.get(user);
        return purpose ? purpose === 'optOut' : since[index] !== undefined;
      });
    },
    isOptedOutAtRefresh: (user) => {
      const text = encodeB64(user);
      const purpose = reserved.get(text);
      if (purpose) return purpose !== 'validate';
      return store.isAbsent?.(user) ? false : isOptedOut(text);
    },
    record: async (user, now) => {
      // Start one rotation before the first day, because mapping answers of that day contained its ID as the previous one.
      const firstDay = Math.min(await store.epochAt(startedAt), now);
      const firstRotation = salts.rotation(bucketOf(user), firstDay).number - 1;
      await put(recordOf(user, Math.floor(now / 1000) * 1000, firstRotation, now));
    },
    sinceByRawId: async (ids, now) => {
      await extendIfDue(now);
      return store.sinceByRawId(ids);
    },
  };
}

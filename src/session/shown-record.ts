/**
 * The record that all tabs share, as this page shows it:
 *
 *   shown = the host's changes that are on their way to the store, applied in order to the record last seen there
 *
 * So a change of the host shows at once, a late read cannot undo it, and when its write has ended, the store's result is what was last
 * seen. Operations on the store run one at a time, each with a time limit. A store that fails is replaced by memory for the life of
 * the page.
 */

import { TokenError } from '../token/errors.ts';
import { ignoreFailure, withTimeout } from './async.ts';
import { memoryStore, type Store } from './browser/store.ts';
import { explain } from './explain/entry.ts';
import type { Cause, View } from './rules/page.ts';
import {
  type Change,
  changed,
  emptyRecord,
  erased,
  isSameSet,
  parseRecord,
  type SessionRecord,
} from './rules/record.ts';

/** Time limit of each operation, and of opening the store and the first read together, ms. */
export const STORE_MS = 1_500;

/** What the record asks and tells the session. */
export interface RecordOwner {
  /** Consent may have been withdrawn while a change waited for its turn. */
  mayWrite(isErasure?: boolean): boolean;
  /** The record last seen is another one. `isFirst`: nothing was seen before. */
  onSeen(before: SessionRecord, after: SessionRecord, cause: Cause, isFirst: boolean): void;
  /** The store has failed. */
  onFailure(cause: unknown): void;
}

export type ShownRecord = ReturnType<typeof createShownRecord>;

/** Limit the time of an operation on a store. The host's store may also throw instead of rejecting. */
function limited(work: () => Promise<unknown>): Promise<unknown> {
  return withTimeout(STORE_MS, (async () => work())(), 'the store');
}

/**
 * Run operations on the store in order, each with a time limit. If it fails, the operation is repeated on memory.
 *
 * @param replacement  returns what that memory holds.
 */
function createAccess(given: Store, replacement: () => unknown, onFailure: (cause: unknown) => void) {
  let store = given;
  let last: Promise<unknown> = Promise.resolve();
  /** How often the page has lost track of the store. */
  let absences = 0;
  const run = async (work: (place: Store) => Promise<void>): Promise<void> => {
    try {
      await limited(() => work(store));
    } catch (cause) {
      // Memory fails only through a fault of this code.
      if (store !== given) throw cause;
      ignoreFailure(() => given.close?.());
      store = memoryStore(replacement());
      onFailure(cause);
      await work(store);
    }
  };
  return {
    get store() {
      return store;
    },
    loseTrack: () => void absences++,
    /** Resolve when all operations so far have ended. */
    idle: () => last,
    /** Resolves with whether the page has lost track since the operation began, so that its result may be out of date. */
    use(work: (place: Store) => Promise<void>): Promise<boolean> {
      const done = last.then(async () => {
        const before = absences;
        await run(work);
        return absences > before;
      });
      last = done;
      return done;
    },
  };
}

/** Change what a store holds. A store that ends without calling `change` has failed. */
async function updateIn(place: Store, change: (stored: unknown) => unknown): Promise<void> {
  const calls: unknown[] = [];
  await place.update((stored) => {
    calls.push(stored);
    return change(stored);
  });
  if (!calls.length) throw new TypeError(explain?.notCalled);
}

/**
 * Change the stored record.
 *
 * @param mayWrite  consent may be withdrawn while the change waits for its turn.
 * @returns what was stored before and after: the same if nothing has changed.
 */
async function changeStored(
  access: ReturnType<typeof createAccess>,
  parse: (stored: unknown) => SessionRecord,
  by: Change,
  mayWrite: () => boolean,
) {
  const empty = parse(undefined);
  const result = { before: empty, after: empty };
  const isOutdated = await access.use((place) =>
    updateIn(place, (stored) => {
      // A late call of a store that has been replaced changes nothing.
      if (place !== access.store || !mayWrite()) return stored;
      result.before = parse(stored);
      result.after = changed(result.before, by);
      return result.after === result.before ? stored : result.after;
    }),
  );
  return { ...result, isOutdated };
}

/**
 * Erase the set in a store that has failed, because the next page may find it.
 *
 * @returns whether the next page will find no set: it is erased, there was none, or the store refuses to be read too. A store that
 *   does not answer in time may hold one.
 */
async function eraseFailed(given: Store, baseUrl: string): Promise<boolean> {
  const holdsSet = (stored: unknown) => !!parseRecord(stored, baseUrl).set;
  let isOver = false;
  const erase = () =>
    updateIn(given, (stored) => {
      const found = parseRecord(stored, baseUrl);
      // A late call must not erase what another tab has written since. The tombstone of an opt-out stays.
      if (isOver || !found.set) return stored;
      return found.optedOut ? erased(found) : undefined;
    });
  const isErased = await limited(erase)
    .finally(() => {
      isOver = true;
    })
    .then(
      () => true,
      () =>
        limited(() => given.read()).then(
          (stored) => !holdsSet(stored),
          (error) => !(error instanceof TokenError),
        ),
    );
  ignoreFailure(() => given.close?.());
  return isErased;
}

/**
 * Parse what the store returned. A store that reports writes it did not make has lost the retry state: then the one that the page has
 * seen last counts, as long as the set is the same.
 */
function parseSeen(stored: unknown, baseUrl: string, lastSeen: SessionRecord | undefined): SessionRecord {
  const record = parseRecord(stored, baseUrl);
  const { retry } = lastSeen ?? {};
  const isLost = !record.retry && lastSeen && isSameSet(record, lastSeen);
  return isLost && retry ? changed(record, (found) => ({ ...found, retry })) : record;
}

/** Create the shown record of a session. */
export function createShownRecord(baseUrl: string, given: Store, owner: RecordOwner) {
  const empty = emptyRecord(baseUrl);
  /** The record last seen, and whether the page has looked at the store since it last lost track of it. */
  let lastSeen: SessionRecord | undefined;
  let isCurrent = false;
  let onTheWay: readonly Change[] = [];
  /** One read that waits for its turn is enough for any number of messages. */
  let queuedRead: Promise<void> | undefined;
  /** In progress after a call of the host, if the store has failed: false if it may still hold a set. */
  let erasing: Promise<boolean> | undefined;
  // Until a page that was away has looked again, its user may have logged out in another tab.
  const access = createAccess(given, () => lastSeen && (isCurrent ? lastSeen : erased(lastSeen)), owner.onFailure);
  /** The record even while it may be out of date. */
  const latest = () => onTheWay.reduce(changed, lastSeen ?? empty);
  const parse = (stored: unknown) => parseSeen(stored, baseUrl, lastSeen);
  // Without a cause, another tab wrote the record.
  const see = (record: SessionRecord, isOutdated: boolean, cause?: Cause) => {
    const before = lastSeen;
    lastSeen = record;
    isCurrent ||= !isOutdated;
    owner.onSeen(before ?? empty, record, cause ?? (before ? 'tab' : 'load'), !before);
  };
  const read = async (): Promise<void> => {
    let stored: unknown;
    const isOutdated = await access.use(async (place) => {
      queuedRead = undefined;
      stored = await place.read();
    });
    see(parse(stored), isOutdated);
  };

  return {
    /** What the page may show: an empty record while it is unknown. */
    get view(): View {
      const kind = access.store.kind ?? 'custom';
      return { record: isCurrent ? latest() : empty, isSettled: isCurrent && !onTheWay.length, kind };
    },
    latest,
    idle: access.idle,
    isConfirmed: async () => (await erasing) !== false,
    loseTrack: () => {
      isCurrent = false;
      access.loseTrack();
    },
    release: () => ignoreFailure(() => access.store.close?.()),
    read: (): Promise<void> => (queuedRead ??= read()),
    /** Resolves after the write, with what was stored before and after it. The cause `set` is a call of the host. */
    async change(by: Change, cause?: Cause, isErasure?: boolean) {
      const isHost = cause === 'set';
      const mayWrite = () => owner.mayWrite(isErasure);
      if (isHost) onTheWay = [...onTheWay, by];
      const { before, after, isOutdated } = await changeStored(access, parse, by, mayWrite);
      if (isHost) onTheWay = onTheWay.slice(1);
      if (mayWrite()) see(after, isOutdated, after === before ? undefined : cause);
      if (isHost && access.store !== given)
        erasing ??= eraseFailed(given, baseUrl).finally(() => void (erasing = undefined));
      return { before, after };
    },
  };
}

/**
 * The record that all tabs share, as this page shows it: the host's changes that are on their way to the store, applied in order
 * to the record last seen there. So a change shows at once, and a late read cannot undo it.
 *
 * Operations on the store run one at a time, each with a time limit. A store that fails is replaced by memory for the life of the
 * page.
 */

import { ignoreFailure } from '../token/errors.ts';
import { memoryStore, type Store } from './browser/store.ts';
import { explain } from './explain/entry.ts';
import { erased } from './rules/host-changes.ts';
import type { Cause, View } from './rules/page-state.ts';
import { applied, type Change, emptyRecord, parseRecord, type SessionRecord, writtenAt } from './rules/record.ts';
import { withTimeout } from './timeout.ts';

/** Time limit of each operation, and of opening the store and the first read together, ms. */
const STORE_MS = 1_500;

export interface RecordOwner {
  /** Consent may have been withdrawn while a change waited for its turn. */
  mayWrite(isErasure?: boolean): boolean;
  /** The record last seen is another one. `isFirst`: nothing was seen before. */
  onSeen(before: SessionRecord, after: SessionRecord, cause: Cause, isFirst: boolean): void;
  /** Another tab has just written; see `createClock`. */
  follow(instant: number): void;
  onFailure(cause: unknown): void;
}

export type ShownRecord = ReturnType<typeof createShownRecord>;

export function limited<T>(work: () => Promise<T>): Promise<T> {
  return withTimeout(STORE_MS, work, 'the store');
}

/**
 * Run operations in order, each with a time limit. If the store fails, the operation is repeated on memory that holds
 * `replacement()`.
 */
function createAccess(given: Store, replacement: () => unknown, onFailure: (cause: unknown) => void) {
  let store = given;
  let last: Promise<unknown> = Promise.resolve();
  /** How often the page has lost track of the store. */
  let absences = 0;
  const run = async <T>(work: (place: Store) => Promise<T>): Promise<T> => {
    try {
      return await limited(() => work(store));
    } catch (cause) {
      ignoreFailure(() => given.close?.());
      store = memoryStore(replacement());
      onFailure(cause);
      return work(store);
    }
  };
  return {
    get store() {
      return store;
    },
    /** Resolve when all operations so far have ended. */
    idle: () => last,
    loseTrack: () => void absences++,
    isCurrent: (at: number) => at === absences,
    /** Resolves with the result, and with how often the page had lost track when the operation began. */
    use<T>(work: (place: Store) => Promise<T>): Promise<readonly [at: number, result: T]> {
      const done = last.then(async () => [absences, await run(work)] as const);
      last = done;
      return done;
    },
  };
}

/**
 * Erases the record if the result is undefined. A store that ends without calling `change` has failed. Returns what was stored
 * before and after: the same object if nothing has changed.
 */
async function updateIn<T extends SessionRecord | undefined>(
  place: Store,
  baseUrl: string,
  change: (record: SessionRecord) => SessionRecord | T,
) {
  let found: { readonly before: SessionRecord; readonly after: SessionRecord | T } | undefined;
  await place.update((stored) => {
    const before = parseRecord(stored, baseUrl);
    const after = change(before);
    found = { before, after };
    return after === before ? stored : after;
  });
  if (!found) throw new TypeError(explain?.notCalled);
  return found;
}

/**
 * The next page may be able to use a store that this one cannot, for example after WebKit's network process has ended. Returns
 * whether it is confirmed that the store holds no set.
 */
async function eraseFailed(given: Store, baseUrl: string): Promise<boolean> {
  let isOver = false;
  // A late call must not erase what another tab has written since. The tombstone of an opt-out stays.
  const erase = (record: SessionRecord) => {
    if (isOver || !record.set) return record;
    return record.optedOut ? erased(record) : undefined;
  };
  const isErased = await limited(() => updateIn(given, baseUrl, erase))
    .then(() => true)
    // It may be impossible to write, and nothing there to erase.
    .catch(() => limited(() => given.read()).then((stored) => !parseRecord(stored, baseUrl).set))
    .catch(() => false);
  isOver = true;
  ignoreFailure(() => given.close?.());
  return isErased;
}

/** Apply changes in order. Not by `reduce`, which Prototype 1.6 replaces. */
function appliedInOrder(record: SessionRecord, changes: readonly Change[]): SessionRecord {
  let after = record;
  for (const change of changes) after = applied(after, change);
  return after;
}

export function createShownRecord(baseUrl: string, given: Store, owner: RecordOwner) {
  const empty = emptyRecord(baseUrl);
  let lastSeen: SessionRecord | undefined;
  /** How often the page had lost track of the store when it saw that record. */
  let seenAbsences = -1;
  let onTheWay: readonly Change[] = [];
  /** One read that waits for its turn is enough for any number of messages. */
  let queuedRead: Promise<void> | undefined;
  /** In progress after a call of the host, if the store has failed: false if it may still hold a set. */
  let erasing: Promise<boolean> | undefined;
  const isCurrent = (): boolean => access.isCurrent(seenAbsences);
  // Until a page that was away has looked again, its user may have logged out in another tab.
  const access = createAccess(given, () => lastSeen && (isCurrent() ? lastSeen : erased(lastSeen)), owner.onFailure);
  /** The record even while it may be out of date. */
  const latest = () => appliedInOrder(lastSeen ?? empty, onTheWay);
  const see = (record: SessionRecord, absences: number, cause?: Cause) => {
    const isFirst = !lastSeen;
    const before = lastSeen ?? empty;
    // Without a cause, another tab wrote the record: a moment ago, if this page has missed nothing.
    const at = writtenAt(record);
    if (!cause && isCurrent() && at !== writtenAt(before)) owner.follow(at);
    lastSeen = record;
    if (absences > seenAbsences) seenAbsences = absences;
    owner.onSeen(before, record, cause ?? (isFirst ? 'load' : 'tab'), isFirst);
  };
  const read = (place: Store) => {
    queuedRead = undefined;
    return place.read();
  };

  return {
    /** What the page may show: an empty record while it is unknown. */
    get view(): View {
      const kind = access.store.kind ?? 'custom';
      return { record: isCurrent() ? latest() : empty, isSettled: isCurrent() && !onTheWay.length, kind };
    },
    latest,
    idle: access.idle,
    isConfirmed: async () => (await erasing) !== false,
    loseTrack: access.loseTrack,
    release: () => ignoreFailure(() => access.store.close?.()),
    read: (): Promise<void> =>
      (queuedRead ??= access.use(read).then(([at, stored]) => see(parseRecord(stored, baseUrl), at))),
    /** Resolves after the write, with what was stored before and after it. The cause `set` is a call of the host. */
    async update(change: Change, cause?: Cause, isErasure?: boolean) {
      const isHost = cause === 'set';
      const mayWrite = () => owner.mayWrite(isErasure);
      if (isHost) onTheWay = [...onTheWay, change];
      const [at, { before, after }] = await access.use((place) =>
        // A late call of a store that has been replaced changes nothing.
        updateIn(place, baseUrl, (record) => (place === access.store && mayWrite() ? applied(record, change) : record)),
      );
      if (isHost) onTheWay = onTheWay.slice(1);
      if (mayWrite()) see(after, at, after === before ? undefined : cause);
      if (isHost && access.store !== given)
        erasing ??= eraseFailed(given, baseUrl).finally(() => void (erasing = undefined));
      return { before, after };
    },
  };
}

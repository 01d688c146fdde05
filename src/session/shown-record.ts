/**
 * The record that all tabs share, as this page shows it: the host's changes that are on their way to the store, applied in order
 * to the record last seen there. So a change shows at once, and a late read cannot undo it.
 */

import type { Store } from './browser/store.ts';
import { appliedInOrder, createRecordStore, type Found } from './record-store.ts';
import { erased } from './rules/host-changes.ts';
import type { Cause, View } from './rules/page-state.ts';
import { type Change, emptyRecord, type SessionRecord, writtenAt } from './rules/record.ts';

export interface RecordOwner {
  /** Consent may have been withdrawn while a change waited for its turn. */
  mayWrite(isErasure?: boolean): boolean;
  /** The record last seen is another one. `isFirst`: nothing that is stored was seen before. */
  onSeen(before: SessionRecord, after: SessionRecord, cause: Cause, isFirst: boolean): void;
  /** Another tab has just written; see `createClock`. */
  follow(instant: number): void;
  /** A late store has answered. Other tabs do not know yet what this page has changed. */
  onAnswer(): void;
  onFailure(cause: unknown): void;
  readonly adopt?: Change | undefined;
}

export type ShownRecord = ReturnType<typeof createShownRecord>;

export function createShownRecord(baseUrl: string, given: Store | undefined, owner: RecordOwner) {
  let lastSeen = emptyRecord(baseUrl);
  /** What is really stored has been seen. */
  let isKnown = false;
  /** How often the page has lost track of the store, because it may have missed messages. */
  let absences = 0;
  /** `absences` when the operation began that `lastSeen` comes from, or the late one before it; -1: none yet. */
  let seenAbsences = -1;
  let onTheWay: readonly Change[] = [];
  /** One read that waits for its turn is enough for any number of messages. */
  let queuedRead: Promise<void> | undefined;
  const isCurrent = (): boolean => seenAbsences === absences;
  /** The record even while it may be out of date. */
  const latest = () => appliedInOrder(lastSeen, onTheWay);
  const see = (record: SessionRecord, at: number, cause?: Cause) => {
    const isFirst = !isKnown;
    const before = lastSeen;
    // Without a cause, another tab wrote the record: a moment ago, if this page has missed nothing.
    if (!cause && isKnown && isCurrent() && writtenAt(record) !== writtenAt(before)) owner.follow(writtenAt(record));
    lastSeen = record;
    isKnown ||= !store.isLate();
    if (at > seenAbsences) seenAbsences = at;
    owner.onSeen(before, record, cause ?? (isFirst ? 'load' : 'tab'), isFirst);
  };
  const store = createRecordStore(baseUrl, given, {
    ...owner,
    // Until a page that was away has looked again, its user may have logged out in another tab. That is the next generation.
    replacement: () => (isCurrent() ? lastSeen : { ...erased(lastSeen), generation: lastSeen.generation }),
    onResumed: ({ after }) => {
      see(after, seenAbsences);
      owner.onAnswer();
    },
  });

  return {
    ...store,
    latest,
    loseTrack: () => {
      absences++;
      store.loseTrack();
    },
    /** What the page may show: an empty record while it is unknown. */
    get view(): View {
      return {
        record: isCurrent() ? latest() : emptyRecord(baseUrl),
        isSettled: isCurrent() && !onTheWay.length,
        isLate: store.isLate(),
        kind: store.kind(),
      };
    },
    read(): Promise<void> {
      if (queuedRead) return queuedRead;
      let at = 0;
      void store.idle().then(() => {
        at = absences;
        queuedRead = undefined;
      });
      queuedRead = store.read().then(({ after }) => see(after, at));
      return queuedRead;
    },
    /** Resolves after the write, with what was stored before and after it. The cause `set` is a call of the host. */
    async update(change: Change, cause?: Cause, isErasure?: boolean): Promise<Found> {
      const at = absences;
      const mayWrite = () => owner.mayWrite(isErasure);
      if (cause === 'set') onTheWay = [...onTheWay, change];
      const found = await store.update(change, mayWrite);
      if (cause === 'set') onTheWay = onTheWay.slice(1);
      if (mayWrite()) see(found.after, at, found.after === found.before ? undefined : cause);
      return found;
    },
  };
}

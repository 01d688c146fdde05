/**
 * The record that all tabs share, as this page shows it: the host's changes that are on their way to the store, applied in order
 * to the record last seen there. So a change shows at once, and a late read cannot undo it.
 */

import type { Store } from '../browser/store.ts';
import { erased } from '../rules/host-changes.ts';
import type { Cause, View } from '../rules/page-state.ts';
import { type Change, emptyRecord, outcomeAt, type SessionRecord } from '../rules/record.ts';
import { appliedInOrder, createRecordStore, type Found } from './record-store.ts';

export interface RecordOwner {
  /** Consent may have been withdrawn while a change waited for its turn. */
  mayWrite(isErasure?: boolean): boolean;
  /** The record last seen is another one. `isFirst`: nothing that is stored was seen before. */
  onRecord(before: SessionRecord, after: SessionRecord, cause: Cause, isFirst: boolean): void;
  /** Another tab has just written; see `createClock`. */
  follow(instant: number): void;
  /** A late store has answered. Other tabs do not know yet what this page has changed. */
  onResumed(): void;
  onFailure(cause: unknown): void;
  now(): number;
  readonly adopt?: Change | undefined;
}

/**
 * While the store is late, for a page that has not read the record, or was away: its user may have logged out in another tab, in the
 * next generation. A page that has read none has a generation that no stored record has.
 */
function unread(lastSeen: SessionRecord): SessionRecord {
  return { ...erased(lastSeen), generation: lastSeen.generation || 0.5, retry: lastSeen.retry };
}

export type ShownRecord = ReturnType<typeof createShownRecord>;

export function createShownRecord(baseUrl: string, given: Store | undefined, owner: RecordOwner) {
  let lastSeen = emptyRecord(baseUrl);
  /** What is really stored has been seen. */
  let isKnown = false;
  /** How many times the page may have missed messages of other tabs. */
  let absences = 0;
  /** `absences` at the start of the newest operation whose result was seen; -1: none was. If it differs, `lastSeen` may be old. */
  let absencesSeen = -1;
  let onTheWay: readonly Change[] = [];
  /** One read that waits for its turn is enough for any number of messages. */
  let queuedRead: Promise<void> | undefined;
  const isCurrent = (): boolean => absencesSeen === absences;
  /** The record even while it may be out of date. */
  const latest = () => appliedInOrder(lastSeen, onTheWay);
  const see = (record: SessionRecord, at: number, cause?: Cause) => {
    const isFirst = !isKnown;
    const before = lastSeen;
    // Without a cause, another tab wrote the record: a moment ago, if this page has missed nothing.
    if (!cause && isKnown && isCurrent() && outcomeAt(record) !== outcomeAt(before)) owner.follow(outcomeAt(record));
    lastSeen = record;
    isKnown ||= !store.isLate();
    if (at > absencesSeen) absencesSeen = at;
    owner.onRecord(before, record, cause ?? (isFirst ? 'load' : 'tab'), isFirst);
  };
  const store = createRecordStore(baseUrl, given, {
    ...owner,
    initial: () => (isCurrent() ? lastSeen : unread(lastSeen)),
    onResumed: ({ after }) => {
      see(after, absencesSeen);
      owner.onResumed();
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

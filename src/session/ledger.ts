/**
 * The record in memory and in the store, and the one way to change it.
 *
 * Acts are applied to memory at once (those of the host) and to the store one after the other, each inside one atomic
 * update. It knows neither time nor network nor events: the hub is told what was taken for the truth, and settles the rest.
 */

import { TokenError } from '../token/errors.ts';
import { within } from './deadline.ts';
import type { Act, SessionRecord } from './record.ts';
import { emptyRecord, forget, isLater, parseRecord } from './record.ts';
import type { Store } from './store.ts';

/** For opening the store and the first read together, and for each later use of it, ms. */
const STORE_MS = 1500;

/**
 * Open the ledger of one session.
 *
 * @param spare   makes the store that takes over where the given one fails.
 * @param onTake  called before `next` becomes the record of this page.
 */
export const createLedger = (
  baseUrl: string,
  store: Store,
  spare: (value: unknown) => Store,
  onTake: (next: SessionRecord, before: SessionRecord) => void,
  onFailure: (error: TokenError) => void,
) => {
  const empty = emptyRecord(baseUrl);
  /** The record of this page, also while it may not be believed. */
  let held = empty;
  /** Counts the times at which this page stopped knowing what is stored: a read from before does not count. */
  let epoch = 0;
  /** The stored state has been read since this page was here. */
  let isHere = false;
  /** Acts of the host that wait for it. */
  let ahead = 0;
  /** The store that has failed, while memory stands in for it. */
  let lost: Store | undefined;
  /** The stored state has been known before. */
  let isKnown = false;
  let ungate = () => {};
  /** A damaged record has been told of: once is enough, it is read again and again. */
  let isTold = false;
  let queue: Promise<unknown> = new Promise<void>((resolve) => (ungate = resolve));

  const take = (next: SessionRecord) => {
    onTake(next, held);
    held = next;
  };

  const parse = (stored: unknown): SessionRecord | undefined => {
    try {
      return parseRecord(stored, baseUrl);
    } catch (cause) {
      if (!isTold) onFailure(new TokenError('storage_failed', 'damaged', { cause }));
      isTold = true;
      return undefined;
    }
  };

  const letGo = (place: Store | void = store) => {
    try {
      (place as Store).close?.();
    } catch {}
  };

  /**
   * A store that has failed may not keep the set of a user who has left: write `next` over it, or erase it, then there may
   * be room. Given up on, it does nothing any more: what is stored by then may be of somebody else.
   */
  const erase = async (place: Store, next: SessionRecord) => {
    let isLate = false;
    const put = async (isGone?: boolean) =>
      within(
        STORE_MS,
        place.update((stored) => {
          const theirs = parse(stored) ?? empty;
          if (isLate || isLater(theirs, next) || (isGone && !theirs.set)) return stored;
          // Above what it replaces: the other tabs are to see that. A tombstone that nobody here has read stays.
          const { generation, optedOut } = theirs;
          if (next.generation <= generation) next = { ...next, generation: generation + 1 };
          if (optedOut) next = { ...next, optedOut };
          return isGone ? undefined : next;
        }),
      );
    await put()
      .catch(async () => {
        await put(true);
        await put();
      })
      .catch(() => {});
    isLate = true;
    letGo(place);
  };

  /** Where the page was away meanwhile, its time is not the store's: once more, then. */
  const inTime = async (work: (place: Store) => Promise<unknown>): Promise<unknown> => {
    const since = epoch;
    const once = () => within(STORE_MS, work(store));
    return once().catch((cause) => (since < epoch ? once() : Promise.reject(cause)));
  };

  /** Use the store when everything before has settled, bounded in time. Where it fails, memory takes its place. */
  const use = <T>(work: (place: Store) => Promise<unknown>, then: (value: unknown) => T): Promise<T> => {
    const mine = queue
      .then(() =>
        inTime(work).catch((cause) => {
          letGo();
          lost ??= store;
          // A page that was away cannot tell whether its user has been logged out meanwhile, and never will.
          if (!isHere) held = forget(held);
          store = spare(held);
          onFailure(new TokenError('storage_failed', 'storage failed', { cause }));
          return work(store);
        }),
      )
      .then(then);
    queue = mine;
    return mine;
  };

  const ledger = {
    /** What this page holds: nothing until the stored state is known. */
    get record() {
      return ledger.isLoaded ? held : empty;
    },
    /** Let the store be used: nothing touches it before. */
    ungate,
    /** The stored state is known, and no act of the host that came before is left out of it. */
    get isLoaded() {
      return isHere && !ahead;
    },
    /** Changes under way: memory may be ahead of the store. */
    unwritten: 0,
    /** A store that has failed is being rid of its set: it is over, one way or another, when this resolves. */
    erasing: undefined as Promise<void> | undefined,
    kind: () => store.kind ?? 'custom',
    /** Everything so far has settled. */
    drained: (): Promise<unknown> => queue,

    /**
     * Change the record: in memory at once where `atOnce`, then in the store.
     *
     * @returns whether the act changed what was stored.
     */
    enact: (act: Act, atOnce: boolean): Promise<boolean> => {
      const isDone = atOnce && ledger.isLoaded;
      const isAhead = +(atOnce && !isDone);
      if (isDone) take(act(held));
      ahead += isAhead;
      ledger.unwritten++;
      let before: SessionRecord | undefined;
      let after: SessionRecord | undefined;
      return use(
        async (place) =>
          place.update((stored) => {
            // A place that was given up on may still come round to this: it is too late.
            if (place !== store) return stored;
            // A store that is empty, or was emptied or damaged meanwhile, takes nothing from the page.
            before = parse(stored) ?? (isDone ? undefined : held);
            after = before ? act(before) : held;
            return after === before ? stored : after;
          }),
        () => {
          ahead -= isAhead;
          // A later act is in memory already: its own write brings the truth.
          if (!--ledger.unwritten && ledger.isLoaded && after) take(after);
          const isChanged = after !== before;
          if (lost && isChanged && after && !after.set) ledger.erasing = erase(lost, after);
          return isChanged;
        },
      );
    },

    /** Read the store, also again: another tab may have been faster, or logged the user out. */
    pull: (): Promise<void> => {
      const since = epoch;
      return use(
        async (place) => place.read(),
        (stored) => {
          if (since < epoch) return;
          const next = parse(stored);
          // The first read finds a state; each later one, a change.
          if (!isKnown) held = next ?? held;
          isHere = isKnown = true;
          // Nothing, or something older: a store that lost what this page still knows. That is no logout.
          if (!ledger.unwritten && next && !isLater(held, next)) take(next);
        },
      );
    },

    /** Let go of the store until it is used again. */
    letGo,

    /** Know no more what is stored, until the next {@link pull}. */
    forgo: (): void => {
      epoch++;
      isHere = false;
    },

    /** Let go of the store once all is written. What waits for consent will not get it: memory takes it to the grave. */
    close: async (allowed: unknown): Promise<void> => {
      if (!allowed && !ledger.isLoaded) store = spare(undefined);
      ungate();
      await queue;
      letGo();
    },
  };
  return ledger;
};

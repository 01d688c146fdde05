/**
 * The record in memory and in the store, and the one way to change it.
 *
 * Acts are applied to memory at once (those of the host) and to the store one after the other, each inside one atomic
 * update. It knows neither time nor network nor events: the hub is told what was taken for the truth, and settles the rest.
 */

import { TokenError } from '../token/errors.ts';
import { within } from './deadline.ts';
import type { Act, SessionRecord } from './record.ts';
import { emptyRecord, forget, parseRecord } from './record.ts';
import type { Store } from './store.ts';

/** For opening the store and the first read together, and for each later use of it, ms. */
const STORE_MS = 1500;
/** For a look at the store that has failed, within such a use, ms. */
const LOST_MS = 1000;

/**
 * Open the ledger of one session.
 *
 * @param spare   makes the store that takes over where the given one fails.
 * @param onTake  called before `next` becomes the record of this page.
 */
export function createLedger(
  baseUrl: string,
  store: Store,
  spare: (value: unknown) => Store,
  onTake: (next: SessionRecord, before: SessionRecord) => void,
  onFailure: (error: TokenError) => void,
) {
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
  /** Consent has been given at least once. */
  let isOpen = false;
  /** Let the queue run. */
  let begin = () => {};
  /** A damaged record has been told of: once is enough, it is read again and again. */
  let isTold = false;
  let queue: Promise<unknown> = new Promise<void>((resolve) => (begin = resolve));

  const take = (next: SessionRecord) => {
    onTake(next, held);
    held = next;
  };

  const isBarred = (act: Act) => ledger.only && ledger.only !== act;

  const parse = (stored: unknown): SessionRecord | undefined => {
    try {
      return parseRecord(stored, baseUrl);
    } catch (cause) {
      if (!isTold) onFailure(new TokenError('storage_failed', undefined, { cause }));
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
   * An act of the host reaches the next page also where the store has failed, or that one meets a user who has left: where
   * there is no room, what was there goes first. Given up on, it does nothing any more: what is stored by then may be of
   * somebody else.
   */
  const repeat = async (place: Store, act: Act) => {
    let isLate = false;
    let before: SessionRecord | undefined;
    const put = async (isGone?: unknown) =>
      place.update((stored) => {
        if (isLate || isBarred(act)) return stored;
        before ??= parse(stored) ?? empty;
        if (!isGone) return act(before);
        // A tombstone stays: what is held back behind it is nobody's.
        return before.optedOut || !before.set ? stored : undefined;
      });
    await within(
      STORE_MS,
      put().catch(async () => {
        await put(true);
        await put();
      }),
    ).catch(() => {});
    isLate = true;
    letGo(place);
  };

  /** Use the store when everything before has settled, bounded in time. Where it fails, memory takes its place. */
  const use = <T>(work: (place: Store) => Promise<unknown>, then: (value: unknown) => T): Promise<T> => {
    const once = (since?: number): Promise<unknown> =>
      within(STORE_MS, work(store)).catch((cause) => {
        // Where the page was away meanwhile, its time is not the store's: once more, then.
        if (since! < epoch) return once();
        letGo();
        lost ??= store;
        // A page that was away cannot tell whether its user has been logged out meanwhile, and never will.
        if (!isHere) held = forget(held);
        store = spare(held);
        onFailure(new TokenError('storage_failed', undefined, { cause }));
        return work(store);
      });
    const mine = queue.then(() => once(epoch)).then(then);
    queue = mine;
    return mine;
  };

  const ledger = {
    /** What this page holds: nothing until the stored state is known. */
    get record() {
      return ledger.isLoaded ? held : empty;
    },
    /** Let the store be used: nothing touches it before. */
    ungate: () => {
      isOpen = true;
      begin();
    },
    /** The stored state is known, and no act of the host that came before is left out of it. */
    get isLoaded() {
      return isHere && !ahead;
    },
    /** Changes under way: memory may be ahead of the store. */
    unwritten: 0,
    /** Acts of the host are being repeated to a store that has failed: it is over, one way or another, when this resolves. */
    repeating: Promise.resolve(),
    /** Consent has been withdrawn: nothing is written any more but this. */
    only: undefined as Act | undefined,
    kind: () => store.kind ?? 'custom',
    /** Everything so far has settled; at once where nothing may settle yet. */
    drained: async (): Promise<unknown> => isOpen && queue,

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
            if (place !== store || isBarred(act)) return stored;
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
          if (lost && atOnce) ledger.repeating = ledger.repeating.then(() => repeat(lost!, act));
          return isChanged;
        },
      );
    },

    /**
     * Read the store, also again: another tab may have been faster, or logged the user out.
     *
     * @param isNews  another tab has said that there is something new.
     */
    pull: (isNews?: unknown): Promise<void> => {
      const since = epoch;
      // A page that has been away has heard nothing.
      const isNew = isNews || (isKnown && !isHere);
      return use(
        async (place) => {
          // Memory stands in for a store that has failed. Where another tab has logged out there since, that counts.
          if (lost && isNew) {
            const theirs = parse(await within(LOST_MS, lost.read()).catch(() => {}));
            if ((theirs?.clearedAt as number) >= (held.receivedAt ?? 0)) return place.update(() => theirs);
          }
          return place.read();
        },
        (stored) => {
          if (since < epoch) return;
          const next = parse(stored);
          // The first read finds a state; each later one, a change.
          if (!isKnown) held = next ?? held;
          isHere = isKnown = true;
          // Nothing, or nothing that can be read: a store that lost what this page still knows. That is no logout, unless
          // the page has been away, or another tab says so: then nobody is asked to bring the user back.
          if (!ledger.unwritten && (next || isNew)) take(next ?? { ...empty, clearedAt: 0 });
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
    close: async (): Promise<void> => {
      if (!isOpen) store = spare(undefined);
      begin();
      await queue;
      await ledger.repeating;
      letGo();
    },
  };
  return ledger;
}

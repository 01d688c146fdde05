/**
 * The record in memory and in the store, and the one way to change it.
 *
 * Acts are applied to memory at once (those of the host) and to the store one after the other, each inside one atomic
 * update. It knows neither time nor network nor events: the hub is told what was taken for the truth, and settles the rest.
 */

import { TokenError } from '../token/errors.ts';
import { within } from './deadline.ts';
import type { Act, SessionRecord } from './record.ts';
import { emptyRecord, parseRecord } from './record.ts';
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
  let ungate = () => {};
  /** A damaged record has been told of: once is enough, it is read again and again. */
  let isTold = false;
  let queue: Promise<unknown> = new Promise<void>((resolve) => (ungate = resolve));

  const take = (next: SessionRecord) => {
    onTake(next, ledger.record);
    ledger.record = next;
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

  const letGo = () => {
    try {
      store.close?.();
    } catch {}
  };

  /** Use the store when everything before has settled, bounded in time. Where it fails, memory takes its place. */
  const use = <T>(work: (place: Store) => Promise<unknown>, then: (value: unknown) => T): Promise<T> => {
    const mine = queue
      .then(() =>
        within(STORE_MS, work(store)).catch((cause) => {
          letGo();
          store = spare(ledger.isLoaded ? ledger.record : undefined);
          onFailure(new TokenError('storage_failed', 'storage failed', { cause }));
          return work(store);
        }),
      )
      .then(then);
    queue = mine;
    return mine;
  };

  const ledger = {
    record: empty,
    /** Let the store be used: nothing touches it before. */
    ungate,
    /** The stored state is known. */
    isLoaded: false,
    /** Changes under way: memory may be ahead of the store. */
    unwritten: 0,
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
      if (isDone) take(act(ledger.record));
      ledger.unwritten++;
      let before: SessionRecord | undefined;
      let after: SessionRecord | undefined;
      return use(
        async (place) =>
          place.update((stored) => {
            // A place that was given up on may still come round to this: it is too late.
            if (place !== store) return stored;
            // A store that is empty, or was emptied or damaged meanwhile, takes nothing from the page.
            before = parse(stored) ?? (isDone ? undefined : ledger.record);
            after = before ? act(before) : ledger.record;
            return after;
          }),
        () => {
          // A later act is in memory already: its own write brings the truth.
          if (!--ledger.unwritten && ledger.isLoaded && after) take(after);
          return after !== before;
        },
      );
    },

    /** Read the store, also again: another tab may have been faster, or logged the user out. */
    pull: (): Promise<void> =>
      use(
        async (place) => place.read(),
        (stored) => {
          const next = parse(stored);
          if (!ledger.isLoaded) {
            ledger.record = next ?? empty;
            ledger.isLoaded = true;
          }
          // Nothing, or something older: a store that lost what this page still knows. That is no logout.
          else if (!ledger.unwritten && next && next.generation >= ledger.record.generation) take(next);
        },
      ),

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

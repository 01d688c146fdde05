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
  /** Changes under way: memory may be ahead of the store. */
  let pending = 0;
  let queue: Promise<unknown> = Promise.resolve();

  const take = (next: SessionRecord) => {
    onTake(next, ledger.record);
    ledger.record = next;
  };

  const parse = (stored: unknown): SessionRecord | undefined => {
    try {
      return parseRecord(stored, baseUrl);
    } catch (error) {
      onFailure(error as TokenError);
      return undefined;
    }
  };

  /** Use the store when everything before has settled, bounded in time. Where it fails, memory takes its place. */
  const use = <T>(
    work: (place: Store, wanted: () => boolean) => Promise<unknown>,
    then: (value: unknown) => T,
  ): Promise<T> => {
    const mine = queue
      .then(() => {
        let wanted = true;
        return within(
          STORE_MS,
          work(store, () => wanted),
        ).catch((cause) => {
          // What was given up on may still run: it finds that it is not wanted, and changes nothing.
          wanted = false;
          store.close?.();
          store = spare(ledger.loaded ? ledger.record : undefined);
          onFailure(new TokenError('storage_failed', 'storage: memory takes over', { cause }));
          return work(store, () => true);
        });
      })
      .then(then);
    queue = mine;
    return mine;
  };

  const ledger = {
    record: empty,
    /** The stored state is known. */
    loaded: false,
    /** The stored state is known, and memory is not ahead of it. */
    idle: () => ledger.loaded && !pending,
    kind: () => store.kind ?? 'custom',
    /** Everything so far has settled. */
    drained: (): Promise<unknown> => queue,

    /** Read the store for the first time. */
    load: (): Promise<void> =>
      use(
        (place) => place.read(),
        (stored) => {
          ledger.record = parse(stored) ?? empty;
          ledger.loaded = true;
        },
      ),

    /**
     * Change the record: in memory at once where `atOnce`, then in the store.
     *
     * @returns whether the act changed what was stored.
     */
    commit: (act: Act, atOnce: boolean): Promise<boolean> => {
      if (atOnce && ledger.loaded) take(act(ledger.record));
      pending++;
      let changed = false;
      return use(
        (place, wanted) =>
          place.update((stored) => {
            if (!wanted()) return stored;
            const before = parse(stored) ?? empty;
            const after = act(before);
            changed = after !== before;
            return after;
          }),
        (written) => {
          // A later act is in memory already: its own write brings the truth.
          if (!--pending && ledger.loaded) take(written as SessionRecord);
          return changed;
        },
      );
    },

    /** Read the store again: another tab may have been faster, or logged the user out. */
    pull: (): Promise<void> =>
      use(
        (place) => place.read(),
        (stored) => {
          const next = ledger.idle() ? parse(stored) : undefined;
          // Nothing, or something older: a store that lost what this page still knows. That is no logout.
          if (next && next.generation >= ledger.record.generation) take(next);
        },
      ),

    /** Let go of the store once all is written. */
    close: (): void => {
      void queue.then(() => store.close?.());
    },
  };
  return ledger;
};

/**
 * A store of the host (the option `store`), over the IndexedDB of the page, with the faults of code that a page may bring: it
 * throws where it should reject, does not call the change, fails after it has stored, or says that it has stored when it has not.
 * It copies values as JSON, as a bridge to a native app does.
 */

import type { Store } from '../../src/session/index.ts';
import type { Random } from './random.ts';

/** How a change fails. `lies`: from then on until the next fault, changes succeed and nothing is stored. */
export const HOST_STORE_FAULTS = ['throws', 'rejects', 'makes no call', 'stores, then rejects', 'lies'] as const;
export type HostStoreFault = (typeof HOST_STORE_FAULTS)[number];

/** The share of uses that fail. */
const FAULT_RATE = 0.02;

/** JSON has no integers of this type, which damaged records contain. */
const replacer = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);
const copy = (value: unknown): unknown =>
  value === undefined ? undefined : JSON.parse(JSON.stringify(value, replacer));

/** What the store reports to the model. */
export interface HostStoreObserver {
  /** Called before a use fails. */
  onFault(): void;
  /** Called with each change of the value. `isLie`: the store only pretends to make it. */
  onChange(isLie: boolean): void;
}

/**
 * Build the store of a page.
 *
 * @param inner   where the values are.
 * @param faults  how its changes fail, at random.
 */
export const createHostStore = (
  inner: Store,
  random: Random,
  faults: readonly HostStoreFault[],
  { onFault, onChange }: HostStoreObserver,
): Store => {
  let isLying = false;
  const fails = (): boolean => {
    const isFault = random.happens(FAULT_RATE);
    if (isFault) onFault();
    return isFault;
  };
  const fault = () => new Error('injected fault of the store of the host');
  const change = (by: (stored: unknown) => unknown): Promise<unknown> =>
    inner.update((before) => {
      const given = copy(before);
      const after = by(given);
      if (after === given) return before;
      onChange(false);
      return copy(after);
    });
  const pretend = async (by: (stored: unknown) => unknown): Promise<unknown> => {
    const given = copy(await inner.read());
    const after = by(given);
    if (after !== given) onChange(true);
    return copy(after);
  };
  return {
    kind: 'host',
    read: () => {
      if (faults.includes('throws') && random.happens(FAULT_RATE / 2)) {
        onFault();
        throw fault();
      }
      return inner.read().then(copy);
    },
    update: (by) => {
      const how = fails() ? random.pick(faults) : undefined;
      if (how) isLying = how === 'lies';
      if (how === 'throws') throw fault();
      if (how === 'makes no call') return Promise.resolve(undefined);
      if (how === 'rejects') return Promise.reject(fault());
      if (how === 'stores, then rejects') return change(by).then(() => Promise.reject(fault()));
      return isLying ? pretend(by) : change(by);
    },
    open: () => {
      if (random.happens(FAULT_RATE)) throw fault();
      inner.open?.();
    },
    close: () => {
      inner.close?.();
      if (random.happens(FAULT_RATE)) throw fault();
    },
  };
};

/**
 * A store of the host (the option `store`), over the IndexedDB of the page, with the faults of code that a page may bring: it
 * throws where it should reject, does not call the change, or fails after it has stored. It copies values as JSON, as a bridge
 * to a native app does.
 */

import type { Store } from '../../src/session/index.ts';
import type { Random } from './random.ts';

/** How a change fails. */
export const HOST_STORE_FAULTS = ['throws', 'rejects', 'makes no call', 'stores, then rejects'] as const;
export type HostStoreFault = (typeof HOST_STORE_FAULTS)[number];

/** The share of uses that fail. */
const FAULT_RATE = 0.02;

/** JSON has no integers of this type, which `badRetry` writes. */
const replacer = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);
const copy = (value: unknown): unknown =>
  value === undefined ? undefined : JSON.parse(JSON.stringify(value, replacer));

/**
 * Build the store of a page.
 *
 * @param inner    where the values are.
 * @param spare    the store that replaces it, if the host brings one.
 * @param faults   how its changes fail, at random.
 * @param onFault  called before a use fails.
 * @param onLoss   called when a use has erased the value.
 */
export const createHostStore = (
  inner: Store,
  random: Random,
  faults: readonly HostStoreFault[],
  spare: Store['spare'],
  onFault: () => void,
  onLoss: () => void,
): Store => {
  const fails = (): boolean => {
    const isFault = random.happens(FAULT_RATE);
    if (isFault) onFault();
    return isFault;
  };
  const fault = () => new Error('injected fault of the store of the host');
  const change = async (by: (stored: unknown) => unknown): Promise<unknown> => {
    const stored = await inner.update((before) => {
      const given = copy(before);
      const after = by(given);
      return after === given ? before : copy(after);
    });
    if (stored === undefined) onLoss();
    return stored;
  };
  return {
    kind: 'host',
    read: () => {
      if (fails() && random.happens(0.5)) throw fault();
      return inner.read().then(copy);
    },
    update: (by) => {
      if (!fails()) return change(by);
      const how = random.pick(faults);
      if (how === 'throws') throw fault();
      if (how === 'makes no call') return Promise.resolve(undefined);
      const done = how === 'rejects' ? Promise.resolve() : change(by);
      return done.then(() => Promise.reject(fault()));
    },
    open: () => {
      if (random.happens(FAULT_RATE)) throw fault();
      inner.open?.();
    },
    close: () => {
      inner.close?.();
      if (random.happens(FAULT_RATE)) throw fault();
    },
    ...(spare && { spare }),
  };
};

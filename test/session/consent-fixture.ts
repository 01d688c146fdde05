/** Sessions whose consent a test controls, and a store that records whether the session used it. */

import { vi } from 'vitest';
import { memoryStore, type SessionOptions, type Store } from '../../src/session/index.ts';
import { createFixture } from './fixtures.ts';

/** A store over memory (`inner`), and a mock that is called at each use. */
export const watchedStore = (value?: unknown) => {
  const inner = memoryStore(value);
  const touched = vi.fn();
  const store: Store = {
    kind: 'watched',
    read: () => {
      touched();
      return inner.read();
    },
    update: (change) => {
      touched();
      return inner.update(change);
    },
  };
  return { store, touched, inner };
};

/**
 * A `consent` option under the control of the test.
 *
 * @param first  what the option returns; by default a promise that never settles.
 */
export const controlledConsent = (first: boolean | Promise<boolean> = new Promise<boolean>(() => {})) => {
  let onChange = (_: boolean) => {};
  const consent: SessionOptions['consent'] = (change) => {
    onChange = change;
    return first;
  };
  return { consent, grant: () => onChange(true), withdraw: () => onChange(false) };
};

/** Open a session that has asked for consent and has no answer yet, over a watched store that contains `value`. */
export const openAsking = (value?: unknown, options: Partial<SessionOptions> = {}) => {
  const fixture = createFixture();
  const { store, touched, inner } = watchedStore(value);
  const { consent, grant, withdraw } = controlledConsent();
  const opened = fixture.open({ store, consent, ...options });
  return { ...fixture, ...opened, touched, inner, grant, withdraw };
};

/**
 * Detects when this process has nothing more to do at the current instant of virtual time: promises are done after a few turns of
 * the event loop, but operations of Web Crypto run on their own threads for an unknown time, so they are counted.
 */

import { replace } from './installation.ts';
import { turn } from './virtual-time.ts';

/** A message between tabs, or a step of an IndexedDB implemented in JavaScript, takes up to three turns. */
const QUIET_TURNS = 10;

const OPERATIONS = [
  'importKey',
  'exportKey',
  'generateKey',
  'deriveKey',
  'deriveBits',
  'encrypt',
  'decrypt',
  'sign',
  'verify',
  'digest',
];

export function watchActivity() {
  let pending = 0;
  const subtle = globalThis.crypto?.subtle as unknown as
    | Record<string, (...given: unknown[]) => Promise<unknown>>
    | undefined;
  const restores = OPERATIONS.flatMap((name) => {
    const real = subtle?.[name];
    const isFixed = subtle && Object.getOwnPropertyDescriptor(subtle, name)?.configurable === false;
    if (!subtle || isFixed || typeof real !== 'function') return [];
    const counted = (...given: unknown[]) => {
      pending++;
      return real.apply(subtle, given).finally(() => pending--);
    };
    return [replace(subtle, name, counted)];
  });
  return {
    /** Wait until no operation has been in progress for {@link QUIET_TURNS} turns of the event loop. */
    async settle(): Promise<void> {
      for (let quiet = 0; quiet < QUIET_TURNS; quiet++) {
        await turn();
        if (pending > 0) quiet = 0;
      }
    },
    stop(): void {
      for (const restore of restores) restore();
    },
  };
}

/// <reference types="node" />
/**
 * Distinguishes the two meanings of SIGHUP: a closing terminal sends it, and so does an administrator, to a process without a
 * terminal.
 */

import type { Io } from './io.ts';

/**
 * Handle SIGHUP until `work` ends. If standard output is a terminal, that terminal has closed, and `stopped` of the given `Io`
 * resolves. Otherwise, `onSignal` is called.
 */
export async function withHangUp(io: Io, onSignal: () => void, work: (io: Io) => Promise<void>): Promise<void> {
  let hangUp: (() => void) | undefined;
  const hungUp = new Promise<void>((resolve) => {
    hangUp = resolve;
  });
  const onHangUp = (): void => {
    if (io.outIsTerminal) hangUp?.();
    else onSignal();
  };
  process.on('SIGHUP', onHangUp);
  try {
    await work({ ...io, stopped: () => Promise.race([io.stopped(), hungUp]) });
  } finally {
    process.off('SIGHUP', onHangUp);
  }
}

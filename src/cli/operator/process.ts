/// <reference types="node" />
/** What the processes of `tessera operator` have in common: their log, their ports, and the meaning of SIGHUP. */

import { pino } from 'pino';
import { type Listening, type ListenOptions, listen } from '../../operator/node.ts';
import type { Io } from '../io.ts';
import { listenError, type PortOption } from '../listen-error.ts';
import type { OperatorSettings } from './settings.ts';

/** Create the log of a process: JSON lines on standard error, without host name and PID, which log collectors add. */
export function createLog({ logLevel: level = 'info' }: OperatorSettings, io: Io) {
  return pino({ base: null, level }, { write: (line) => io.err(line.trimEnd()) });
}

/**
 * Listen on the port of an option.
 *
 * @throws {Error} if the port cannot be opened. The message names the option.
 */
export async function openPort(
  option: PortOption,
  handler: Parameters<typeof listen>[0],
  options: ListenOptions & { readonly port: number; readonly host: string },
): Promise<Listening> {
  try {
    // This process belongs to the operator alone.
    return await listen(handler, { ...options, replaceGlobals: true });
  } catch (error) {
    throw listenError(error, option, options.host, options.port);
  }
}

/**
 * Handle SIGHUP until `work` ends. A closing terminal sends it, and so does an administrator, to a process without a terminal. If
 * standard output is a terminal, that terminal has closed, and `stopped` of the given `Io` resolves. Otherwise, `onSignal` is
 * called.
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
    await work({ ...io, stopped: (drainMs) => Promise.race([io.stopped(drainMs), hungUp]) });
  } finally {
    process.off('SIGHUP', onHangUp);
  }
}

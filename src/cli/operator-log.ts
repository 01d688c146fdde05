/// <reference types="node" />
/** The log of `tessera operator`: JSON lines on standard error, without host name and PID, which log collectors add. */

import { pino } from 'pino';
import type { Io } from './io.ts';
import type { OperatorSettings } from './operator-settings.ts';

/** Create the log of a process. */
export function createLog({ logLevel: level = 'info' }: OperatorSettings, io: Io) {
  return pino({ base: null, level }, { write: (line) => io.err(line.trimEnd()) });
}

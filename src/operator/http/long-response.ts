/** One long response at a time: a million salt buckets are 70 MB of JSON, and as much again when sealed. */

import type { Logger } from '../ports/logger.ts';
import type { Caller } from './caller-limits.ts';

/** Time to send a long response, ms: as long as the server client waits for one. */
const MAX_SEND_MS = 60_000;

/** Returns a function that resolves with undefined while another long response is being generated or sent. */
export function createLongResponses(logger?: Logger) {
  let isBusy = false;
  const waitUntilSent = async ({ sentWithin }: Caller): Promise<void> => {
    const isSent = (await sentWithin?.(MAX_SEND_MS)) ?? true;
    isBusy = false;
    if (!isSent)
      logger?.warn({}, `a long response was cut off, because it was not read within ${MAX_SEND_MS / 1000} s`);
  };
  return async (caller: Caller, generate: () => Promise<Response>): Promise<Response | undefined> => {
    if (isBusy) return undefined;
    isBusy = true;
    try {
      return await generate();
    } finally {
      void waitUntilSent(caller);
    }
  };
}

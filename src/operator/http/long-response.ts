/**
 * Lets an operator generate one long response at a time, because memory cannot hold several: a million salt buckets are 70 MB of
 * JSON, and as much again when sealed.
 */

import type { Logger } from '../ports/logger.ts';
import type { Caller } from './caller-limits.ts';

/** Time to send a long response, ms: as long as the server client waits for one. */
const MAX_SEND_MS = 60_000;

/** Generates a long response, unless another one is being generated or sent: then it resolves with undefined. */
export type LongResponse = (caller: Caller, generate: () => Promise<Response>) => Promise<Response | undefined>;

/** Create the limit of one operator. A response that has not been sent within {@link MAX_SEND_MS} is cut off. */
export function createLongResponses(logger?: Logger): LongResponse {
  let isBusy = false;
  const waitUntilSent = async ({ sentWithin }: Caller): Promise<void> => {
    const isSent = (await sentWithin?.(MAX_SEND_MS)) ?? true;
    isBusy = false;
    if (!isSent)
      logger?.warn({}, `a long response was cut off, because it was not read within ${MAX_SEND_MS / 1000} s`);
  };
  return async (caller, generate) => {
    if (isBusy) return undefined;
    isBusy = true;
    try {
      return await generate();
    } finally {
      void waitUntilSent(caller);
    }
  };
}

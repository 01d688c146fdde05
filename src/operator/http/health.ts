/** Checks whether the state can be reached. Any number of probes costs at most one query per second. */

import { createOutageLog, type Logger } from '../ports/logger.ts';
import type { State } from '../ports/state.ts';

const CACHE_MS = 1000;

/** Create a health check. `now` is a clock that never goes back, ms. */
export function createHealthCheck(
  state: Pick<State, 'check'>,
  logger?: Logger,
  now: () => number = () => performance.now(),
): () => Promise<boolean> {
  let result: Promise<boolean> | undefined;
  let expiresAt = Number.POSITIVE_INFINITY;
  const outage = createOutageLog(logger, {
    failure: 'health check: the database cannot be reached',
    recovery: 'health check: the database answers again',
  });
  const check = async (): Promise<boolean> => {
    try {
      await state.check?.();
      outage.recovered();
      return true;
    } catch (error) {
      outage.failed(error);
      return false;
    } finally {
      // From the end of the check, because requests that arrive during a slow check share it.
      expiresAt = now() + CACHE_MS;
    }
  };
  return () => {
    if (!result || now() >= expiresAt) {
      expiresAt = Number.POSITIVE_INFINITY;
      result = check();
    }
    return result;
  };
}

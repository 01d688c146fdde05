/** Answers whether the state can be reached. Many probes at once, or one after the other, cost one query per second. */

import { reasonOf } from '../failure-fields.ts';
import type { Logger } from '../options.ts';
import type { State } from '../state/state.ts';

const CACHE_MS = 1000;

/** Create a health check. `now` is a clock that never goes back, ms. The first of several failures is logged, with its cause. */
export function createHealthCheck(
  state: Pick<State, 'check'>,
  logger?: Logger,
  now: () => number = () => performance.now(),
): () => Promise<boolean> {
  let result: Promise<boolean> | undefined;
  let expiresAt = Number.POSITIVE_INFINITY;
  let wasHealthy = true;
  const check = async (): Promise<boolean> => {
    try {
      await state.check?.();
      if (!wasHealthy) logger?.info({}, 'health check: the database answers again');
      wasHealthy = true;
      return true;
    } catch (error) {
      if (wasHealthy) logger?.warn(reasonOf(error), 'health check: the database cannot be reached');
      wasHealthy = false;
      return false;
    } finally {
      // From the end of the check: a slow one is shared by everybody who asks meanwhile.
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

/**
 * The time between a signal to stop and the end: the operator still answers, and its health check answers 503, so that a load balancer
 * sends new requests elsewhere before the port is closed.
 */

import { HEALTH_PATH } from '../../operator/http/router.ts';
import type { Operator } from '../../operator/index.ts';

/** A handler that can drain. */
export interface DrainHandler extends Pick<Operator, 'fetch'> {
  /** From now on, answer the health check with 503. */
  drain(): void;
}

/** Create a handler that passes all requests to `handler` until it drains, and all but health checks from then on. */
export function createDrainHandler({ fetch }: Pick<Operator, 'fetch'>): DrainHandler {
  let isDraining = false;
  return {
    fetch: async (request, caller) =>
      isDraining && new URL(request.url).pathname === HEALTH_PATH
        ? new Response('the operator is stopping', { status: 503, headers: { 'cache-control': 'no-store' } })
        : fetch(request, caller),
    drain: () => {
      isDraining = true;
    },
  };
}

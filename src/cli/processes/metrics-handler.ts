/// <reference types="node" />
/** Answers `/metrics` with the metrics of all processes, as an operator answers it with its own. */

import { createMetricsHandler } from '../../operator/http/router.ts';

/** Metrics in the Prometheus text format. */
export interface MetricsText {
  readonly text: string;
  readonly contentType: string;
}

/** Create a handler of `GET /metrics` that answers 404 to every other path. */
export function metricsHandlerOf(read: () => Promise<MetricsText>): (request: Request) => Promise<Response> {
  let contentType = '';
  return createMetricsHandler({
    metrics: {
      text: async () => {
        const metrics = await read();
        contentType = metrics.contentType;
        return metrics.text;
      },
      get contentType() {
        return contentType;
      },
    },
  });
}

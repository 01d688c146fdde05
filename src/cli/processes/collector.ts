/// <reference types="node" />
/** Asks the processes of `tessera operator --processes` for their metrics, in the process that has started them. */

import type { Worker } from 'node:cluster';
import type { ToParent } from './messages.ts';
import { createProcessMetrics } from './metrics.ts';
import { answerOf, tell } from './worker-handle.ts';

const SNAPSHOT_TIMEOUT_MS = 2000;

/** Create a collector of the metrics of these processes, and of those that have ended. */
export function createCollector(workers: () => Iterable<Worker>) {
  const metrics = createProcessMetrics();
  let next = 0;
  const ask = async (worker: Worker): Promise<void> => {
    const id = next++;
    const answer = answerOf(worker, 'snapshot', (message) => message.id === id, SNAPSHOT_TIMEOUT_MS);
    tell(worker, { type: 'snapshot', id });
    await answer;
  };
  return {
    ask,
    receive: (worker: Worker, message: ToParent): void => {
      if (message.type === 'snapshot') metrics.update(worker.id, message.snapshot);
    },
    end: (worker: Worker) => metrics.end(worker.id),
    text: async () => {
      await Promise.all([...workers()].map(ask));
      return metrics.text();
    },
  };
}
/** What asks the processes for their metrics, and adds them up. */
export type Collector = ReturnType<typeof createCollector>;

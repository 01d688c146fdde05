/// <reference types="node" />
/** Collects the metrics of the processes of `tessera operator --processes`, in the process that has started them. */

import type { Worker } from 'node:cluster';
import type { ToParent } from './messages.ts';
import { createProcessMetrics } from './metrics.ts';
import { answerOf, sendTo } from './worker-handle.ts';

const SNAPSHOT_TIMEOUT_MS = 2000;

/** Create a collector of the metrics of these processes, and of processes that have ended. */
export function createCollector(workers: () => Iterable<Worker>) {
  const metrics = createProcessMetrics();
  let lastId = 0;
  const ask = async (worker: Worker): Promise<void> => {
    const id = ++lastId;
    const answer = answerOf(worker, 'snapshot', (message) => message.id === id, SNAPSHOT_TIMEOUT_MS);
    sendTo(worker, { type: 'snapshot', id });
    await answer;
  };
  const collect = async () => {
    await Promise.all([...workers()].map(ask));
    return metrics.text();
  };
  let current: ReturnType<typeof collect> | undefined;
  let next: ReturnType<typeof collect> | undefined;
  const text = (): ReturnType<typeof collect> => {
    if (!current) {
      current = collect().finally(() => {
        current = undefined;
      });
      return current;
    }
    // A caller that arrives during a collection may need counts from after its start, so it waits for the next one.
    next ??= current
      .catch(() => {})
      .then(() => {
        next = undefined;
        return text();
      });
    return next;
  };
  return {
    ask,
    receive: (worker: Worker, message: ToParent): void => {
      if (message.type === 'snapshot') metrics.update(worker.id, message.snapshot);
    },
    end: (worker: Worker) => metrics.end(worker.id),
    /** Return the metrics of all processes, as they are after the call. One collection at a time serves all callers meanwhile. */
    text,
  };
}
/** Asks the processes for their metrics, and adds them up. */
export type Collector = ReturnType<typeof createCollector>;

/// <reference types="node" />
/**
 * Collects the metrics of the processes of `tessera operator --processes`, in the process that has started them, and combines
 * them. Counters and histograms are added up, including those of ended processes, so that none ever decreases.
 */

import type { Worker } from 'node:cluster';
// A single file of the package, as in `operator/ports/metrics.ts`.
// @ts-expect-error
import aggregator from 'prom-client/lib/cluster.js';
import type { MetricsText, Snapshot, ToParent } from './messages.ts';
import { answerOf, sendTo } from './worker-handle.ts';

const { aggregate } = aggregator as {
  aggregate(snapshots: readonly Snapshot[]): {
    metrics(): Promise<string>;
    getMetricsAsJSON(): Promise<Snapshot>;
    readonly contentType: string;
  };
};

/** The metrics of all processes. */
interface ProcessMetrics {
  /** Remember the last snapshot of a process. */
  update(process: number, snapshot: Snapshot): void;
  /** Add the counts of an ended process to the total. */
  end(process: number): Promise<void>;
  /** Return all metrics in the Prometheus text format. */
  text(): Promise<MetricsText>;
}

/** How many ended processes are kept separately before they are added up. */
const MAX_ENDED = 16;

/** Without a process. */
function createProcessMetrics(): ProcessMetrics {
  const running = new Map<number, Snapshot>();
  let ended: readonly Snapshot[] = [];
  return {
    update: (process, snapshot) => void running.set(process, snapshot),
    end: async (process) => {
      const last = running.get(process);
      if (!last) return;
      running.delete(process);
      // The gauges of a process end with it.
      ended = [...ended, last.filter(({ type }) => type !== 'gauge')];
      if (ended.length <= MAX_ENDED) return;
      const parts = ended;
      const sum = await aggregate(parts).getMetricsAsJSON();
      if (ended[0] === parts[0]) ended = [sum, ...ended.slice(parts.length)];
    },
    text: async () => {
      const all = aggregate([...running.values(), ...ended]);
      return { text: await all.metrics(), contentType: all.contentType };
    },
  };
}

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

/// <reference types="node" />
/**
 * Combines the metrics of all processes of an operator. Counters and histograms are added up, including those of ended processes,
 * so that none ever decreases.
 */

// A single file of the package, as in `operator/http/metrics.ts`.
// @ts-expect-error
import aggregator from 'prom-client/lib/cluster.js';
import type { MetricsText, Snapshot } from './messages.ts';

const { aggregate } = aggregator as {
  aggregate(snapshots: readonly Snapshot[]): {
    metrics(): Promise<string>;
    getMetricsAsJSON(): Promise<Snapshot>;
    readonly contentType: string;
  };
};

/** The metrics of all processes. */
export interface ProcessMetrics {
  /** Remember the last snapshot of a process. */
  update(process: number, snapshot: Snapshot): void;
  /** Add the counts of an ended process to the total. */
  end(process: number): Promise<void>;
  /** Return all metrics in the Prometheus text format. */
  text(): Promise<MetricsText>;
}

// How many ended processes are kept separately before they are added up.
const MAX_ENDED = 16;

/** Create the metrics, without a process. */
export function createProcessMetrics(): ProcessMetrics {
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

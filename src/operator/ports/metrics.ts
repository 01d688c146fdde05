/** Metrics for Prometheus. Labels come from fixed lists, not from callers, who could fill the memory or put secrets there. */

// Single files of the package, because its main file imports Node's cluster module. The types come only with the main file.
// @ts-expect-error
import counter from 'prom-client/lib/counter.js';
// @ts-expect-error
import gauge from 'prom-client/lib/gauge.js';
// @ts-expect-error
import histogram from 'prom-client/lib/histogram.js';
// @ts-expect-error
import registry from 'prom-client/lib/registry.js';
import type { State } from './state.ts';

type Prometheus = typeof import('prom-client');
const Counter = counter as Prometheus['Counter'];
const Gauge = gauge as Prometheus['Gauge'];
const Histogram = histogram as Prometheus['Histogram'];
const Registry = registry as Prometheus['Registry'];

export interface RequestRecord {
  /** A standard method, or `other`. */
  readonly method: string;
  /** A known route, or `other`. */
  readonly path: string;
  readonly http: number;
  /** `status` of the JSON; empty if the response has none. */
  readonly status: string;
  readonly seconds: number;
}

export type MappingOutcome = 'mapped' | 'optout' | 'invalid';

export interface MetricsText {
  readonly text: string;
  readonly contentType: string;
}

export interface Metrics {
  countRequest(request: RequestRecord): void;
  countMapped(version: 'v2' | 'v3', outcomes: Readonly<Record<MappingOutcome, number>>): void;
  countValidation(result: 'match' | 'mismatch' | 'unauthorized' | 'invalid_token'): void;
  text(): Promise<MetricsText>;
}

function addOptOutMemory(registers: InstanceType<typeof Registry>[], memory: NonNullable<State['optOutMemory']>): void {
  const add = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  add('tessera_opt_outs_in_memory', 'Opt-outs that this process keeps in memory.', () => memory.size());
  const lost = 'Opt-outs that have gone missing from the database after this process had read them.';
  add('tessera_opt_outs_lost', lost, () => memory.lost());
  const current = '1 if refreshes rely on the opt-outs in memory, 0 if they query the database.';
  add('tessera_opt_outs_current', current, () => (memory.isCurrent() ? 1 : 0));
}

export function createMetrics({ optOutMemory }: Pick<State, 'optOutMemory'>): Metrics {
  const prometheus = new Registry();
  const registers = [prometheus];
  if (optOutMemory) addOptOutMemory(registers, optOutMemory);
  const requests = new Counter({
    name: 'tessera_http_requests_total',
    help: 'Answered requests, by HTTP status and by status of the JSON.',
    labelNames: ['method', 'path', 'http', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'tessera_http_request_duration_seconds',
    help: 'Time from the request to its answer.',
    labelNames: ['path'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const identifiers = new Counter({
    name: 'tessera_identifiers_mapped_total',
    help: 'Identifiers of mapping requests, by result.',
    labelNames: ['version', 'result'],
    registers,
  });
  const validations = new Counter({
    name: 'tessera_tokens_validated_total',
    help: 'Validated advertising tokens, by result.',
    labelNames: ['result'],
    registers,
  });
  return {
    countRequest: ({ method, path, http, status, seconds }) => {
      requests.inc({ method, path, http: `${http}`, status });
      durations.observe({ path }, seconds);
    },
    countMapped: (version, outcomes) => {
      for (const [result, count] of Object.entries(outcomes)) identifiers.inc({ version, result }, count);
    },
    countValidation: (result) => validations.inc({ result }),
    text: async () => ({ text: await prometheus.metrics(), contentType: prometheus.contentType }),
  };
}

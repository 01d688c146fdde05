/**
 * Counting: what `GET /metrics` tells Prometheus.
 *
 * Labels are taken from short lists, never from a caller's text, so that nobody can fill the memory or read another's
 * values in them.
 */

// The parts, not the whole of prom-client: the whole wants clusters, sockets and processes, which only Node has. The parts
// are shipped without types of their own.
// @ts-expect-error
import counter from 'prom-client/lib/counter.js';
// @ts-expect-error
import histogram from 'prom-client/lib/histogram.js';
// @ts-expect-error
import registry from 'prom-client/lib/registry.js';

type Prometheus = typeof import('prom-client');
const Counter = counter as Prometheus['Counter'];
const Histogram = histogram as Prometheus['Histogram'];
const Registry = registry as Prometheus['Registry'];

/** One answered request. */
export interface Answered {
  /** One of the well-known ones, or `other`. */
  readonly method: string;
  /** A route, or `other`. */
  readonly path: string;
  /** HTTP status. */
  readonly http: number;
  /** `status` of the JSON; empty where there was none. */
  readonly status: string;
  readonly seconds: number;
}

/** What became of one identifier of a mapping request. */
export type Mapped = 'mapped' | 'optout' | 'invalid';

/** What {@link createMetrics} gives. */
export interface Metrics {
  answered(request: Answered): void;
  mapped(version: 'v2' | 'v3', results: Readonly<Record<Mapped, number>>): void;
  validated(result: 'match' | 'mismatch' | 'unauthorized' | 'invalid_token'): void;
  /** The text, and its content type. */
  text(): Promise<string>;
  readonly contentType: string;
}

/** Counters of one operator. */
export function createMetrics(): Metrics {
  const all = new Registry();
  const registers = [all];
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
    help: 'Identifiers of mapping requests, by what became of them.',
    labelNames: ['version', 'result'],
    registers,
  });
  const validations = new Counter({
    name: 'tessera_tokens_validated_total',
    help: 'Advertising tokens that were to be validated, by result.',
    labelNames: ['result'],
    registers,
  });
  return {
    answered: ({ method, path, http, status, seconds }) => {
      requests.inc({ method, path, http: `${http}`, status });
      durations.observe({ path }, seconds);
    },
    mapped: (version, results) => {
      for (const [result, count] of Object.entries(results)) identifiers.inc({ version, result }, count);
    },
    validated: (result) => validations.inc({ result }),
    text: () => all.metrics(),
    contentType: all.contentType,
  };
}

/// <reference types="node" />
/** The messages between the processes of `tessera operator --processes`: see `parent.ts` and `worker.ts`. */

/** The metrics of one process as data. Only `metrics.ts` reads all values. */
export type Snapshot = readonly {
  readonly name: string;
  readonly type: string;
  readonly values?: readonly { readonly value: number }[];
}[];

/** Metrics in the Prometheus text format. */
export interface MetricsText {
  readonly text: string;
  readonly contentType: string;
}

/** The information that a process needs to serve as one of the group. */
export interface StartMessage {
  readonly type: 'start';
  /** The first process: it prints warnings, opens the port before it stores anything, and writes `envFile`. */
  readonly isFirst: boolean;
  /** The file of `--env`. As `--env-file`, it is not on a worker's command line, because Node 20 would read it as well. */
  readonly envFile?: string | undefined;
  /** `databaseFingerprint` of the parent's settings. */
  readonly database: string;
  /** Whether the parent serves the metrics on a separate port. */
  readonly hasMetricsPort: boolean;
}

/** From the parent to a worker. */
export type ToWorker =
  | StartMessage
  /** Answer health checks with 503: `stop` follows. */
  | { readonly type: 'drain' }
  /** Answer the requests in progress, then end. */
  | { readonly type: 'stop' }
  | { readonly type: 'snapshot'; readonly id: number }
  | ({ readonly type: 'metrics'; readonly id: number } & MetricsText);

/** From a worker to the parent. */
export type ToParent =
  /** Ready for `start`. */
  | { readonly type: 'ready' }
  /** It does not serve with the settings that it has read. */
  | { readonly type: 'refused'; readonly reason: string }
  /** It listens. `lines` are about credentials and `address` is the last line, all for standard output. */
  | { readonly type: 'listening'; readonly lines: readonly string[]; readonly address: string }
  /** An answer. Without `id`, the last one before the process ends. */
  | { readonly type: 'snapshot'; readonly id?: number; readonly snapshot: Snapshot }
  /** Asks for the metrics of all processes. */
  | { readonly type: 'metrics'; readonly id: number };

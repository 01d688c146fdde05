/// <reference types="node" />
/** The messages between the processes of `tessera operator --processes`: see `parent.ts` and `worker.ts`. */

/** The metrics of one process as data; only `metrics.ts` looks into the values of all. */
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

/** What a process needs to know to serve as one of the group. */
export interface StartMessage {
  readonly type: 'start';
  /** The first process of all: it warns, opens the port before it stores anything, and writes `envFile`. */
  readonly isFirst: boolean;
  /** The file of `--env-file`. It is not on the command line of a worker: Node 20 would read it as an option of its own. */
  readonly envFile?: string | undefined;
  /** `databaseFingerprint` of the parent's settings. */
  readonly database: string;
  /** Whether the parent serves the metrics on a port of their own. */
  readonly hasMetricsPort: boolean;
}

/** From the parent to a worker. */
export type ToWorker =
  | StartMessage
  /** Answer the requests in progress, and end. */
  | { readonly type: 'stop' }
  | { readonly type: 'snapshot'; readonly id: number }
  | ({ readonly type: 'metrics'; readonly id: number } & MetricsText);

/** From a worker to the parent. */
export type ToParent =
  /** Ready for `start`. */
  | { readonly type: 'ready' }
  /** It does not serve with the settings that it has read. */
  | { readonly type: 'refused'; readonly reason: string }
  /** It listens. `lines` are those about credentials, `address` is the last one, all for standard output. */
  | { readonly type: 'listening'; readonly lines: readonly string[]; readonly address: string }
  /** An answer, or without `id` the last one before it ends. */
  | { readonly type: 'snapshot'; readonly id?: number; readonly snapshot: Snapshot }
  /** Asks for the metrics of all processes. */
  | { readonly type: 'metrics'; readonly id: number };

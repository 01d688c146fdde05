/// <reference types="node" />
/** What the processes of `tessera operator --processes` tell each other: see `processes.ts` and `worker.ts`. */

/** The metrics of one process as data; only `process-metrics.ts` looks into them. */
export type Snapshot = readonly { readonly name: string; readonly type: string }[];

/** From the parent to a worker. */
export type ToWorker =
  /** Start to serve. `isFirst`: the first process of all, which writes the file of `--env-file` and warns. */
  | { readonly type: 'start'; readonly isFirst: boolean }
  /** Answer the requests in progress, and end. */
  | { readonly type: 'stop' }
  | { readonly type: 'snapshot'; readonly id: number }
  | { readonly type: 'metrics'; readonly id: number; readonly text: string; readonly contentType: string };

/** From a worker to the parent. */
export type ToParent =
  /** Ready for `start`. */
  | { readonly type: 'ready' }
  /** It listens; `lines` are those for standard output. */
  | { readonly type: 'listening'; readonly lines: readonly string[] }
  | { readonly type: 'snapshot'; readonly id: number; readonly snapshot: Snapshot }
  /** Asks for the metrics of all processes. */
  | { readonly type: 'metrics'; readonly id: number };

/** Set in the environment of a worker, so that its command line serves instead of starting workers. */
export const WORKER_VARIABLE = 'TESSERA_WORKER';

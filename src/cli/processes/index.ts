/** The several processes of `tessera operator --processes`: the parent, and what it starts. */

export { runProcesses } from './parent.ts';
export { serveAsWorker } from './worker.ts';

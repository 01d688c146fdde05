/** The processes of `tessera operator --processes`: the parent, and the workers that it starts. */

export { runProcesses } from './parent.ts';
export { serveAsWorker } from './worker.ts';

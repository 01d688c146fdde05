/**
 * Setup of tests that run in threads: each file has channels of its own. Node connects channels of one name across the threads of a
 * process, so a file would receive the messages of another file's sessions.
 */

import { threadId } from 'node:worker_threads';

globalThis.BroadcastChannel = class extends BroadcastChannel {
  constructor(name: string) {
    super(`${threadId} ${name}`);
  }
};

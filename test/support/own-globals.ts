/**
 * Setup of the tests of pages: each file has databases and channels of its own. Files share their modules and the threads of one
 * process, and Node connects channels of one name across threads, so a file would find the records of another file's sessions and
 * receive their messages.
 */

import { BroadcastChannel } from 'node:worker_threads';
import 'fake-indexeddb/auto';

const file = crypto.randomUUID();

globalThis.indexedDB = new IDBFactory();
globalThis.BroadcastChannel = class extends BroadcastChannel {
  constructor(name: string) {
    super(`${file} ${name}`);
  }
} as unknown as typeof globalThis.BroadcastChannel;

/**
 * Setup of the tests of pages: each file has databases, channels and an empty page of its own. Files share their modules, and the window
 * of their thread. Node connects channels of one name across threads, so a file would find what another file's sessions have stored,
 * and receive their messages.
 */

import { BroadcastChannel } from 'node:worker_threads';
import 'fake-indexeddb/auto';
import { leavePage } from './gpt.ts';

const file = crypto.randomUUID();

globalThis.indexedDB = new IDBFactory();
globalThis.BroadcastChannel = class extends BroadcastChannel {
  constructor(name: string) {
    super(`${file} ${name}`);
  }
} as unknown as typeof globalThis.BroadcastChannel;

// Not in the files that run without a page.
if (globalThis.document) {
  localStorage.clear();
  sessionStorage.clear();
  for (const row of document.cookie.split('; ')) {
    const erased = `${row.split('=')[0]}=;expires=${new Date(0).toUTCString()};path=/`;
    // biome-ignore lint/suspicious/noDocumentCookie: there is no other way here.
    document.cookie = erased;
  }
  document.head.replaceChildren();
  document.body.replaceChildren();
  history.replaceState(null, '', '/');
  leavePage();
}

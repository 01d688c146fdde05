/** Runs before `dist/tessera.js`, as a page's own code does: the session comes from the script tag and its `data-` attributes. */

import type { Session } from '../../../src/session/index.ts';
import { done } from './visit.ts';

type Queue = { push(call: (tessera: { readonly session: Session }) => void): void };
const page = globalThis as unknown as { tessera?: Queue; doneAt: number };

page.doneAt = 0;
const queue: Queue = [] as never;
page.tessera = queue;
queue.push(({ session }) => {
  Object.assign(globalThis, {
    peer: {
      open: () => session.getToken(),
      ask: () => session.getToken(),
      refresh: () => session.refresh(),
      signOut: () => session.clear(),
    },
  });
  session.on('token', () => {
    if (!page.doneAt) done(session.advertisingToken);
  });
});

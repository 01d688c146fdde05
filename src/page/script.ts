/**
 * The script tag: the global `tessera`, the queue of calls from before it arrived, and a session without code.
 *
 * ```html
 * <script async src="/tessera.js" data-base-url="https://operator.example" data-provide="/token"></script>
 * <script>
 *   (window.tessera = window.tessera || []).push((t) => t.session.on('token', showAds));
 * </script>
 * ```
 */

import { version } from '../../package.json';
import type { EventName, Session, SessionOptions } from '../session/index.ts';
import { createSession, isTokenError } from '../session/index.ts';
import { scriptTag } from './script-url.ts';

type Call = (tessera: Tessera) => unknown;

/** The global `tessera`. */
export interface Tessera {
  readonly version: string;
  /** The first session of this page, once one exists. */
  session?: Session;
  createSession(options: SessionOptions): Session;
  isTokenError: typeof isTokenError;
  /** Call back at once; before the file arrives, the same word pushes onto an array. */
  push(...calls: Call[]): void;
}

declare global {
  interface Window {
    tessera?: Tessera | Call[];
  }
}

/** Ask the publisher's server: POST, same-origin credentials, no body; 204 means that nobody is signed in. */
const askAt =
  (url: string): NonNullable<SessionOptions['provide']> =>
  async ({ signal }) => {
    const response = await fetch(url, { method: 'POST', credentials: 'same-origin', signal });
    // A response itself says by its status that nobody is signed in (204), or that this is no set.
    return response.ok && response.status !== 204 ? response.json() : response;
  };

/** Repeat a session's events on `window`. Every script on the page hears them: they carry phase and times only. */
const repeat = (session: Session) => {
  for (const event of 'token expired optout needsTokens'.split(' ') as EventName[])
    session.on(event, () => {
      const { phase, refreshAt, expiresAt, endsAt } = session.state;
      const detail = { phase, refreshAt, expiresAt, endsAt };
      dispatchEvent(new CustomEvent(`tessera:${event.toLowerCase()}`, { detail }));
    });
};

const run = (tessera: Tessera, calls: Call[]) => {
  // An asynchronous function: a call that throws or rejects keeps no other from running. Without `reportError` (Safari
  // before 15.4) the rejection itself is what the console shows.
  for (const call of calls) (async () => call(tessera))().catch(globalThis.reportError);
};

const install = () => {
  const before = window.tessera;
  // A second copy of the file leaves the page to the first.
  if (before && !Array.isArray(before)) return;
  const tessera: Tessera = {
    version,
    isTokenError,
    createSession: (options) => {
      const session = createSession(options);
      if (!tessera.session) {
        tessera.session = session;
        repeat(session);
      }
      return session;
    },
    push: (...calls) => run(tessera, calls),
  };
  window.tessera = tessera;
  const { baseUrl, name, provide } = scriptTag?.dataset ?? {};
  try {
    if (baseUrl) tessera.createSession({ baseUrl, name, provide: provide ? askAt(provide) : undefined });
  } finally {
    // Also where an attribute is wrong: what the page has queued is not lost.
    run(tessera, before ?? []);
  }
};

install();

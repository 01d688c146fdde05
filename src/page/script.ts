/** The script tag: the global `tessera`, the queue of calls made before the file has loaded, and a session described by its attributes. */

import { version } from '../../package.json';
import { explain } from '../session/explain/entry.ts';
import {
  type EventName,
  isTokenError,
  type ProvideRequest,
  type Session,
  type SessionOptions,
} from '../session/index.ts';
import { createCore, followPage, sessionOf } from '../session/session.ts';
import { ownMembers, requestOptions } from '../token/checks.ts';
import { isDevelopment } from '../token/development.ts';
import { dataOf, ownGlobal, pageUrl, scriptTag } from './clobbering.ts';
import type { Tessera, TesseraCall } from './global.ts';
import { checkPage, checkTag, warnOfNoQueue, warnOfNoSession, warnOfSecondTag } from './script-warnings.ts';

/**
 * Ask the publisher's server: POST, same-origin credentials, no body. The session reads the status of the response: 204 means that
 * nobody is signed in, and an error status is a failure.
 */
function provideFrom(url: string): (request: ProvideRequest) => Promise<unknown> {
  return async ({ signal }) => {
    const asked = fetch(url, requestOptions({ method: 'POST', credentials: 'same-origin', signal }));
    const response = await (explain?.provideRequest(url, asked) ?? asked);
    return response.ok && response.status !== 204 ? response.json() : response;
  };
}

/**
 * Repeat a session's events on `window`: `needsTokens` as `tessera:needstokens`. Every script on the page can listen, so they carry
 * only phase and times.
 */
function repeatEvents(session: Session) {
  for (const name of ['token', 'expired', 'optout', 'needsTokens'] satisfies EventName[])
    session.on(name, () => {
      const { phase, refreshAt, expiresAt, endsAt } = session.state;
      const detail = { phase, refreshAt, expiresAt, endsAt };
      dispatchEvent(new CustomEvent(`tessera:${name.toLowerCase()}`, ownMembers({ detail })));
    });
}

/** Run the page's calls in order. One that throws or rejects does not stop the others. */
function run(tessera: Tessera, calls: TesseraCall[]) {
  for (const call of calls)
    (async () => call(tessera))()
      .catch((thrown) => {
        // The exception itself only says that something is undefined.
        if (!tessera.session) {
          if (isDevelopment) warnOfNoSession(scriptTag);
          else console.warn('tessera: no session: check data-base-url');
        }
        throw thrown;
      })
      // Without `reportError` (Chrome 94) the rejection itself appears in the console.
      .catch(globalThis.reportError);
}

/** What the first copy of the file leaves for a second one. */
interface OwnTessera extends Tessera {
  /** Hear of the label in a later tag; empty: nobody is signed in. */
  follow: ((user: string) => void) | undefined;
}

function createTessera(): Tessera {
  const tessera: OwnTessera = {
    version,
    isTokenError,
    // Own members, so that none is inherited from `Object.prototype`.
    session: undefined,
    follow: undefined,
    createSession: (options) => {
      const core = createCore(options);
      const session = sessionOf(core);
      if (!tessera.session) {
        tessera.session = session;
        tessera.follow = (user) => followPage(core, user);
        repeatEvents(session);
      }
      return session;
    },
    push: (...calls) => run(tessera, calls),
  };
  return tessera;
}

function install() {
  const before = ownGlobal('tessera');
  const isQueue = Array.isArray(before);
  // A second copy of the file leaves the page to the first one.
  const isSecond = !isQueue && typeof before?.createSession === 'function';
  const user = dataOf('user');
  if (isDevelopment) {
    // A module cannot read its tag: warn about `type="module"` even if the file is already loaded.
    if (isSecond && scriptTag) warnOfSecondTag(user);
    else checkTag(scriptTag);
    if (!isQueue && !isSecond) warnOfNoQueue(before);
  }
  if (isSecond) {
    // The document may outlive the page (Turbo, htmx): the tag of a later page names the user whom that page was rendered for.
    if (user !== undefined) (before as OwnTessera).follow?.(user);
    return;
  }
  const tessera = createTessera();
  window.tessera = tessera;
  try {
    const baseUrl = dataOf('base-url');
    const provide = dataOf('provide');
    // Ignored, it would start a session without what it asks for.
    for (const name of ['consent', 'refresh', 'users'])
      if (baseUrl && dataOf(name) !== undefined) throw new TypeError(`data-${name}: invalid option`);
    if (baseUrl)
      tessera.createSession({
        baseUrl,
        name: dataOf('name'),
        // A page that is rendered for nobody has an empty label.
        user: user === '' ? null : user,
        debug: (dataOf('debug') ?? 'false') !== 'false',
        provide: provide ? (provideFrom(`${new URL(provide, pageUrl)}`) as SessionOptions['provide']) : undefined,
      });
  } finally {
    // Run the calls that the page has queued even if an attribute is invalid.
    run(tessera, isQueue ? before : []);
  }
  if (isDevelopment) checkPage(scriptTag, () => tessera.session);
}

install();

/** The script tag: the global `tessera`, the queue of calls from before it, and a session described by the attributes. */

import { version } from '../../../package.json';
import { explain } from '../../session/explain/entry.ts';
import {
  type EventName,
  isTokenError,
  type ProvideRequest,
  type Session,
  type SessionOptions,
} from '../../session/index.ts';
import { createCore, followPage, sessionOf } from '../../session/session.ts';
import { ownMembers, requestOptions } from '../../token/checks.ts';
import { isDevelopment } from '../../token/development.ts';
import { dataOf, ownGlobal, pageUrl, scriptTag } from '../clobbering.ts';
import type { Tessera, TesseraCall } from '../global.ts';
import {
  checkCalls,
  checkPage,
  checkTag,
  checkWindow,
  warnOfNoQueue,
  warnOfNoSession,
  warnOfSecondTag,
} from './script-warnings.ts';

/** The session reads the status of a response that is returned: 204, or an error. */
function provideFrom(url: string): (request: ProvideRequest) => Promise<unknown> {
  return async ({ signal }) => {
    const asked = fetch(url, requestOptions({ method: 'POST', credentials: 'same-origin', signal }));
    const response = await (explain?.checkProvideResponse(url, asked) ?? asked);
    return response.ok && response.status !== 204 ? response.json() : response;
  };
}

/** On `window`: `needsTokens` as `tessera:needstokens`. Every script on the page can listen, so they carry only phase and times. */
function repeatEvents(session: Session) {
  const repeated = { token: 1, expired: 1, optout: 1, needsTokens: 1 } satisfies Record<Exclude<EventName, 'error'>, 1>;
  for (const name of Object.keys(repeated) as (keyof typeof repeated)[])
    session.on(name, () => {
      const { phase, refreshAt, expiresAt, endsAt } = session.state;
      const detail = { phase, refreshAt, expiresAt, endsAt };
      dispatchEvent(new CustomEvent(`tessera:${name.toLowerCase()}`, ownMembers({ detail })));
    });
}

function run(tessera: Tessera, calls: TesseraCall[]) {
  if (isDevelopment) checkCalls(calls);
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

interface OwnTessera extends Tessera {
  /** Called with the label in a later tag; empty: nobody is signed in. */
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
  if (isDevelopment) checkWindow();
  const before = ownGlobal('tessera');
  const isQueue = Array.isArray(before);
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
    if (baseUrl) {
      // Ignored, it would start a session without what it asks for.
      for (const name of ['consent', 'refresh', 'users'])
        if (dataOf(name) !== undefined) throw new TypeError(`data-${name}: invalid option`);
      tessera.createSession({
        baseUrl,
        name: dataOf('name'),
        // A page that is rendered for nobody has an empty label.
        user: user === '' ? null : user,
        debug: (dataOf('debug') ?? 'false') !== 'false',
        provide: provide ? (provideFrom(`${new URL(provide, pageUrl)}`) as SessionOptions['provide']) : undefined,
      });
    }
  } finally {
    // Run the calls that the page has queued even if an attribute is invalid.
    run(tessera, isQueue ? before : []);
  }
  if (isDevelopment) checkPage(scriptTag, () => tessera.session);
}

install();

/** Warnings in the console: of failures that the page may not listen to, and of mistakes that cause no error. */

import type { TokenError } from '../../token/errors.ts';
import type { createEvents } from '../events.ts';
import type { PageState } from '../rules/page-state.ts';
import type { Session, Settings } from '../types.ts';

const DOCS = 'https://github.com/tessera-id/tessera/blob/main/docs';

/** The names that are in use, each as an object of its own, because one may be in use twice. */
export type OpenNames = Set<{ readonly name: string }>;

/** Of sessions. Kept on `globalThis`, because a page may load the package twice. */
const NAMES = Symbol.for('tessera-id names');

/** `code`: of the error, which docs/errors.md explains. `thrown`: what the page's code threw; only the console shows it. */
export function warn(text: string, code?: string, ...thrown: unknown[]): void {
  console.warn(`[tessera] ${text}${code ? ` (${DOCS}/errors.md#${code})` : ''}`, ...thrown);
}

const thrownBy = new Map<string, readonly [thrown: unknown]>();

/** Only the console shows what the page's code threw: no error contains it. Returns the message of the error. */
export function noteThrown(message: string, thrown: unknown): string {
  thrownBy.set(message, [thrown]);
  return message;
}

/** Warns of each message once; if the page listens to `error`, only of the first, and of exceptions. */
export function watchFailures() {
  const said = new Set<string>();
  const failures = {
    isHeard: false,
    warn: ({ code, message }: TokenError): void => {
      const thrown = thrownBy.get(message) ?? [];
      if (said.has(message) || (failures.isHeard && said.size > 0 && thrown.length === 0)) return;
      said.add(message);
      warn(message, code, ...thrown);
    },
  };
  return failures;
}

export interface Inside extends Pick<PageState, 'consent' | 'attempt'> {
  readonly settings: Settings;
  now(): number;
  readonly events: ReturnType<typeof createEvents>;
}

/** Longer than the gates wait for a consent platform, ms. */
const PATIENCE_MS = 12_000;

/** Warns once of a session that waits for its consent gate, or for a set that nothing supplies. Returns a function that stops watching. */
export function watchWaiting(session: Session, core: Inside): () => void {
  const { provide, refresh, store } = core.settings;
  const reason = () => {
    const { phase, next, waitingFor, lastError } = session.state;
    // An error has been reported, which names the reason.
    if (lastError) return undefined;
    if (waitingFor === 'consent') return core.consent === undefined ? 'no_consent' : undefined;
    // The drop-in has a store of its own, and no `provide`.
    const isUnsupplied = phase === 'empty' && next?.reason === 'host' && !provide && !store;
    return isUnsupplied ? 'no_token' : undefined;
  };
  const said = {
    no_consent: 'the consent gate has not answered for 12 s: until it does (its dialog may be open), there is no token',
    no_token:
      refresh === 'off'
        ? "there is no token set, and with refresh: 'off' only an app around this page supplies one: if a user is signed in there, call connectWebview; without an app, leave the option out"
        : 'there is no token set, and no option provide (data-provide): if a user is signed in, add it, or call setTokens',
  };
  let isWatching = true;
  let timer: (ReturnType<typeof setTimeout> & { unref?(): void }) | undefined;
  session.ready.then(() => {
    const code = isWatching && reason();
    if (!code) return;
    timer = setTimeout(() => {
      if (reason() === code) warn(said[code], code);
    }, PATIENCE_MS);
    // A server must be able to end.
    timer.unref?.();
  });
  return () => {
    isWatching = false;
    clearTimeout(timer);
  };
}

/** Returns a function for the calls of `signIn`: if they come from `provide`, the session asks it again each time. */
export function watchSignIn(core: Inside): () => void {
  let inARow = 0;
  return () => {
    inARow = core.attempt?.plan.kind === 'provide' ? inARow + 1 : 0;
    if (inARow === 3)
      warn('signIn: called three times while provide was being asked: provide must not call it, only return the set');
  };
}

export function checkLabel(label: unknown): void {
  if (typeof label === 'string' && label.includes('@'))
    warn('user: expected an opaque label, for example an account ID, got an address');
}

const blocked = new Set<string>();

export function isBlocked(baseUrl: string): boolean {
  return blocked.has(new URL(baseUrl).origin);
}

/** Returns a function that stops watching. */
export function watchMistakes({ baseUrl, name, store }: Settings): () => void {
  // A worker of a page has no window either. A test may give a store.
  if (typeof window === 'undefined' && !('importScripts' in globalThis) && !store)
    warn(
      `createSession: expected a browser, got a server, where all visitors would share the session (${DOCS}/pages/session.md#on-a-server)`,
    );
  // Sessions with their own stores may share a name.
  const names = ((globalThis as { [NAMES]?: OpenNames })[NAMES] ??= new Set());
  const isOpen = `createSession: a session named "${name}" is already open on this page: use that one, close() it, or choose another name`;
  const forget = store ? () => {} : noteName(names, name, isOpen);
  const { origin } = new URL(baseUrl);
  const onViolation = ({ blockedURI, disposition, effectiveDirective }: SecurityPolicyViolationEvent) => {
    // A policy that only reports blocks nothing.
    const isBlocking = effectiveDirective === 'connect-src' && disposition !== 'report';
    // `blockedURI` may also be a keyword such as `inline`.
    const isOwn = `${blockedURI}/`.startsWith(`${origin}/`);
    if (!isBlocking || !isOwn || blocked.has(origin)) return;
    blocked.add(origin);
    warn(`this page's Content Security Policy blocks the operator: add ${origin} to connect-src`, 'network');
  };
  // Listen on the window, to which the event bubbles: a named element may hide the document's method.
  globalThis.addEventListener?.('securitypolicyviolation', onViolation);
  return () => {
    globalThis.removeEventListener?.('securitypolicyviolation', onViolation);
    forget();
  };
}

/** Warns if the name is in use. Returns a function that ends its use. */
export function noteName(open: OpenNames, name: string, warning: string): () => void {
  if ([...open].some((other) => other.name === name)) warn(warning);
  const own = { name };
  open.add(own);
  return () => void open.delete(own);
}

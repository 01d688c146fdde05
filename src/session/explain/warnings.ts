/** Warnings in the console, about mistakes that cause no error. */

import { TokenError } from '../../token/errors.ts';

const DOCS = 'https://github.com/tessera-id/tessera/blob/main/docs';

/** Names of the sessions that are open on this page. Kept on `globalThis`, because a page may load the package twice. */
const NAMES = Symbol.for('tessera-id names');

/**
 * Warn in the console.
 *
 * @param code    of the error, which docs/errors.md explains.
 * @param thrown  what the page's code threw. Only the console shows it: no error contains it.
 */
export function warn(text: string, code?: string, ...thrown: unknown[]): void {
  console.warn(`[tessera] ${text}${code ? ` (${DOCS}/errors.md#${code})` : ''}`, ...thrown);
}

/** Warn that an option supplied no token set, which a page that does not listen to `error` would not notice. */
export function warnIfNoSet(option: 'provide' | 'tokens', error: unknown): void {
  if (error instanceof TokenError && error.code === 'invalid_token_set')
    warn(`${option}: ${error.message}`, error.code);
}

/** Origins that the page's Content-Security-Policy has blocked. */
const blocked = new Set<string>();

/** Tell whether the page's Content-Security-Policy has blocked a request to the origin of `baseUrl`. */
export function isBlocked(baseUrl: string): boolean {
  return blocked.has(new URL(baseUrl).origin);
}

/** The settings of a session that concern the warnings. */
interface Watched {
  readonly baseUrl: string;
  readonly name: string;
  readonly store?: unknown;
}

/** Watch for a page's mistakes while its session is open; returns a function that stops watching. */
export function watchMistakes({ baseUrl, name, store }: Watched): () => void {
  // Sessions with their own stores may share a name.
  const forget = store ? () => {} : noteName(name);
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

function noteName(name: string): () => void {
  const open = ((globalThis as { [NAMES]?: Set<{ readonly name: string }> })[NAMES] ??= new Set());
  if ([...open].some((other) => other.name === name))
    warn(
      `createSession: a session named "${name}" is already open on this page: use that one, close() it, or choose another name`,
    );
  const own = { name };
  open.add(own);
  return () => void open.delete(own);
}

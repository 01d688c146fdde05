/** The error class of the project, and the format of messages about invalid input. Never a token, key, secret or DII. */

/** What went wrong, for code to branch on. The message is for people. */
export type ErrorCode =
  | 'invalid_token_set'
  | 'network'
  | 'timeout'
  | 'http_status'
  | 'malformed_response'
  | 'decrypt_failed'
  | 'refresh_rejected'
  | 'opted_out'
  | 'no_token'
  | 'no_consent'
  | 'storage_failed'
  | 'provide_failed'
  | 'closed'
  // Only on the server side:
  | 'client_error'
  | 'unauthorized'
  | 'rate_limited'
  | 'clock_skew'
  | 'nonce_mismatch';

/** Optional details of an error, besides its code and message. */
export interface TokenErrorDetails {
  /** HTTP status of the answer, if there was an answer. */
  readonly status?: number | undefined;
  /** How long the service asked the caller to wait, ms (`Retry-After`), if the page may read that header. */
  readonly retryAfterMs?: number | undefined;
  /** The error that caused this one. */
  readonly cause?: unknown;
}

/**
 * An error of a session, client or operator. Background errors arrive at `on('error')`; all others reject promises.
 *
 * @example
 * session.getToken().catch((e) => { if (isTokenError(e) && e.code === 'opted_out') hideAds(); });
 */
export class TokenError extends Error {
  // A field, not an assignment, which fails if `Error.prototype` is frozen.
  override readonly name = 'TokenError';
  declare readonly code: ErrorCode;
  declare readonly status: number | undefined;
  declare readonly retryAfterMs: number | undefined;

  constructor(
    code: ErrorCode,
    message = `${code}: see docs/errors.md of tessera-id`,
    { cause, ...details }: TokenErrorDetails = {},
  ) {
    // Node prints a `cause` that is undefined.
    super(message, cause === undefined ? undefined : { cause });
    Object.assign(this, { code, ...details });
  }
}

/**
 * Tell whether `e` is a {@link TokenError}, by its name: also from another frame, or another copy of this package.
 *
 * @example if (isTokenError(e) && e.code === 'rate_limited') await pause(e.retryAfterMs);
 */
export function isTokenError(e: unknown): e is TokenError {
  return (e as Error | undefined)?.name === 'TokenError';
}

/**
 * @param got  a type, a length or a harmless value; never a token, key, secret or DII.
 * @example expectedGot('port', 'number', 'string') // 'port: expected number, got string'
 */
export function expectedGot(name: string, expected: string, got: unknown): string {
  return `${name}: expected ${expected}, got ${got}`;
}

/** Returns undefined if `work` throws; if it returns a promise, its rejection is ignored. */
export function ignoreFailure<T>(work: () => T): T | undefined {
  try {
    const result = work();
    Promise.resolve(result).catch(() => {});
    return result;
  } catch {
    return undefined;
  }
}

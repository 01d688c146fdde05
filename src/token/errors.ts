/**
 * The one error class of the project, and the guard that tells it apart.
 *
 * It must stay free of secrets: a message says what was expected and what came instead (a type, a
 * length, a status), never a token, key, secret or DII.
 */

/** What went wrong, for code to branch on; the message is for people. */
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
  | 'closed'
  // The server side only:
  | 'client_error'
  | 'unauthorized'
  | 'rate_limited'
  | 'clock_skew'
  | 'nonce_mismatch';

/** What an error may carry besides its code and message. */
export interface TokenErrorDetails {
  /** HTTP status of the answer, where there was an answer. */
  readonly status?: number | undefined;
  /** How long the service asked to be left alone, ms (`Retry-After`), where it could be read. */
  readonly retryAfterMs?: number | undefined;
  /** What was thrown below. */
  readonly cause?: unknown;
}

/**
 * A failure of the token's life: background ones arrive at `on('error')`, the others reject promises.
 *
 * @example
 * session.getToken().catch((e) => { if (isTokenError(e) && e.code === 'opted_out') showNothing(); });
 */
export class TokenError extends Error {
  declare readonly code: ErrorCode;
  declare readonly status: number | undefined;
  declare readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string = code, { cause, ...details }: TokenErrorDetails = {}) {
    super(message, { cause });
    Object.assign(this, { name: 'TokenError', code, ...details });
  }
}

/** Tell whether `e` is a TokenError. It compares the name, so it works across frames and duplicate bundles. */
export function isTokenError(e: unknown): e is TokenError {
  return (e as Error | undefined)?.name === 'TokenError';
}

/** The form of every message about bad input. `got` is a type, a length or a harmless value, never a token or DII. */
export function expectedGot(name: string, expected: string, got: unknown): string {
  return `${name}: expected ${expected}, got ${got}`;
}

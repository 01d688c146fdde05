/**
 * The logger, and how failures are logged: an outage that is retried, once for each cause, and its end. The message of an error
 * from other code may quote a caller's input or a secret, so it is never logged.
 */

import { isTokenError } from '../../token/index.ts';

/** The destination of log lines, for example a pino logger. Fields contain no DII, token, key or secret. */
export interface Logger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Return the reason of a failure, if it is a TokenError, whose messages contain no secrets. */
export function reasonOf(error: unknown): { readonly reason?: string } {
  return isTokenError(error) ? { reason: error.message } : {};
}

export function failureFields(error: unknown): { readonly error: string; readonly reason?: string } {
  return { error: error instanceof Error ? error.name : typeof error, ...reasonOf(error) };
}

export interface OutageLog {
  /** Log the cause of a failure, unless it was already logged for this outage. */
  failed(error: unknown): void;
  /** Log the end of the outage, if there was one, at the level of its beginning. */
  recovered(): void;
}

interface OutageMessages {
  readonly failure: string;
  readonly recovery: string;
}

/** Bounds the log if every failure has different text. */
const MAX_CAUSES = 10;

/** A reason may contain parts that differ each time, such as seconds or a port. */
function withoutNumbers(reason: string | undefined): string {
  return `${reason}`.replace(/\d+/g, '');
}

/** Create the log of one component. An outage may have several causes: the connection is cut, then the next one is refused. */
export function createOutageLog(logger: Logger | undefined, { failure, recovery }: OutageMessages): OutageLog {
  const causes = new Set<string>();
  return {
    failed: (error) => {
      const fields = reasonOf(error);
      const cause = withoutNumbers(fields.reason);
      if (causes.has(cause) || causes.size === MAX_CAUSES) return;
      causes.add(cause);
      logger?.warn(fields, failure);
    },
    recovered: () => {
      if (causes.size > 0) logger?.warn({}, recovery);
      causes.clear();
    },
  };
}

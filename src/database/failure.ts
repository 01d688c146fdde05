/**
 * Failures of the engines, made fit to be shown.
 *
 * The errors of both engines carry statement, parameters and rows, and some quote a value in their message. What goes
 * on is one line without any of that, and nothing is kept as its cause.
 */

import { isTokenError, TokenError } from '../token/index.ts';

// Words of the pg package that stand without a code. None of them quotes a value.
const PLAIN = /^(Connection|Client|The server|SSL|SASL|timeout|Query read timeout|server|self[- ]signed|unable to)/;

const wordsOf = (error: unknown): string => {
  if (error instanceof AggregateError && error.errors.length > 0) return wordsOf(error.errors[0]);
  if (!(error instanceof Error)) return 'unknown failure';
  const { code, message } = error as Error & { code?: unknown };
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && 'severity' in error)
    // Class 22 is "data exception": its messages quote the data.
    return code.startsWith('22') ? `a value that does not fit (${code})` : `${message} (${code})`;
  if (typeof code === 'string' && /^[A-Z0-9_]+$/.test(code)) {
    const { address, port, syscall } = error as { address?: string; port?: number; syscall?: string };
    const where = address === undefined ? '' : ` ${address}${port === undefined ? '' : `:${port}`}`;
    return `${syscall === undefined ? '' : `${syscall} `}${code}${where}`;
  }
  return PLAIN.test(message) ? message : error.name;
};

/** The error to throw in the place of an engine's own. `what` says what was being done. */
export function failure(error: unknown, what: string): TokenError {
  if (isTokenError(error)) return error;
  return new TokenError('storage_failed', `database: ${what}: ${wordsOf(error)}`);
}

/** Converts errors of the engines, which contain statement, parameters and rows, to TokenErrors of one line without data. */

import { isTokenError, TokenError } from '../token/index.ts';

/** Messages of the `pg` package without a code. None of them quotes a value. */
const SAFE_MESSAGE =
  /^(Connection|Client|The server|SSL|SASL|timeout|Query read timeout|server|self[- ]signed|unable to)/;

/** Node's codes for a certificate that it does not accept. Their messages contain nothing but host names. */
const REFUSED_CERTIFICATE = /^(CERT_|ERR_TLS_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/** The message of `pg` if the server asks for a password and neither the URL nor the environment has one. */
const NO_PASSWORD = /password must be a string/;

function describe(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return describe(error.errors[0]);
  if (!(error instanceof Error)) return 'an unknown failure';
  const { code, message } = error as Error & { code?: unknown };
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && 'severity' in error)
    // Class 22 is "data exception": its messages quote the data.
    return code.startsWith('22') ? `an invalid value (${code})` : `${message} (${code})`;
  if (typeof code === 'string' && REFUSED_CERTIFICATE.test(code)) return `${message} (${code})`;
  if (typeof code === 'string' && /^[A-Z0-9_]+$/.test(code)) {
    const { hostname, address = hostname, port, path, syscall } = error as Error & Record<string, unknown>;
    // The peer of a connection, or a file, such as the one in `sslrootcert`.
    const target = address === undefined || port === undefined ? (address ?? path) : `${address}:${port}`;
    return [syscall, code, target].filter((part) => part !== undefined).join(' ');
  }
  if (NO_PASSWORD.test(message)) return 'the server requires a password, got none: set PGPASSWORD';
  return SAFE_MESSAGE.test(message) ? message : error.name;
}

/** Convert an error of an engine. `action` says what failed: `a statement failed`. A TokenError is returned unchanged. */
export function storageError(error: unknown, action: string): TokenError {
  if (isTokenError(error)) return error;
  return new TokenError('storage_failed', `database: ${action}: ${describe(error)}`);
}

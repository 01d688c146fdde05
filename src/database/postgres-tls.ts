/// <reference types="node" />
/**
 * TLS to PostgreSQL: required for a server on another machine, unless the URL or the environment decides otherwise.
 *
 * `pg` itself sends passwords, opt-outs and hashes in plain text to any host.
 */

import { isLoopback } from '../token/checks.ts';
import { TokenError } from '../token/errors.ts';

// Parameters of the URL that decide about TLS. With `host` the URL names a socket or another host.
const DECIDED = ['ssl', 'sslmode', 'sslcert', 'sslkey', 'sslrootcert', 'sslnegotiation'];

// `pg` decodes the name too, and so connects to the socket that `%2Frun%2Fpostgresql` names. It refuses a malformed one.
const decoded = (hostname: string): string => {
  try {
    return decodeURIComponent(hostname);
  } catch {
    return hostname;
  }
};

const hostOf = ({ hostname, searchParams }: URL): string =>
  searchParams.get('host') ?? (decoded(hostname).toLowerCase() || process.env.PGHOST || 'localhost');

/**
 * Return the options of `pg` for TLS. Empty if the database is on this machine, or if `sslmode` or another parameter of the
 * URL, or `PGSSLMODE`, decides.
 */
export function tlsOptions(location: string): { readonly ssl?: true } {
  const url = new URL(location);
  if (DECIDED.some((name) => url.searchParams.has(name)) || process.env.PGSSLMODE) return {};
  const host = hostOf(url);
  // A path is the folder of a Unix socket.
  return host.startsWith('/') || host === '::1' || isLoopback(host) ? {} : { ssl: true };
}

const REFUSED = /does not support SSL|certificate|altnames|CERT_|SELF_SIGNED/i;
const REMEDY =
  'a database on another machine is reached by TLS with a certificate that is checked: add sslrootcert=FILE to its URL for an authority of your own, or sslmode=disable in a network that you trust';

/** Add the remedy to an error of TLS. */
export function withTlsRemedy(error: TokenError): TokenError {
  return REFUSED.test(error.message) ? new TokenError('storage_failed', `${error.message}; ${REMEDY}`) : error;
}

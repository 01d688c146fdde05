/// <reference types="node" />
/**
 * TLS to PostgreSQL: required for a server on another machine, unless the URL or the environment specifies otherwise.
 *
 * By default, `pg` sends passwords, opt-outs and hashes in plain text to any host.
 */

import { isLoopback } from '../token/checks.ts';
import { TokenError } from '../token/errors.ts';

// URL parameters that specify TLS. The parameter `host` specifies a socket or another host.
const DECIDED = ['ssl', 'sslmode', 'sslcert', 'sslkey', 'sslrootcert', 'sslnegotiation'];

// `pg` also decodes the name, and so connects to the socket in `%2Frun%2Fpostgresql`. It rejects a malformed name.
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
 * Return the TLS options of `pg`. They are empty if the database is on this machine, or if `sslmode`, another URL parameter or
 * `PGSSLMODE` specifies TLS.
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
  'connections to another machine use TLS and verify the certificate: for your own certificate authority, add sslrootcert=FILE to the URL; in a network that you trust, add sslmode=disable';

/** Add the remedy to a TLS error. */
export function withTlsRemedy(error: TokenError): TokenError {
  return REFUSED.test(error.message) ? new TokenError('storage_failed', `${error.message}; ${REMEDY}`) : error;
}

/// <reference types="node" />
/**
 * TLS to PostgreSQL on another machine, unless turned off with exactly `sslmode=disable`. By default, `pg` sends passwords,
 * opt-outs and hashes in plain text, and parameters with no or an unknown value turn TLS off: so what counts is the client that
 * it creates.
 */

import { isLoopback } from '../../token/checks.ts';
import { TokenError } from '../../token/errors.ts';
import { storageError } from '../engine-errors.ts';
import type { PgPackage } from '../packages.ts';

function isDisabled(location: string): boolean {
  const given = [...new URL(location).searchParams].filter(([name]) => name.startsWith('ssl')).join();
  return given === 'sslmode,disable' || (given === '' && process.env.PGSSLMODE === 'disable');
}

/** A path is the folder of a Unix socket. */
function isThisMachine(host: string): boolean {
  return host.startsWith('/') || host === '::1' || isLoopback(host.toLowerCase());
}

function clientOf(pg: PgPackage, config: object): { readonly host: string; readonly ssl: unknown } {
  try {
    return new pg.Client(config);
  } catch (error) {
    throw storageError(error, 'cannot connect to PostgreSQL');
  }
}

const REMEDY =
  'connections to another machine use TLS and verify the certificate: for your own certificate authority, add sslrootcert=FILE to the URL; in a network that you trust, add sslmode=disable';

/** @throws {TokenError} `storage_failed` if `pg` would connect to another machine in plain text without `sslmode=disable`. */
export function tlsOptions(location: string, pg: PgPackage): { readonly ssl?: true } {
  const byDefault = process.env.PGSSLMODE ? {} : ({ ssl: true } as const);
  const { host, ssl } = clientOf(pg, { connectionString: location, ...byDefault });
  const isLocal = isThisMachine(host);
  // `pg` also passes on a string such as `yes`, and then throws in a listener.
  if (typeof ssl === 'string' || !(ssl || isLocal || isDisabled(location)))
    throw new TokenError(
      'storage_failed',
      `database: cannot connect to PostgreSQL: expected TLS, or exactly sslmode=disable, got parameters of the URL or a PGSSLMODE that specify neither; ${REMEDY}`,
    );
  return isLocal ? {} : byDefault;
}

const REFUSED = /does not support SSL|certificate|altnames|CERT_|SELF_SIGNED/i;

export function withTlsRemedy(error: TokenError): TokenError {
  return REFUSED.test(error.message) ? new TokenError('storage_failed', `${error.message}; ${REMEDY}`) : error;
}

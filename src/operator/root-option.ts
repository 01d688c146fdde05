/** Checks the root secret and where it is kept. */

import { typeFault } from '../token/checks.ts';
import { expectedGot } from '../token/errors.ts';
import type { Environment } from './crypto/secrets.ts';
import { secretBytes, throwTypeIf } from './option-checks.ts';

interface RootOptions {
  readonly rootSecret?: string | Uint8Array | undefined;
  readonly storeRootSecret?: boolean | undefined;
  readonly database?: string | undefined;
}

/**
 * Check `rootSecret` and `storeRootSecret`.
 *
 * @returns the root secret, or undefined if the database keeps it; and a warning to log at the start, if there is one.
 * @throws {TypeError | RangeError} that names the option.
 */
export function rootOptions({ rootSecret, storeRootSecret, database }: RootOptions, environment: Environment) {
  throwTypeIf(typeFault('storeRootSecret', 'boolean', storeRootSecret ?? false));
  if (storeRootSecret && database === undefined)
    throw new RangeError('storeRootSecret: expected the database option with it, got none');
  const isProduction = environment === 'production';
  if (rootSecret !== undefined) {
    const root = secretBytes('rootSecret', rootSecret);
    // A placeholder that was never replaced. Tests may use one in integration.
    if (isProduction && root.every((byte) => byte === root[0]))
      throw new RangeError(expectedGot('rootSecret', '32 random bytes', '32 equal bytes'));
    return { root, rootWarning: undefined };
  }
  const inDatabase = database !== undefined;
  const where = inDatabase
    ? 'in the database, beside the data that it protects'
    : 'only in this process, and is lost with it';
  return {
    root: inDatabase ? undefined : crypto.getRandomValues(new Uint8Array(32)),
    rootWarning:
      isProduction && !storeRootSecret
        ? `rootSecret: none from a file or the environment, and no storeRootSecret: the root secret is kept ${where}`
        : undefined,
  };
}

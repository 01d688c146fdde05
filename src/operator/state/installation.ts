/**
 * The settings that the first start on a database fixes: another root secret, environment, scope or rotation period would change
 * every ID, and recorded opt-outs would no longer be found. A given root secret is stored only as its fingerprint.
 */

import { type Database, durableTransaction } from '../../database/index.ts';
import type { Bytes } from '../../token/bytes.ts';
import { TokenError } from '../../token/index.ts';
import { createSecrets, type Environment, type Scope } from '../crypto/secrets.ts';
import type { OperatorSettings } from '../options/options.ts';

export interface StoredInstallation {
  readonly environment: Environment;
  readonly scope: Scope;
  readonly period: number;
  readonly fingerprint: string;
  readonly root: Bytes | null;
  readonly epochAt: number;
}

/** Read the settings that the first start fixed; undefined if no operator has ever started on this database. */
export async function readInstallation(database: Database): Promise<StoredInstallation | undefined> {
  const [stored] = await database.query<StoredInstallation>(
    `SELECT environment, scope, rotation_period AS period, fingerprint, root_secret AS root, epoch_at AS "epochAt"
      FROM tessera_operator`,
  );
  return stored;
}

function requireSame(name: string, stored: unknown, got: unknown): void {
  if (stored !== got)
    throw new TokenError(
      'storage_failed',
      `database: expected ${name} ${stored}, with which this database was created, got ${got}`,
    );
}

/**
 * Fix the settings of a new database, or check them. Returns the root secret and the operator's first instant, epoch ms.
 *
 * @throws {TokenError} `storage_failed` for other settings, or without a root secret that is not stored.
 */
export async function openInstallation(
  database: Database,
  { root, environment, scope, rotationPeriod, now }: OperatorSettings,
): Promise<{ root: Bytes; epochAt: number }> {
  const fingerprintOf = (secret: Bytes): string => createSecrets(secret, environment, scope).fingerprint;
  // Later starts write nothing, so that a node can also start on a database that is read-only after a failover.
  let stored = await readInstallation(database);
  if (!stored) {
    const candidate = root ?? crypto.getRandomValues(new Uint8Array(32));
    // If several nodes start at once, the first insert wins and all nodes read its row.
    await durableTransaction(database, ({ query }) =>
      query(
        `INSERT INTO tessera_operator (environment, scope, rotation_period, fingerprint, root_secret, epoch_at)
          VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
        [environment, scope, rotationPeriod, fingerprintOf(candidate), root ? null : candidate, now()],
      ),
    );
    stored = await readInstallation(database);
  }
  if (!stored) throw new TokenError('storage_failed', 'database: expected one row in tessera_operator, got none');
  requireSame('environment', stored.environment, environment);
  requireSame('scope', stored.scope, scope);
  requireSame('rotation period', stored.period, rotationPeriod);
  if (root) requireSame('a root secret with the fingerprint', stored.fingerprint, fingerprintOf(root));
  else if (!stored.root)
    throw new TokenError(
      'storage_failed',
      'database: expected the root secret with which this database was created, got none',
    );
  return { root: root ?? stored.root!, epochAt: stored.epochAt };
}

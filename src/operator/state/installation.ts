/**
 * The one operator of a database: what its first start has fixed for ever, and every later start must bring along.
 *
 * Another root secret, environment, scope or period would change every ID in silence, and with the IDs forget who has
 * opted out. So all four are kept, the root secret by its fingerprint, or itself where nobody gave one.
 */

import type { Database } from '../../database/contract.ts';
import type { Bytes } from '../../token/bytes.ts';
import { TokenError } from '../../token/index.ts';
import type { Environment, Scope } from '../crypto/secrets.ts';
import { createSecrets } from '../crypto/secrets.ts';

/** What a start brings along. */
export interface Newcomer {
  /** Undefined: take the one that is kept, or make it. */
  readonly root: Bytes | undefined;
  readonly environment: Environment;
  readonly scope: Scope;
  /** Whole seconds. */
  readonly rotationPeriod: number;
  /** The present instant, epoch ms: the operator's first where there was none before. */
  readonly now: number;
}

interface Kept {
  readonly environment: string;
  readonly scope: string;
  readonly period: number;
  readonly fingerprint: string;
  readonly root: Bytes | null;
  readonly epochAt: number;
}

const agree = (what: string, kept: unknown, got: unknown): void => {
  if (kept !== got)
    throw new TokenError('storage_failed', `database: it was made with ${what} ${kept}, and keeps it: got ${got}`);
};

/**
 * Move in: be the first, or be as the first one was.
 *
 * @returns the root secret in force, and the operator's first instant, epoch ms.
 * @throws {TokenError} `storage_failed`: made with something else, or with a root secret that was not given now.
 */
export async function moveIn(
  database: Database,
  { root, environment, scope, rotationPeriod, now }: Newcomer,
): Promise<{ root: Bytes; epochAt: number }> {
  const mine = root ?? crypto.getRandomValues(new Uint8Array(32));
  const { fingerprint } = createSecrets(mine, environment, scope);
  // Of several that come at once the first one's row stands, and all read it.
  await database.query(
    `INSERT INTO tessera_operator (environment, scope, rotation_period, fingerprint, root_secret, epoch_at)
      VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
    [environment, scope, rotationPeriod, fingerprint, root ? null : mine, now],
  );
  const [kept] = await database.query<Kept>(
    `SELECT environment, scope, rotation_period AS period, fingerprint, root_secret AS root, epoch_at AS "epochAt"
      FROM tessera_operator`,
  );
  if (!kept) throw new TokenError('storage_failed', 'database: the row of its operator is gone');
  agree('environment', kept.environment, environment);
  agree('scope', kept.scope, scope);
  agree('rotation period', kept.period, rotationPeriod);
  if (root) agree('a root secret of fingerprint', kept.fingerprint, fingerprint);
  else if (!kept.root)
    throw new TokenError(
      'storage_failed',
      'database: it was made with a root secret of its owner: give the same one again',
    );
  return { root: root ?? kept.root!, epochAt: kept.epochAt };
}

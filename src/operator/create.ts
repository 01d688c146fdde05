/** Creates operators with the project's database engines. All other files of the operator also run without Node. */

import type { Database } from '../database/index.ts';
import { type Administration, type AdministrationOptions, administrationOf } from './administration/administration.ts';
import { type Operator, operatorFrom } from './operator.ts';
import { requireString } from './options/checks.ts';
import type { OperatorOptions } from './options/options.ts';
import { resolveOptions } from './options/resolve.ts';

/** A database that hangs must not hold requests longer than their callers wait. */
const STATEMENT_TIMEOUT_MS = 5000;

async function open(location: string): Promise<Database> {
  return (await import('../database/database.ts')).openDatabase(location, { statementTimeoutMs: STATEMENT_TIMEOUT_MS });
}

/**
 * Create an operator, at once: requests wait until the state is open. With a database, await `ready` to detect failures.
 *
 * @throws {TypeError | RangeError} for an option with the wrong type, an unknown name, or a value out of range.
 * @example
 * const operator = createOperator({ apiKey, clientSecret, siteId: 101, roles: ['GENERATOR'], rootSecret });
 * const response = await operator.fetch(new Request('http://localhost/v2/token/refresh', { method: 'POST', body: refreshToken }));
 */
export function createOperator(options: OperatorOptions = {}): Operator {
  return operatorFrom(resolveOptions(options), open);
}

/**
 * Open the administration of an operator: its keys and participants, in its database. Nodes on PostgreSQL may be running.
 *
 * @throws {TypeError | RangeError} for an option with the wrong type or out of range.
 * @throws {TokenError} `storage_failed` if the database cannot be opened, or no operator with this root secret has started on it.
 * @example
 * const administration = await openAdministration({ database: 'postgres://db.example/operator', rootSecret });
 * const { apiKey, clientSecret } = await administration.participants.add({ siteId: 102 });
 * await administration.close();
 */
export async function openAdministration(options: AdministrationOptions): Promise<Administration> {
  requireString('database', options.database);
  const database = await open(options.database);
  try {
    return await administrationOf(database, options);
  } catch (error) {
    await database.close();
    throw error;
  }
}

/**
 * Creates and administers operators with the project's own database engines, which are imported only if an option requires one.
 *
 * Only this file of the operator uses the engines, so all others also compile and run without Node.
 */

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
 * Create an operator.
 *
 * It returns at once; requests wait until the state is open. With a database, await `ready` to detect failures.
 *
 * @param options  every option has a default: see {@link OperatorOptions}.
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
 * @param options  `database` as for the operator; `rootSecret` to add or change participants, unless the database stores it.
 * @throws {TypeError | RangeError} for an option with the wrong type or out of range.
 * @throws {TokenError} `storage_failed` if the database cannot be opened, if no operator has been started on it, or only one with
 *   another root secret.
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

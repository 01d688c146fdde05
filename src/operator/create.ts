/**
 * Creates an operator with the project's own database engines, which are imported only if an option asks for one.
 *
 * It is the only file of the operator that reaches the engines, so all others also compile and run without Node.
 */

import type { Operator } from './operator.ts';
import { operatorFrom } from './operator.ts';
import type { OperatorOptions } from './options.ts';
import { resolveOptions } from './options.ts';

// A database that hangs must not hold requests longer than their callers wait.
const STATEMENT_TIMEOUT_MS = 5000;

/**
 * Create an operator.
 *
 * It returns at once; requests wait until the state is open. With a database, await `ready` to learn of failures.
 *
 * @param options  every option has a default: see {@link OperatorOptions}.
 * @throws {TypeError | RangeError} an option with a wrong type, an unknown name, or a value out of range.
 * @example
 * const operator = createOperator({ apiKey, clientSecret, siteId: 101, roles: ['GENERATOR'], rootSecret });
 * const response = await operator.fetch(new Request('http://localhost/v2/token/refresh', { method: 'POST', body: refreshToken }));
 */
export function createOperator(options: OperatorOptions = {}): Operator {
  return operatorFrom(resolveOptions(options), async (place) =>
    (await import('../database/database.ts')).openDatabase(place, { statementTimeoutMs: STATEMENT_TIMEOUT_MS }),
  );
}

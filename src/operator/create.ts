/**
 * Creating an operator: the one file of this room that leads to the engines of the database, which are loaded only when
 * an option asks for one.
 */

import type { Operator } from './operator.ts';
import { operatorOf } from './operator.ts';
import type { OperatorOptions } from './options.ts';
import { resolveOptions } from './options.ts';

/**
 * Create an operator.
 *
 * @throws {TypeError | RangeError} a wrong option, by name.
 * @example
 * const operator = createOperator({ apiKey, clientSecret, siteId: 101, roles: ['GENERATOR'], rootSecret });
 * const response = await operator.fetch(new Request('http://localhost/v2/token/refresh', { method: 'POST', body: refreshToken }));
 */
export function createOperator(options: OperatorOptions = {}): Operator {
  return operatorOf(resolveOptions(options), async (place) =>
    (await import('../database/database.ts')).openDatabase(place),
  );
}

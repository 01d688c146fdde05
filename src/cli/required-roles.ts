/** The roles that a request of the client requires, as its endpoint in the operator declares them. */

import { SEALED_ENDPOINTS } from '../operator/endpoints/sealed-endpoints.ts';
import { PATHS } from '../server/paths.ts';

/**
 * Name the roles of which a request requires one: `MAPPER, SHARER or ID_READER`. Returns undefined if it requires none.
 *
 * @param method  the name of the client's method, with which its error messages begin.
 */
export function requiredRoles(method: string): string | undefined {
  const path = new Map<string, string>(Object.entries(PATHS)).get(method);
  const endpoint = SEALED_ENDPOINTS.find((one) => one.path === path);
  return endpoint?.roles.join(', ').replace(/, (?=\w+$)/, ' or ');
}

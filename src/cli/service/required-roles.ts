/** The roles that a request of the client requires, as its endpoint in the operator declares them. */

import { SEALED_ENDPOINTS } from '../../operator/endpoints/sealed-endpoints.ts';
import { PATHS } from '../../server/call/paths.ts';

/** `MAPPER, SHARER or ID_READER`, for the client's `method`, with which its error messages begin; undefined if it needs none. */
export function requiredRoles(method: string): string | undefined {
  const path = new Map<string, string>(Object.entries(PATHS)).get(method);
  const endpoint = SEALED_ENDPOINTS.find((one) => one.path === path);
  return endpoint?.roles.join(', ').replace(/, (?=\w+$)/, ' or ');
}

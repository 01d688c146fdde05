/** Checks the option `sharing`: which sites may decrypt the tokens of which other sites. */

import { typeFault } from '../token/checks.ts';
import { MAX_SITE_ID } from './crypto/keys.ts';
import { integer, throwTypeIf } from './option-checks.ts';

/**
 * Check the option `sharing`.
 *
 * @returns site ID of the owner of tokens -> site IDs that may decrypt them.
 * @throws {TypeError | RangeError} that names the site.
 */
export function sharingOption(
  sharing: Readonly<Record<number, readonly number[]>> = {},
): ReadonlyMap<number, ReadonlySet<number>> {
  throwTypeIf(typeFault('sharing', 'object', sharing));
  return new Map(
    Object.entries(sharing).map(([owner, readers]) => {
      const siteId = integer('sharing', /^\d+$/.test(owner) ? Number(owner) : owner, 1, MAX_SITE_ID);
      throwTypeIf(typeFault(`sharing.${owner}`, 'array', readers));
      return [siteId, new Set(readers.map((reader) => integer(`sharing.${owner}`, reader, 1, MAX_SITE_ID)))];
    }),
  );
}

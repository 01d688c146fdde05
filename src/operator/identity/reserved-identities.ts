/**
 * Reserved identities: addresses and numbers of fixed behaviour, for testers of an integration.
 *
 * They are told by first-level hash, so their hashed forms behave the same.
 *
 * | purpose | generate | map | refresh |
 * |---|---|---|---|
 * | validate | success, whatever is recorded | mapped | success |
 * | optout | optout | optout | optout |
 * | refreshOptout | success | mapped | optout |
 */

import { toB64 } from '../../token/bytes.ts';
import { hashDii } from '../../token/index.ts';
import type { RawIds } from './raw-ids.ts';

/** What a reserved identity is for. */
export type Purpose = 'validate' | 'optout' | 'refreshOptout';

const IDENTITIES: Record<Purpose, readonly string[]> = {
  validate: ['validate@example.com', '+12345678901'],
  optout: ['optout@example.com', '+00000000000'],
  refreshOptout: ['refresh-optout@example.com', '+00000000002'],
};

/** Purpose by first-level hash (base64); undefined for everyone else. */
export function reservedIdentities(rawIds: RawIds): ReadonlyMap<string, Purpose> {
  return new Map(
    (Object.keys(IDENTITIES) as Purpose[]).flatMap((purpose) =>
      IDENTITIES[purpose].map((dii) => [toB64(rawIds.firstLevel(hashDii(dii))), purpose] as const),
    ),
  );
}

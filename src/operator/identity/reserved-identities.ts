/**
 * Identities for tests of an integration (docs/protocol.md, "Opt-out"), known by first-level hash, so their hashed forms behave
 * the same.
 *
 * | purpose | generate | map | refresh |
 * |---|---|---|---|
 * | validate | success, even after an opt-out | mapped | success |
 * | optOut | optout | optout | optout |
 * | refreshOptOut | success | mapped | optout |
 */

import { toB64 } from '../../token/bytes.ts';
import { hashDii } from '../../token/index.ts';
import type { RawIds } from './raw-ids.ts';

export type ReservedPurpose = 'validate' | 'optOut' | 'refreshOptOut';

const IDENTITIES: Record<ReservedPurpose, readonly string[]> = {
  validate: ['validate@example.com', '+12345678901'],
  optOut: ['optout@example.com', '+00000000000'],
  refreshOptOut: ['refresh-optout@example.com', '+00000000002'],
};

/** Return the purpose of each reserved identity by its first-level hash (base64). */
export function reservedIdentities(rawIds: RawIds): ReadonlyMap<string, ReservedPurpose> {
  return new Map(
    (Object.keys(IDENTITIES) as ReservedPurpose[]).flatMap((purpose) =>
      IDENTITIES[purpose].map((dii) => [toB64(rawIds.firstLevel(hashDii(dii))), purpose] as const),
    ),
  );
}

/**
 * Finds the participant of a request, and limits what unknown API keys cost: a query each. A key not accepted before counts for
 * its address, so that one address cannot use up the look-ups, and for the process.
 */

import { sha256 } from '@noble/hashes/sha2.js';
import { encodeB64 } from '../crypto/base64.ts';
import { utf8Bytes } from '../crypto/node-builtins.ts';
import type { Participant, Participants } from '../identity/participants.ts';
import type { AddressLimit } from './caller-limits.ts';
import type { RateLimit } from './rate-limit.ts';

/** Permitted look-ups per second of keys that this process has not accepted before. */
export const MAX_NEW_LOOKUPS = 1000;
const MAX_ACCEPTED = 10_000;

/**
 * @param addresses  counts the requests without a participant, and the first look-up of a participant. Undefined: no limit.
 * @param lookups    counts the look-ups of keys that have not been accepted before. Undefined: no limit.
 */
export function createParticipantLookup(
  { find }: Pick<Participants, 'find'>,
  addresses: AddressLimit | undefined,
  lookups: RateLimit | undefined,
) {
  // Digests, so that no API key stays in memory. `accepted` is in order of use, oldest first.
  const accepted = new Set<string>();
  const pending = new Map<string, Promise<Participant | undefined>>();

  const lookUp = async (authorization: string, digest: string): Promise<Participant | undefined> => {
    // If this rejects, nothing is known about the key, and an accepted key stays accepted.
    const participant = await find(authorization);
    accepted.delete(digest);
    if (participant) accepted.add(digest);
    if (accepted.size > MAX_ACCEPTED) accepted.delete(accepted.values().next().value!);
    return participant;
  };
  const refusal = (waitMs: number | undefined) => (waitMs === undefined ? undefined : { waitMs });

  /** Resolves with undefined if there is no participant, or how long the caller must wait, ms. */
  return async (
    authorization: string | undefined,
    address?: string | undefined,
  ): Promise<Participant | { readonly waitMs: number } | undefined> => {
    if (authorization === undefined) return refusal(addresses?.take(address));
    const digest = encodeB64(sha256(utf8Bytes(authorization)));
    // Parallel first requests with one key are one look-up, and count once if the key is known.
    const known = accepted.has(digest) ? lookUp(authorization, digest) : pending.get(digest);
    if (known) return (await known) ?? refusal(addresses?.take(address));
    const refused = refusal(addresses?.take(address) ?? lookups?.take('all'));
    if (refused) return refused;
    const looking = lookUp(authorization, digest).finally(() => pending.delete(digest));
    pending.set(digest, looking);
    return looking;
  };
}

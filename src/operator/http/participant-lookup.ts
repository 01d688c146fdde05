/**
 * Finds the participant of a request, and limits the cost of unknown API keys, each of which would cause a database query.
 *
 * An unknown key is remembered for half a second. Once there are too many unknown keys in one second, keys that this process has
 * not accepted before are rejected without a query. The limit of the address comes first, so that one address cannot use up these
 * look-ups. `identity/participants.ts` caches known participants.
 */

import { sha256 } from '@noble/hashes/sha2.js';
import { encodeB64 } from '../crypto/base64.ts';
import { utf8Bytes } from '../crypto/node-builtins.ts';
import type { Participant, Participants } from '../identity/participants.ts';
import type { AddressLimit } from './caller-limits.ts';

/** How long an unknown key is remembered, ms. After that time, every node knows a participant who was added. */
export const UNKNOWN_KEY_MS = 500;
/** Permitted look-ups of unknown keys in one second, for the whole process. */
export const MAX_UNKNOWN_LOOKUPS = 1000;
const MAX_ACCEPTED = 10_000;
const WINDOW_MS = 1000;

/** The participant of a request; undefined if there is none; or how long the caller must wait, ms. */
export type LookupResult = Participant | { readonly waitMs: number } | undefined;

/** Finds the participant of an `Authorization` header from an address. */
export type ParticipantLookup = (
  authorization: string | undefined,
  address?: string | undefined,
) => Promise<LookupResult>;

/**
 * Create a look-up.
 *
 * @param addresses  counts the requests without a participant. Undefined: no limit.
 * @param now        a clock that never goes back, ms.
 * @param maxUnknown  permitted look-ups of unknown keys in one second. Infinity if a look-up needs no query.
 */
export function createParticipantLookup(
  { find }: Pick<Participants, 'find'>,
  addresses: AddressLimit | undefined,
  now: () => number = () => performance.now(),
  maxUnknown = MAX_UNKNOWN_LOOKUPS,
): ParticipantLookup {
  // Digests, so that no API key stays in memory. `accepted` is in order of use, oldest first.
  const unknownUntil = new Map<string, number>();
  const accepted = new Set<string>();
  const pending = new Map<string, Promise<Participant | undefined>>();
  let lookups = 0;
  let windowEndsAt = Number.NEGATIVE_INFINITY;

  const startWindow = (at: number): void => {
    lookups = 0;
    windowEndsAt = at + WINDOW_MS;
    for (const [digest, until] of unknownUntil) if (until <= at) unknownUntil.delete(digest);
  };

  const count = (address: string | undefined): { readonly waitMs: number } | undefined => {
    const waitMs = addresses?.take(address);
    return waitMs === undefined ? undefined : { waitMs };
  };

  return async (authorization, address) => {
    if (authorization === undefined) return count(address);
    const at = now();
    if (at >= windowEndsAt) startWindow(at);
    const digest = encodeB64(sha256(utf8Bytes(authorization)));
    if ((unknownUntil.get(digest) ?? at) > at) return count(address);
    const isAccepted = accepted.has(digest);
    // Parallel first requests with one key are one look-up, and count once if the key is known.
    const running = isAccepted ? undefined : pending.get(digest);
    if (running) return (await running) ?? count(address);
    const refusal = isAccepted ? undefined : count(address);
    if (refusal) return refusal;
    if (!isAccepted && lookups >= maxUnknown) return { waitMs: windowEndsAt - at };
    // Counted before the answer is known, because parallel look-ups must not exceed the limit.
    if (!isAccepted) lookups++;
    const countedUntil = windowEndsAt;
    // If this rejects, nothing is known about the key, and an accepted key stays accepted.
    const looking = find(authorization);
    if (!isAccepted) pending.set(digest, looking);
    const participant = await looking.finally(() => pending.delete(digest));
    accepted.delete(digest);
    if (!participant) {
      unknownUntil.set(digest, at + UNKNOWN_KEY_MS);
      return isAccepted ? count(address) : undefined;
    }
    if (!isAccepted) addresses?.giveBack(address);
    // A later window has not counted it.
    if (!isAccepted && countedUntil === windowEndsAt) lookups--;
    accepted.add(digest);
    if (accepted.size > MAX_ACCEPTED) accepted.delete(accepted.values().next().value!);
    return participant;
  };
}

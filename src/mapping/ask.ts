/**
 * Asking the service for the mappings of keys, by version 3 or 2, and what its answers make of a stored row.
 *
 * It knows nothing of the store. The step after is `rows.ts`, which writes the answers.
 */

import type { MapResult, MapResultV2 } from '../server/index.ts';
import type { ServiceClock } from './clock.ts';
import type { MappingClient, MappingState } from './contract.ts';
import { diiOf, type Key } from './key.ts';

/** A row as an answer makes it. Opted-out and invalid ones have lost whatever raw ID there was. */
export interface Answer extends Key {
  readonly state: Exclude<MappingState, 'pending'>;
  readonly rawId: string | null;
  readonly previousRawId: string | null;
  readonly remapAt: number | null;
  readonly bucketId: string | null;
  readonly answeredAt: number;
  /** See `tables.ts`. */
  readonly dueAt: number | null;
  /** The service's word for an invalid one. */
  readonly reason?: string;
}

/** What has come of asking for keys: the answers of whole batches, and what ended the asking before its end. */
export interface Asked {
  readonly answers: readonly Answer[];
  readonly failure?: { readonly error: unknown };
}

/** Ask for keys, in their order. Never rejects: the batches before a failed one count. */
export type Ask = (keys: readonly Key[], signal: AbortSignal) => Promise<Asked>;

const NOTHING = { rawId: null, previousRawId: null, remapAt: null, bucketId: null, dueAt: null };

const answerOf = ({ type, hash }: Key, result: MapResult | MapResultV2, at: number): Answer => {
  const { answeredAt = at } = result;
  const key = { type, hash };
  if (result.status === 'optout') return { ...key, ...NOTHING, state: 'optedOut', answeredAt };
  if (result.status === 'unmapped') return { ...key, ...NOTHING, state: 'invalid', answeredAt, reason: result.reason };
  const { rawId } = result;
  const mapped = { ...key, ...NOTHING, state: 'mapped', rawId, answeredAt } as const;
  if ('bucketId' in result) return { ...mapped, bucketId: result.bucketId };
  const { previousRawId, remapAt } = result;
  // A service that names an instant which has passed is asked again by the next run, not by this one for ever.
  return { ...mapped, previousRawId, remapAt, dueAt: Math.max(remapAt, answeredAt + 1) };
};

/** Ask through `client`; `clock` hears each answer. */
export function createAsk(client: MappingClient, version: 2 | 3, clock: ServiceClock): Ask {
  return async (keys, signal) => {
    const answers: Answer[] = [];
    const diis = keys.map(diiOf);
    const results = version === 3 ? client.mapIdentities(diis, { signal }) : client.mapIdentitiesV2(diis, { signal });
    try {
      for await (const batch of results.batches()) {
        const [first] = batch;
        if (first?.answeredAt !== undefined) clock.hear(first.answeredAt);
        const now = clock.at(clock.local());
        for (const result of batch) answers.push(answerOf(keys[answers.length]!, result, now));
      }
      return { answers };
    } catch (error) {
      return { answers, failure: { error } };
    }
  };
}

/** Requests mappings of keys from the service, version 3 or 2, and converts them to rows, which `write-answers.ts` writes. */

import type { MapResult, MapResultV2 } from '../../server/index.ts';
import { expectedGot } from '../../token/errors.ts';
import type { MappingClient, MappingState } from '../types.ts';
import { diiOf, type Key } from './key.ts';
import type { ServiceClock } from './service-clock.ts';

/** A row with the answer of the service. Opted-out and invalid rows hold no raw ID. */
export interface AnsweredRow extends Key {
  readonly state: MappingState;
  readonly rawId: string | null;
  readonly previousRawId: string | null;
  readonly remapAt: number | null;
  readonly bucketId: string | null;
  readonly answeredAt: number;
  /** Why the row is invalid, in the words of the service. */
  readonly reason?: string | undefined;
}

/** The rows of the batches before the first failure, and that failure. */
export interface AnsweredRows {
  /** `rows[i]` answers the key at `i`. */
  readonly rows: readonly AnsweredRow[];
  /** The latest time of an answer so far, by the service's clock, epoch ms. */
  readonly latestAt: number;
  readonly failure?: { readonly error: unknown };
}

/** Request mappings of keys, in their order. Never rejects: the batches before a failed one count. */
export type RequestMappings = (keys: readonly Key[], signal: AbortSignal) => Promise<AnsweredRows>;

// The members of rows are written out: to spread objects took most of the time of this file.

function unmappedRow(
  { type, hash }: Key,
  state: 'optedOut' | 'invalid',
  answeredAt: number,
  reason?: string,
): AnsweredRow {
  return { type, hash, state, rawId: null, previousRawId: null, remapAt: null, bucketId: null, answeredAt, reason };
}

function rowOf(key: Key, result: MapResult | MapResultV2, now: number): AnsweredRow {
  const { answeredAt = now } = result;
  if (result.status === 'optout') return unmappedRow(key, 'optedOut', answeredAt);
  if (result.status === 'unmapped') return unmappedRow(key, 'invalid', answeredAt, result.reason);
  const { rawId } = result;
  const isV2 = 'bucketId' in result;
  const remapAt = isV2 ? null : result.remapAt;
  return {
    type: key.type,
    hash: key.hash,
    state: 'mapped',
    rawId,
    previousRawId: isV2 ? null : result.previousRawId,
    remapAt,
    bucketId: isV2 ? result.bucketId : null,
    answeredAt,
  };
}

function wrongCount(expected: number, got: number | string): TypeError {
  return new TypeError(expectedGot('client', `a result for each of ${expected} DII`, got));
}

/** Create the function that requests mappings through `client`. `clock` learns the service's time from the answers. */
export function createMappingRequest(client: MappingClient, version: 2 | 3, clock: ServiceClock): RequestMappings {
  return async (keys, signal) => {
    const rows: AnsweredRow[] = [];
    const diis = keys.map(diiOf);
    try {
      const results = version === 3 ? client.mapIdentities(diis, { signal }) : client.mapIdentitiesV2(diis, { signal });
      for await (const batch of results.batches()) {
        const [first] = batch;
        if (first?.answeredAt !== undefined) clock.observe(first.answeredAt);
        const now = clock.now();
        for (const result of batch) {
          const key = keys[rows.length];
          if (!key) throw wrongCount(keys.length, 'more');
          rows.push(rowOf(key, result, now));
        }
      }
      if (rows.length < keys.length) throw wrongCount(keys.length, rows.length);
      return { rows, latestAt: clock.latestAt };
    } catch (error) {
      return { rows, latestAt: clock.latestAt, failure: { error } };
    }
  };
}

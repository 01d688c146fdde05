/** Maps a list of identifiers at one instant: the common part of both versions of the mapping endpoint. */

import { type DiiForm, hashOf } from '../../token/index.ts';
import { encodeB64 } from '../crypto/base64.ts';
import type { MappedId } from '../identity/raw-ids.ts';
import type { MappingOutcome } from '../ports/metrics.ts';
import type { Service } from '../service.ts';
import type { EndpointCall } from './endpoint.ts';
import { clientError, type EndpointResult } from './result.ts';

/** The raw ID of an identifier, or the reason why it has none, in the wording of the wire format. */
export type MapResult = MappedId | 'optout' | 'invalid identifier';

/** An identifier and its form. */
export interface Identifier {
  readonly form: DiiForm;
  readonly text: string;
}

/** Return the error for a batch of more than `maxBatchSize` identifiers; undefined if it is not too large. */
export function batchSizeError(count: number, { settings }: Service): EndpointResult | undefined {
  return count > settings.maxBatchSize
    ? clientError(`Request payload is too large: expected at most ${settings.maxBatchSize} identifiers, got ${count}`)
    : undefined;
}

/** Read an element of a list as a string. Numbers and booleans are converted; null, objects and arrays are rejected. */
export function stringElement(element: unknown): string | undefined {
  if (typeof element === 'string') return element;
  return element === null || typeof element === 'object' ? undefined : String(element);
}

/** Map identifiers at the time of the call. Returns one result for each, in their order. */
export async function mapBatch(
  identifiers: readonly Identifier[],
  { now, pause }: Pick<EndpointCall, 'now' | 'pause'>,
  version: 'v2' | 'v3',
  { rawIds, optOuts, metrics }: Service,
): Promise<MapResult[]> {
  const users: (Uint8Array | undefined)[] = [];
  const validUsers: string[] = [];
  for (const { form, text } of identifiers) {
    const hash = hashOf(form, text);
    const user = hash && rawIds.firstLevel(hash);
    users.push(user);
    if (user) validUsers.push(encodeB64(user));
    await pause();
  }
  // One query for the whole batch.
  const optedOut = await optOuts.areOptedOut(validUsers);
  const counts: Record<MappingOutcome, number> = { mapped: 0, optout: 0, invalid: 0 };
  let validCount = 0;
  const resultOf = (user: Uint8Array | undefined): MapResult => {
    if (!user) {
      counts.invalid++;
      return 'invalid identifier';
    }
    if (optedOut[validCount++]) {
      counts.optout++;
      return 'optout';
    }
    counts.mapped++;
    return rawIds.mappedAt(user, now);
  };
  const results: MapResult[] = [];
  for (const user of users) {
    results.push(resultOf(user));
    await pause();
  }
  metrics.countMapped(version, counts);
  return results;
}

/** Maps a list of identifiers at one instant: the common part of both versions of the mapping endpoint. */

import { type DiiForm, hashOf } from '../../token/index.ts';
import { encodeB64 } from '../crypto/base64.ts';
import { allocate } from '../crypto/node-builtins.ts';
import type { MappedId } from '../identity/raw-ids.ts';
import type { MappingOutcome } from '../ports/metrics.ts';
import type { Service } from '../service.ts';
import type { EndpointCall } from './endpoint.ts';
import { clientError, type EndpointResult } from './result.ts';

export type MapResult = MappedId | 'optout' | 'invalid identifier';

const USER_BYTES = 32;

export interface Identifier {
  readonly form: DiiForm;
  readonly text: string;
}

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

/** Pass on each result in order, and keep none: garbage collection of thousands of objects takes longer than their creation. */
export async function mapBatch(
  identifiers: readonly Identifier[],
  { now, pause }: Pick<EndpointCall, 'now' | 'pause'>,
  version: 'v2' | 'v3',
  { rawIds, optOuts, metrics }: Service,
  onResult: (identifier: Identifier, result: MapResult) => void,
): Promise<void> {
  const users = allocate(USER_BYTES * identifiers.length);
  const userAt = (index: number): Uint8Array => users.subarray(USER_BYTES * index, USER_BYTES * (index + 1));
  const invalid = new Set<number>();
  const validUsers: string[] = [];
  for (const [index, { form, text }] of identifiers.entries()) {
    const hash = hashOf(form, text);
    if (hash) {
      const user = rawIds.firstLevel(hash);
      users.set(user, USER_BYTES * index);
      validUsers.push(encodeB64(user));
    } else invalid.add(index);
    await pause();
  }
  const optedOut = await optOuts.areOptedOut(validUsers);
  const counts: Record<MappingOutcome, number> = { mapped: 0, optout: 0, invalid: 0 };
  let validCount = 0;
  const resultAt = (index: number): MapResult => {
    if (invalid.has(index)) {
      counts.invalid++;
      return 'invalid identifier';
    }
    if (optedOut[validCount++]) {
      counts.optout++;
      return 'optout';
    }
    counts.mapped++;
    return rawIds.mappedAt(userAt(index), now);
  };
  for (let index = 0; index < identifiers.length; index++) {
    onResult(identifiers[index]!, resultAt(index));
    await pause();
  }
  metrics.countMapped(version, counts);
}

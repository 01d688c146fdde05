/**
 * Mapping many identifiers at one instant: what both versions of the mapping endpoint have in common.
 */

import { type DiiForm, hashOf } from '../../token/index.ts';
import type { MappedId } from '../identity/raw-ids.ts';
import type { Mapped } from '../metrics.ts';
import type { Service } from '../service.ts';
import type { Reply } from './result.ts';
import { clientError } from './result.ts';

/** What became of an identifier. */
export type Result = MappedId | 'optout' | 'invalid identifier';

/** An identifier and its form. */
export interface Item {
  readonly form: DiiForm;
  readonly text: string;
}

/** Refuse a batch that is larger than the operator takes; undefined where it is not. */
export function tooMany(count: number, { settings }: Service): Reply | undefined {
  return count > settings.maxBatchSize
    ? clientError(`Request payload is too large: expected at most ${settings.maxBatchSize} identifiers, got ${count}`)
    : undefined;
}

/** An element as text, or undefined for null, an object or an array: other scalars are written out. */
export function elementText(element: unknown): string | undefined {
  return typeof element === 'string'
    ? element
    : element === null || typeof element === 'object'
      ? undefined
      : String(element);
}

/** Map identifiers at `at` (epoch ms): one result each, in order. */
export async function mapMany(
  items: readonly Item[],
  at: number,
  version: 'v2' | 'v3',
  { rawIds, optOuts, metrics }: Service,
): Promise<Result[]> {
  const users = items.map(({ form, text }) => {
    const hash = hashOf(form, text);
    return hash && rawIds.firstLevel(hash);
  });
  // One question for all of them, whatever store answers it.
  const optedOut = await optOuts.among(users.filter((user) => user !== undefined));
  const counts: Record<Mapped, number> = { mapped: 0, optout: 0, invalid: 0 };
  let valid = 0;
  const results = users.map((user): Result => {
    if (!user) {
      counts.invalid++;
      return 'invalid identifier';
    }
    if (optedOut[valid++]) {
      counts.optout++;
      return 'optout';
    }
    counts.mapped++;
    return rawIds.mappedAt(user, at);
  });
  metrics.mapped(version, counts);
  return results;
}

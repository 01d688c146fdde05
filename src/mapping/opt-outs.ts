/**
 * Finds users who have opted out since they were mapped: requests the status of every stored raw ID.
 */

import type { Database } from '../database/index.ts';
import type { ServiceClock } from './service-clock.ts';
import { counts, pages, removeOptedOut } from './stored-rows.ts';
import type { MappingClient, Mappings, Summary } from './types.ts';

type Options = NonNullable<Parameters<Mappings['checkOptOuts']>[0]>;

/** What a check of opt-outs needs. */
export interface OptOutCheck extends Pick<Options, 'onProgress'> {
  readonly database: Database;
  readonly client: Pick<MappingClient, 'optOutStatus'>;
  readonly clock: ServiceClock;
  readonly signal: AbortSignal;
}

/** Check all raw IDs, page by page. Each page is written before the next is requested. */
export async function checkOptOuts({ database, client, clock, signal, onProgress }: OptOutCheck): Promise<Summary> {
  const totals = { read: 0, kept: 0, mapped: 0, optedOut: 0, invalid: 0 };
  const total = onProgress && { total: (await counts(database, 0, 3)).mapped };
  for await (const page of pages(database, 'mapped')) {
    signal.throwIfAborted();
    const rawIds = page.map(({ rawId }) => rawId!);
    const found = await client.optOutStatus(rawIds, { signal }).toArray();
    const optedOut = new Set(found.map(({ rawId }) => rawId));
    const affected = page.filter(({ rawId }) => optedOut.has(rawId!));
    if (affected.length > 0) totals.optedOut += await removeOptedOut(database, affected, clock.now());
    totals.read += page.length;
    onProgress?.({ ...totals, ...total });
  }
  return totals;
}

/** Looking for users who have opted out since they were mapped: by their raw IDs, through everything that is stored. */

import type { Database } from '../database/contract.ts';
import type { ServiceClock } from './clock.ts';
import type { MappingClient, Mappings, Summary } from './contract.ts';
import { counts, optOut, pages } from './store.ts';

type Options = NonNullable<Parameters<Mappings['checkOptOuts']>[0]>;

export interface Check extends Pick<Options, 'onProgress'> {
  readonly database: Database;
  readonly client: Pick<MappingClient, 'optOutStatus'>;
  readonly clock: ServiceClock;
  readonly signal: AbortSignal;
}

/** Ask for all raw IDs, a page at a time. Killed at any point, what was found so far is written. */
export async function checkOptOuts({ database, client, clock, signal, onProgress }: Check): Promise<Summary> {
  const tally = { read: 0, kept: 0, mapped: 0, optedOut: 0, invalid: 0 };
  const total = onProgress && { total: (await counts(database, 0, 3)).mapped };
  for await (const page of pages(database, 'mapped')) {
    signal.throwIfAborted();
    const rawIds = page.map(({ rawId }) => rawId!);
    const asked = await client.optOutStatus(rawIds, { signal }).toArray();
    const optedOut = new Set(asked.map(({ rawId }) => rawId));
    const theirs = page.filter(({ rawId }) => optedOut.has(rawId!));
    if (theirs.length > 0) tally.optedOut += await optOut(database, theirs, clock.at(clock.local()));
    tally.read += page.length;
    onProgress?.({ ...tally, ...total });
  }
  return tally;
}

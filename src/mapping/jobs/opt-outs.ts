/** Finds users who have opted out since they were mapped: requests the status of every stored raw ID. */

import type { Database } from '../../database/index.ts';
import { sleep } from '../../server/bulk/retry.ts';
import type { ServiceClock } from '../rows/service-clock.ts';
import { counts, pages, removeOptedOut } from '../rows/stored-rows.ts';
import type { DueOptions, MappingClient, Summary } from '../types.ts';
import { LOCK_POLL_MS } from './job.ts';

export interface OptOutCheck extends Pick<DueOptions, 'onProgress'> {
  readonly database: Database;
  readonly client: Pick<MappingClient, 'optOutStatus'>;
  readonly clock: ServiceClock;
  readonly signal: AbortSignal;
}

/** Page by page. The service asks for one request at a time. */
export async function checkOptOuts({ database, client, clock, signal, onProgress }: OptOutCheck): Promise<Summary> {
  const totals = { read: 0, kept: 0, mapped: 0, optedOut: 0, invalid: 0 };
  const total = onProgress && { total: (await counts(database, 0, 3)).mapped };
  for await (const page of pages(database, 'mapped')) {
    signal.throwIfAborted();
    const rawIds = page.map(({ rawId }) => rawId!);
    const found = await client.optOutStatus(rawIds, { signal }).toArray();
    const optedOut = new Set(found.map(({ rawId }) => rawId));
    const affected = page.filter(({ rawId }) => optedOut.has(rawId!));
    if (found[0]) {
      const { answeredAt } = found[0];
      clock.observe(answeredAt);
      for (;;) {
        const { removed, locked } = await removeOptedOut(database, affected, answeredAt);
        totals.optedOut += removed;
        if (locked === 0) break;
        await sleep(LOCK_POLL_MS, signal);
      }
    }
    totals.read += page.length;
    onProgress?.({ ...totals, ...total });
  }
  return totals;
}

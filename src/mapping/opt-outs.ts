/**
 * Finds users who have opted out since they were mapped: requests the status of every stored raw ID.
 */

import type { Database } from '../database/index.ts';
import { sleep } from '../server/retry.ts';
import { LOCK_POLL_MS } from './job.ts';
import type { ServiceClock } from './service-clock.ts';
import { counts, pages, removeOptedOut } from './stored-rows.ts';
import type { Mapping, MappingClient, Mappings, Summary } from './types.ts';

type Options = NonNullable<Parameters<Mappings['checkOptOuts']>[0]>;

export interface OptOutCheck extends Pick<Options, 'onProgress'> {
  readonly database: Database;
  readonly client: Pick<MappingClient, 'optOutStatus'>;
  readonly clock: ServiceClock;
  readonly signal: AbortSignal;
}

/** Read one item ahead of the consumer. */
async function* readAhead<T>(source: AsyncGenerator<T, void, undefined>): AsyncGenerator<T, void, undefined> {
  let next = source.next();
  try {
    for (;;) {
      const { value, done } = await next;
      if (done) return;
      next = source.next();
      // Awaited in the next round, which may come after the failure.
      next.catch(() => {});
      yield value as T;
    }
  } finally {
    await next.catch(() => {});
    await source.return();
  }
}

/**
 * Check all raw IDs, page by page. The service asks for one request at a time: meanwhile the next page is read and the
 * previous one written.
 */
export async function checkOptOuts({ database, client, clock, signal, onProgress }: OptOutCheck): Promise<Summary> {
  const totals = { read: 0, kept: 0, mapped: 0, optedOut: 0, invalid: 0 };
  const total = onProgress && { total: (await counts(database, 0, 3)).mapped };
  let writing = Promise.resolve();
  const write = async (affected: readonly Mapping[], answeredAt: number, count: number): Promise<void> => {
    while (affected.length > 0) {
      const { removed, locked } = await removeOptedOut(database, affected, answeredAt);
      totals.optedOut += removed;
      if (locked === 0) break;
      await sleep(LOCK_POLL_MS, signal);
    }
    totals.read += count;
    onProgress?.({ ...totals, ...total });
  };
  try {
    for await (const page of readAhead(pages(database, 'mapped'))) {
      signal.throwIfAborted();
      const rawIds = page.map(({ rawId }) => rawId!);
      const found = await client.optOutStatus(rawIds, { signal }).toArray();
      const optedOut = new Set(found.map(({ rawId }) => rawId));
      // An answer that lists nobody changes no row, and needs no time.
      const answeredAt = found[0]?.answeredAt ?? 0;
      if (found[0]) clock.observe(answeredAt);
      const affected = page.filter(({ rawId }) => optedOut.has(rawId!));
      await writing;
      writing = write(affected, answeredAt, page.length);
      writing.catch(() => {});
    }
  } finally {
    // A failure must not leave a write behind that goes on after the caller has closed the database.
    await writing.catch(() => {});
  }
  await writing;
  return totals;
}

/** The methods for many users: batches, retries and the limit of parallel requests around the bulk endpoints. */

import { kindOf } from '../../token/checks.ts';
import type { Call, Lazy } from '../call/call.ts';
import { MAX_BATCH_ANSWER_BYTES, MAX_LIST_ANSWER_BYTES } from '../call/read-response.ts';
import { checkSource } from '../checks.ts';
import type { Dii } from '../dii.ts';
import { type CallOptions, type ClientSettings, callOptions } from '../options.ts';
import { batchesOf, inOrder, MAX_BYTES, type Source } from './batch.ts';
import { type ConcurrencyLimiter, createConcurrencyLimiter } from './concurrency.ts';
import { createDiiBatch, type DiiBatch } from './dii-batch.ts';
import { type MapResult, type MapResultV2, mapBatch, mapBatchV2, type Send } from './mapping.ts';
import { createRawIdBatch, type OptedOut, optOutBatch, type RotatedBuckets, rotatedBuckets } from './raw-ids.ts';
import { type Results, type Rows, resultsOf } from './results.ts';
import { withRetries } from './retry.ts';

/** The methods for many users. Each request is retried after a temporary failure; `timeoutMs` limits one attempt. */
export interface BulkClient {
  /**
   * Map DII to raw IDs, version 3. Batches of at most 5,000 items and 1 MB are sent in parallel, and the results come in the
   * order of the source, which may have any length. Invalid DII and opted-out users are results, not errors. If a batch fails,
   * the iteration rejects after all earlier results.
   * @example for await (const result of client.mapIdentities(rows)) await save(result);
   */
  mapIdentities<D extends Dii>(source: Source<D>, options?: CallOptions): Results<MapResult<D>>;
  /** Map DII to raw IDs, version 2, with the salt bucket of each. The service has deprecated this version. */
  mapIdentitiesV2<D extends Dii>(source: Source<D>, options?: CallOptions): Results<MapResultV2<D>>;
  /**
   * List the salt buckets that have rotated at or after `since` (epoch ms or a Date), for version 2.
   * @example const { buckets, answeredAt } = await client.rotatedBuckets(lastAnsweredAt);
   */
  rotatedBuckets(since: number | Date, options?: CallOptions): Promise<RotatedBuckets>;
  /**
   * List the raw IDs whose users have opted out, with the time of the opt-out. Sends batches of 5,000, one at a time.
   * @example for await (const { rawId } of client.optOutStatus(rawIds)) await remove(rawId);
   */
  optOutStatus(rawIds: Source<string>, options?: CallOptions): Results<OptedOut>;
}

/** Bytes of a request besides its values: the envelope (45), the JSON with the names of all four forms (56), and a reserve. */
const OVERHEAD_BYTES = 128;

export function createBulkClient(settings: ClientSettings, call: Call): BulkClient {
  const { binary, bulkTimeoutMs, concurrency, hashLocally, retry } = settings;
  // Base64 encodes three bytes as four.
  const maxBytes = (binary ? MAX_BYTES : (MAX_BYTES / 4) * 3) - OVERHEAD_BYTES;
  const mapLimiter = createConcurrencyLimiter(concurrency);
  const statusLimiter = createConcurrencyLimiter(1);

  const sender =
    (limiter: ConcurrencyLimiter, signal: AbortSignal, timeoutMs: number): Send =>
    (path, payload) => {
      const limits = { signal, timeoutMs, maxBytes: MAX_BATCH_ANSWER_BYTES };
      const attempt = () => limiter.run(() => call.sealed(path, payload, limits), signal);
      return withRetries(attempt, retry, signal);
    };

  const map = <D extends Dii, R>(
    source: Source<D>,
    given: CallOptions | undefined,
    mapOne: (send: Send, batch: DiiBatch<D>) => Promise<Lazy<Rows<R>>>,
  ): Results<R> => {
    checkSource('source', source);
    const { signal: outer, timeoutMs } = callOptions(given, bulkTimeoutMs);
    const start = () => createDiiBatch<D>(maxBytes, hashLocally);
    return resultsOf(() =>
      inOrder(batchesOf(source, start), concurrency, outer, (batch, signal) =>
        mapOne(sender(mapLimiter, signal, timeoutMs), batch),
      ),
    );
  };

  return {
    mapIdentities: (source, given) => map(source, given, mapBatch),
    mapIdentitiesV2: (source, given) => map(source, given, mapBatchV2),

    rotatedBuckets: async (since, given) => {
      const at = Number(since);
      if (!(typeof since === 'number' || since instanceof Date) || Number.isNaN(new Date(at).getTime())) {
        const got = since instanceof Date ? 'an invalid Date' : typeof since === 'number' ? since : kindOf(since);
        throw new TypeError(`since: expected epoch milliseconds or a valid Date, got ${got}`);
      }
      const { signal = new AbortController().signal, timeoutMs } = callOptions(given, bulkTimeoutMs);
      const limits = { signal, timeoutMs, maxBytes: MAX_LIST_ANSWER_BYTES };
      const send: Send = (path, payload) => withRetries(() => call.sealed(path, payload, limits), retry, signal);
      return rotatedBuckets(send, at);
    },

    optOutStatus: (rawIds, given) => {
      checkSource('rawIds', rawIds);
      const { signal: outer, timeoutMs } = callOptions(given, bulkTimeoutMs);
      const start = () => createRawIdBatch(maxBytes);
      return resultsOf(() =>
        inOrder(batchesOf(rawIds, start), 1, outer, (batch, signal) =>
          optOutBatch(sender(statusLimiter, signal, timeoutMs), batch),
        ),
      );
    },
  };
}

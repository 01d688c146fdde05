/**
 * The bulk half of a client: what binds batches, retries, the gate and the endpoints together.
 *
 * `client.ts` hands its methods to the caller beside the token methods.
 */

import { batchesOf, checkSource, inOrder, MOST_BYTES, type Source } from './batch.ts';
import { type Call, type CallOptions, callOptions, type Unread } from './call.ts';
import type { Dii } from './dii.ts';
import { createDiiBatch, type DiiBatch } from './dii-batch.ts';
import { createGate, type Gate } from './gate.ts';
import { type MapResult, type MapResultV2, mapBatch, mapBatchV2, type Send } from './mapping.ts';
import type { Settings } from './options.ts';
import { createRawIdBatch, type OptedOut, optOutBatch, type RotatedBuckets, rotatedBuckets } from './raw-ids.ts';
import { type Results, type Rows, resultsOf } from './results.ts';
import { retried } from './retry.ts';

/**
 * The methods for many. Each request is tried again where that may help; `timeoutMs` of the options is the time for
 * one attempt.
 */
export interface BulkClient {
  /**
   * Map DII to raw IDs, version 3. Any number: batches of at most 5,000 and 1 MB go side by side, results come in order.
   *
   * DII that is not valid, and users who have opted out, are results; only a failed batch is an error, thrown in its
   * place of the order after everything before it.
   */
  mapIdentities<D extends Dii>(source: Source<D>, options?: CallOptions): Results<MapResult<D>>;
  /** Map DII to raw IDs, version 2, with the salt bucket of each. Deprecated by the service. */
  mapIdentitiesV2<D extends Dii>(source: Source<D>, options?: CallOptions): Results<MapResultV2<D>>;
  /** The salt buckets that have rotated at or after `since` (epoch ms or a Date), for version 2. */
  rotatedBuckets(since: number | Date, options?: CallOptions): Promise<RotatedBuckets>;
  /** Those of the raw IDs whose users have opted out, and since when. Batches of 5,000, one after the other. */
  optOutStatus(rawIds: Source<string>, options?: CallOptions): Results<OptedOut>;
}

// Bytes of a request around its values: the envelope (45), the JSON with the names of all four forms (56), some air.
const AROUND = 128;

/** The bulk methods over one way of calling. */
export function createBulk(settings: Settings, call: Call): BulkClient {
  const { binary, bulkTimeoutMs, concurrency, hashLocally, retry } = settings;
  // Base64 makes four bytes of three.
  const mostBytes = (binary ? MOST_BYTES : (MOST_BYTES / 4) * 3) - AROUND;
  const mapGate = createGate(concurrency);
  const statusGate = createGate(1);

  const sender =
    (gate: Gate, signal: AbortSignal, timeoutMs: number): Send =>
    (path, payload) =>
      retried(() => gate.pass(() => call.sealed(path, payload, { signal, timeoutMs }), signal), retry, signal);

  const map = <D extends Dii, R>(
    source: Source<D>,
    given: CallOptions | undefined,
    mapOne: (send: Send, batch: DiiBatch<D>) => Promise<Unread<Rows<R>>>,
  ): Results<R> => {
    checkSource('source', source);
    const { signal: outer, timeoutMs } = callOptions(given, bulkTimeoutMs);
    const start = () => createDiiBatch<D>(mostBytes, hashLocally);
    return resultsOf(() =>
      inOrder(batchesOf(source, start), concurrency, outer, (batch, signal) =>
        mapOne(sender(mapGate, signal, timeoutMs), batch),
      ),
    );
  };

  return {
    mapIdentities: (source, given) => map(source, given, mapBatch),
    mapIdentitiesV2: (source, given) => map(source, given, mapBatchV2),

    rotatedBuckets: async (since, given) => {
      const at = Number(since);
      if (!(typeof since === 'number' || since instanceof Date) || Number.isNaN(new Date(at).getTime()))
        throw new TypeError(`since: expected epoch milliseconds or a valid Date, got ${typeof since}`);
      const { signal = new AbortController().signal, timeoutMs } = callOptions(given, bulkTimeoutMs);
      const send: Send = (path, payload) =>
        retried(() => call.sealed(path, payload, { signal, timeoutMs }), retry, signal);
      return rotatedBuckets(send, at);
    },

    optOutStatus: (rawIds, given) => {
      checkSource('rawIds', rawIds);
      const { signal: outer, timeoutMs } = callOptions(given, bulkTimeoutMs);
      const start = () => createRawIdBatch(mostBytes);
      return resultsOf(() =>
        inOrder(batchesOf(rawIds, start), 1, outer, (batch, signal) =>
          optOutBatch(sender(statusGate, signal, timeoutMs), batch),
        ),
      );
    },
  };
}

/** The public types of `tessera-id/mapping`. */

import type { Database } from '../database/index.ts';
import type { Client, Dii, Source } from '../server/index.ts';
import type { DiiType } from '../token/index.ts';

/** The part of a client that mappings use: see `createClient` of `tessera-id/server`. */
export type MappingClient = Pick<Client, 'mapIdentities' | 'mapIdentitiesV2' | 'rotatedBuckets' | 'optOutStatus'>;

/** Options of `createMappings`. */
export interface MappingsOptions {
  /** Sends the requests. It gets hashes alone, never plain DII. */
  readonly client: MappingClient;
  /** A folder (for one process), `postgres://user:password@host:port/name` (for many), or an open database, which stays open. */
  readonly database: string | Database;
  /**
   * Version of the mapping endpoint. Default 3, which returns the end of validity of each raw ID; 2 returns its salt bucket.
   * Mappings of version 2 are due under version 3; those of version 3 stay valid until their time under version 2.
   */
  readonly version?: 2 | 3 | undefined;
  /** Number of batches of 5,000 in flight, 1 to 20. Default 4. */
  readonly workers?: number | undefined;
  /** The local clock, epoch ms, used until the first answer shows the service's time. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/**
 * - `mapped`: has a raw ID.
 * - `optedOut`: no raw ID is stored. Requested again by a `map` whose source holds the DII, never by a due run.
 * - `invalid`: the service refused the hash. Requested again as `optedOut` is.
 */
export type MappingState = 'mapped' | 'optedOut' | 'invalid';

/** The stored mapping of one email address or phone number. */
export interface Mapping {
  readonly type: DiiType;
  /** Base64 of the SHA-256 of the normalised address or number. It is DII too: do not log it. */
  readonly hash: string;
  readonly state: MappingState;
  /** The raw ID (`u` on the wire). Null unless `mapped`. */
  readonly rawId: string | null;
  /** The previous raw ID (`p` on the wire), for 90 days after a rotation. Version 3. */
  readonly previousRawId: string | null;
  /** End of the raw ID's validity (`r` on the wire), epoch ms. Version 3. */
  readonly remapAt: number | null;
  /** The salt bucket. Version 2. */
  readonly bucketId: string | null;
  /** The service's clock when it answered, epoch ms. */
  readonly answeredAt: number;
}

/** Result of a job. Each process counts its own work. For `map`: `read` = `kept` + `mapped` + `optedOut` + `invalid`. */
export interface Summary {
  /** Items of the source. 0 for due runs. */
  readonly read: number;
  /** Items that needed no request: stored and not due, or a duplicate in the source. */
  readonly kept: number;
  readonly mapped: number;
  readonly optedOut: number;
  /** Items that are not valid DII, according to local normalisation or the service. */
  readonly invalid: number;
}

/** Progress of a job: what has been stored, and the invalid items that have been read. */
export interface Progress extends Summary {
  /** Rows of a due run, or raw IDs for `checkOptOuts`, counted at the start. Undefined for `map`, whose source has no length. */
  readonly total?: number;
}

/** An invalid item. */
export interface Invalid {
  /** The item of the source, or its hash if the service refused it. Do not log it. */
  readonly dii: Dii;
  /** Position in the source, from 0; undefined if the service refused it, which is asked once about all items with this hash. */
  readonly index: number | undefined;
  /** In the words of the service, usually `invalid identifier`. */
  readonly reason: string;
}

/** Options of a due run. */
export interface DueOptions {
  /** Cancels the job: it rejects with the signal's reason. Written answers stay; a later run continues. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each batch. If it throws, the job ends. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Called for each invalid item; a promise is awaited. If it throws, the job ends. */
  readonly onInvalid?: ((invalid: Invalid) => void | Promise<void>) | undefined;
}

/** Options of `map`. */
export interface MapOptions extends DueOptions {}

/** Number of stored mappings by state. */
export interface Counts {
  readonly mapped: number;
  readonly optedOut: number;
  readonly invalid: number;
  /** Those of `mapped` that are due now. Version 2: as of the last check of rotated buckets. */
  readonly due: number;
}

/**
 * Stored mappings. Every promise rejects with a TokenError (those of the client, `storage_failed`, `closed`), with the reason of
 * an aborted signal, or with what a callback has thrown. No message holds a hash.
 */
export interface Mappings {
  /**
   * Map every item of a source of any length, in bounded memory: those that are not stored, are due, or were opted out or invalid
   * when the job began. May be killed at any point: the next run with the same source continues. If the source fails, the batches
   * before are mapped first.
   * @throws {TypeError} for an item that is not DII at all; the message names its position in the source.
   * @example await mappings.map([{ email: 'user@example.com' }, { phoneHash }]);
   */
  map(source: Source<Dii>, options?: MapOptions): Promise<Summary>;
  /**
   * Map due rows. The cost depends on the number of due rows, not on the number of stored rows.
   * @example const { mapped, optedOut } = await mappings.mapDue(); // daily
   */
  mapDue(options?: DueOptions): Promise<Summary>;
  /**
   * Request the opt-out status of every stored raw ID, 5,000 at a time, and remove those of users who have opted out. Call
   * `mapDue` before: a service may find a user only by the raw ID at the time of the opt-out, not by a former one that is still
   * stored.
   * @returns `read`: raw IDs checked; `optedOut`: raw IDs removed.
   * @example const { optedOut } = await mappings.checkOptOuts();
   */
  checkOptOuts(options?: Pick<DueOptions, 'signal' | 'onProgress'>): Promise<Summary>;
  /**
   * Read one mapping; undefined if none is stored or the DII is not valid.
   * @example const mapping = await mappings.find({ email: 'user@example.com' });
   */
  find(dii: Dii): Promise<Mapping | undefined>;
  /**
   * Iterate over all mappings, or those of one state, ordered by hash. Reads them in pages.
   * @example for await (const { hash, rawId } of mappings.entries({ state: 'mapped' })) await send(hash, rawId);
   */
  entries(options?: { readonly state?: MappingState | undefined }): AsyncIterable<Mapping>;
  /** Count the mappings by state. Reads the whole table. */
  counts(): Promise<Counts>;
  /** Delete one mapping. A `map` that is running with this person in its source may store it again. @returns whether it existed. */
  forget(dii: Dii): Promise<boolean>;
  /** Delete all mappings. @returns how many there were. */
  forgetAll(): Promise<number>;
  /** Cancel the running jobs, which reject with `closed` (written answers stay; a later run continues), and close the store. */
  close(): Promise<void>;
}

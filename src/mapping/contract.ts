/**
 * What stored mappings are to their user: the types of `tessera-id/mapping`.
 *
 * Nothing here knows SQL or HTTP. Next: `mappings.ts` binds the parts together.
 */

import type { Database } from '../database/contract.ts';
import type { Client, Dii, Source } from '../server/index.ts';
import type { DiiType } from '../token/index.ts';

/** What is used of a client: see {@link createClient} of `tessera-id/server`. */
export type MappingClient = Pick<Client, 'mapIdentities' | 'mapIdentitiesV2' | 'rotatedBuckets' | 'optOutStatus'>;

export interface MappingsOptions {
  /** Asks the service. It is only ever given hashes. */
  readonly client: MappingClient;
  /**
   * Where the mappings are: a folder (this process alone), `postgres://user:password@host:port/name` (any number of
   * processes), or a database that is open already, which then stays open when the mappings are closed.
   */
  readonly database: string | Database;
  /**
   * Version of the service's mapping endpoint. Default 3, which says of each raw ID until when it holds; 2 says its
   * salt bucket. What was stored with the other version is kept, and is due (under 3) or stays until its time (under 2).
   */
  readonly version?: 2 | 3 | undefined;
  /**
   * Version 2: how far before the end of the last look at the rotated buckets the next one begins, and how long before
   * a rotation a mapping may have been answered and is still asked for again, ms. Covers clocks that differ between the
   * nodes of the service. Default 3,600,000 (one hour).
   */
  readonly bucketMarginMs?: number | undefined;
  /** Batches of 5,000 that are under way at once, 1 to 20. Default 4. */
  readonly workers?: number | undefined;
  /** The local clock, epoch ms: only to know what is due before the service has said its time. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/**
 * - `mapped`: with its raw ID.
 * - `optedOut`: the user has opted out; no raw ID is kept. Asked for again by each `map` that is given the DII, by no
 *   due run.
 * - `invalid`: the service takes the hash for no valid one. Asked for again as `optedOut` is.
 * - `pending`: in a source of `map`, and not asked for yet. The next `map` or `mapDue` asks.
 */
export type MappingState = 'mapped' | 'optedOut' | 'invalid' | 'pending';

/** What is stored of one person's email address or phone number. */
export interface Mapping {
  readonly type: DiiType;
  /** Base64 of the SHA-256 of the normalised address or number: DII too, never to be logged. */
  readonly hash: string;
  readonly state: MappingState;
  /** `u` of the service: the raw ID. Null unless `mapped`. */
  readonly rawId: string | null;
  /** `p`: the raw ID before, while the service told it. Version 3. */
  readonly previousRawId: string | null;
  /** `r`: the raw ID holds until then, epoch ms. Version 3. */
  readonly remapAt: number | null;
  /** The salt bucket. Version 2. */
  readonly bucketId: string | null;
  /** The service's clock when it answered, epoch ms; null while pending. */
  readonly answeredAt: number | null;
}

/**
 * What a job has come to. All counts are of this call; several workers each count what they did themselves.
 *
 * Of one worker alone, under `map`: `read` = `kept` + `mapped` + `optedOut` + `invalid`. What an earlier run has left
 * pending is asked for, and counts by its answer, not as kept; only where another source had it, the sum is larger.
 */
export interface Summary {
  /** Items of the source. 0 in due runs. */
  readonly read: number;
  /** Of these: stored already and not due, or twice in the source. Nothing was asked for them. */
  readonly kept: number;
  /** Answers of the service: mapped, first or again. */
  readonly mapped: number;
  /** Answers of the service: opted out. */
  readonly optedOut: number;
  /** Items that are no valid DII, by the rules here or by the service's word. */
  readonly invalid: number;
}

/** How far a job is. `read` runs ahead of the answers: what is read is stored as pending first. */
export interface Progress extends Summary {
  /**
   * Answers that a due run will need in all, raw IDs that `checkOptOuts` will ask about: as counted at its start.
   * Undefined for `map`: a source has no length.
   */
  readonly total?: number;
}

/** An item without a mapping. */
export interface Invalid {
  /** As the source gave it; a hash where the service refused what was stored as pending. Never to be logged. */
  readonly dii: Dii;
  /** Place in the source, from 0; undefined where the service refused it: the place is not stored. */
  readonly index: number | undefined;
  /** In the service's words: `invalid identifier`, as a rule. */
  readonly reason: string;
}

export interface DueOptions {
  /** Gives the job up: it rejects with the signal's reason. What was written stays, and a later run goes on. */
  readonly signal?: AbortSignal | undefined;
  /** Told after each chunk that was read or written. What it throws ends the job. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Told of each item without a mapping; a promise is waited for. What it throws ends the job. */
  readonly onInvalid?: ((invalid: Invalid) => void | Promise<void>) | undefined;
}

export interface MapOptions extends DueOptions {}

export interface Counts {
  readonly mapped: number;
  readonly optedOut: number;
  readonly invalid: number;
  readonly pending: number;
  /** Of `mapped`: to be mapped again by now. Version 2: as far as the buckets were looked at. */
  readonly due: number;
}

/**
 * Mappings in a database. Every promise rejects with a TokenError (those of the client, and `storage_failed`, `closed`),
 * with the reason of an aborted signal, or with what the caller's own functions have thrown. No message holds a hash.
 */
export interface Mappings {
  /**
   * See that every item of a source is mapped. Any length, in bounded memory.
   *
   * The service is asked for what is not stored or is due, and for opted-out users. May be killed at any point: run
   * again with the same source, it goes on where it was. It also asks for what other calls have left pending, and ends
   * when nothing is.
   *
   * @throws {TypeError} an item that is no DII at all, with its place in the source.
   * @example
   * await mappings.map([{ email: 'user@example.com' }, { phoneHash }]);
   */
  map(source: Source<Dii>, options?: MapOptions): Promise<Summary>;
  /** Map again what is due, and whatever is pending. Costs by what is due, not by what is stored. */
  mapDue(options?: DueOptions): Promise<Summary>;
  /**
   * Ask which users have opted out since they were mapped, and take their raw IDs away. Goes through everything that is
   * stored: 5,000 raw IDs a request, one after the other.
   *
   * @returns `read`: raw IDs asked about; `optedOut`: those of opted-out users.
   */
  checkOptOuts(options?: Pick<DueOptions, 'signal' | 'onProgress'>): Promise<Summary>;
  /** What is stored of one person; undefined for nothing, and for DII that is not valid. */
  find(dii: Dii): Promise<Mapping | undefined>;
  /** Everything stored, or all of one state, in order of type and hash; read in pieces. */
  entries(options?: { readonly state?: MappingState | undefined }): AsyncIterable<Mapping>;
  /** Goes through everything stored. */
  counts(): Promise<Counts>;
  /** Delete what is stored of one person. @returns whether anything was. */
  forget(dii: Dii): Promise<boolean>;
  /** Delete everything that is stored of anybody. @returns how many entries there were. */
  forgetAll(): Promise<number>;
  /**
   * Stop jobs under way, which reject with `closed` (what they have written stays, a later run goes on), and let go of
   * the database. The same promise for every call.
   */
  close(): Promise<void>;
}

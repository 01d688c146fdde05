/**
 * What an operator stores, as asynchronous interfaces that a memory, a database or a caller's own store implements.
 *
 * A store keeps rows and finds them. `identity/participants.ts` and `identity/opt-outs.ts` give the rows their meaning.
 */

import type { Role } from '../identity/roles.ts';
import type { RateLimit } from './rate-limit.ts';

/** A participant as stored: the API key only as a keyed hash. */
export interface StoredParticipant {
  /** Keyed hash of the API key, 64 hexadecimal digits. */
  readonly keyHash: string;
  /** Base64 of 32 bytes. Secret. */
  readonly clientSecret: string;
  readonly siteId: number;
  readonly roles: readonly Role[];
}

/** Where participants are stored. */
export interface ParticipantStore {
  byKeyHash(keyHash: string): Promise<StoredParticipant | undefined>;
  /** Return the site IDs of all participants, in any order. */
  siteIds(): Promise<readonly number[]>;
  /** Store participants. One with the same `keyHash` is replaced. */
  put(participants: readonly StoredParticipant[]): Promise<void>;
}

/** An opted-out user as stored. */
export interface StoredOptOut {
  /** First-level hash, base64 of 32 bytes. */
  readonly user: string;
  /** When the user opted out, epoch ms in whole seconds. */
  readonly since: number;
  /** The last rotation whose raw ID is stored. */
  readonly through: number;
  /** When that rotation starts, epoch ms: from then on the record needs further raw IDs. */
  readonly extendAt: number;
}

/** An opt-out with the raw IDs (base64) to be added: those up to `through` that are not stored yet. */
export interface ExtendedOptOut extends StoredOptOut {
  readonly rawIds: readonly string[];
}

/** Where opt-outs are stored. */
export interface OptOutStore {
  /** Return the operator's first instant, epoch ms: the `now` of the first call on this store. */
  epochAt(now: number): Promise<number>;
  /** Return when each of these users opted out, in their order; undefined if not. */
  since(users: readonly string[]): Promise<readonly (number | undefined)[]>;
  /** Return when the owner of each of these raw IDs opted out, in their order; undefined if there is no opt-out. */
  sinceByRawId(rawIds: readonly string[]): Promise<readonly (number | undefined)[]>;
  /**
   * Record opt-outs or extend them with further raw IDs, all or none. A user on record keeps the first `since` and gets
   * the later `through` and `extendAt`, because several nodes may extend the same record at the same time.
   */
  put(optOuts: readonly ExtendedOptOut[]): Promise<void>;
  /** Return up to `limit` opt-outs whose `extendAt` is `at` (epoch ms) or earlier. */
  due(at: number, limit: number): Promise<readonly StoredOptOut[]>;
}

/** Everything that an operator stores. */
export interface State {
  readonly participants: ParticipantStore;
  readonly optOuts: OptOutStore;
  /** Create a rate limit that all nodes on this state share. Without it each node counts its own requests. */
  readonly limiter?: (perSecond: number) => RateLimit;
  /** Reject if the state cannot be reached. */
  check?(): Promise<void>;
  /** Release everything the state holds. */
  close(): Promise<void>;
}

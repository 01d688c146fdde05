/** The storage of an operator. A store keeps and finds rows, which `identity/participants.ts` and `opt-outs.ts` interpret. */

import type { EnvelopeStore } from './envelopes.ts';
import type { Role } from './roles.ts';

/** A participant as stored: the API key only as a keyed hash. */
export interface StoredParticipant {
  /** Keyed hash of the API key, 64 hexadecimal digits. */
  readonly keyHash: string;
  /** Base64 of 32 bytes. Secret. */
  readonly clientSecret: string;
  readonly siteId: number;
  readonly roles: readonly Role[];
  /** When it got the role OPTOUT, epoch ms, if it has that role; missing or null if that is not known. The store sets it. */
  readonly optOutSince?: number | null | undefined;
  /** Keyed hash of the options that define the participant; undefined if options do not define it. */
  readonly optionsHash?: string | undefined;
  /** Store it only if none with its `keyHash` is stored. */
  readonly keepStored?: boolean | undefined;
}

/** A participant in a list, without its secret. Instants are epoch ms. */
export interface ListedParticipant {
  readonly keyHash: string;
  readonly siteId: number;
  readonly roles: readonly Role[];
  /** Null if it was stored by a version that did not record it. */
  readonly addedAt: number | null;
  readonly revokedAt: number | null;
}

/** Where participants are stored. */
export interface ParticipantStore {
  /** Whether a look-up needs no query, so that unknown API keys cost next to nothing. Default: false. */
  readonly isInMemory?: boolean;
  /** Return those of these participants that are stored and have not been revoked, in any order. */
  byKeyHashes(keyHashes: readonly string[]): Promise<readonly StoredParticipant[]>;
  /** Return the site IDs of all participants, revoked ones included, in any order. */
  siteIds(): Promise<readonly number[]>;
  /**
   * Store participants at `now` (epoch ms). One with the same `keyHash` is replaced, unless it has been revoked, was put with the
   * same `optionsHash` before, has `keepStored`, or has a client secret that was replaced: a restart with old options must not
   * undo later changes. Resolves with the `keyHash` of each that was not stored before, on one node only if several store it at
   * once.
   */
  put(participants: readonly StoredParticipant[], now: number): Promise<readonly string[]>;
  list(): Promise<readonly ListedParticipant[]>;
  /** Revoke participants at `now` (epoch ms) permanently, and erase their secrets. An earlier revocation keeps its time. */
  revoke(keyHashes: readonly string[], now: number): Promise<void>;
}

/** A key generation as stored. Instants are epoch ms. */
export interface StoredGeneration {
  /** From 1. */
  readonly generation: number;
  /** When it starts to seal, until a later generation does. */
  readonly activatesAt: number;
  /** When it was retired, after which it opens nothing; null before. */
  readonly retiredAt: number | null;
  /** Longest lifetime of anything that it has sealed, ms. */
  readonly longestMs: number;
}

/** Where the key generations are stored: their times, never the keys. */
export interface KeyStore {
  /** List all generations, retired ones included, in ascending order. */
  list(): Promise<readonly StoredGeneration[]>;
  /**
   * Add or change generations, all or none. A stored generation keeps its `activatesAt` and any `retiredAt`, and gets the greater
   * `longestMs`, because several nodes may write the same generation at the same time.
   */
  put(generations: readonly StoredGeneration[]): Promise<void>;
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
  /** Return when each of these users opted out, in their order; undefined for a user who has not. */
  since(users: readonly string[]): Promise<readonly (number | undefined)[]>;
  /** Return when the owner of each of these raw IDs opted out, in their order; undefined if there is no opt-out. */
  sinceByRawId(rawIds: readonly string[]): Promise<readonly (number | undefined)[]>;
  /**
   * Record opt-outs or extend them with further raw IDs, all or none. A recorded user keeps the first `since` and gets the later
   * `through` and `extendAt`, because several nodes may extend the same record at the same time.
   */
  put(optOuts: readonly ExtendedOptOut[]): Promise<void>;
  /**
   * Tell, without a query, that a user (first-level hash, 32 bytes) had not opted out one second ago, and has not since through
   * this store. If it returns false, or if this method is missing, `since` is called.
   */
  isAbsent?(user: Uint8Array): boolean;
  /** Return up to `limit` opt-outs whose `extendAt` is `at` (epoch ms) or earlier. */
  due(at: number, limit: number): Promise<readonly StoredOptOut[]>;
}

/** The whole storage of an operator. */
export interface State {
  readonly participants: ParticipantStore;
  readonly optOuts: OptOutStore;
  /** The key generations. Without it, they are kept in memory. */
  readonly keys?: KeyStore;
  /** The envelopes of the last minutes. Without it, each node remembers its own. */
  readonly envelopes?: EnvelopeStore;
  /** The opt-outs that the state keeps in memory, for the metrics. */
  readonly optOutMemory?: { size(): number; lost(): number; isCurrent(): boolean };
  check?(): Promise<void>;
  close(): Promise<void>;
}

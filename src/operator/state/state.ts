/**
 * What an operator must remember, behind a small asynchronous interface, and the memory that does it by default.
 *
 * A store is dumb: it keeps rows and finds them. What the rows mean is the business of `participants.ts` and
 * `opt-outs.ts`. A database takes the place of the memory by implementing {@link State}.
 */

import type { Role } from '../identity/roles.ts';
import type { Limiter } from './rate-limit.ts';

/** A participant as it is kept: its API key only hashed. */
export interface StoredParticipant {
  /** Keyed hash of the API key, 64 hexadecimal digits. */
  readonly keyHash: string;
  /** Base64 of 32 bytes. */
  readonly clientSecret: string;
  readonly siteId: number;
  readonly roles: readonly Role[];
}

export interface ParticipantStore {
  byKeyHash(keyHash: string): Promise<StoredParticipant | undefined>;
  /** Site ids of all participants. */
  siteIds(): Promise<readonly number[]>;
  /** Record participants. Of one whose API key is on record the new word stands. */
  put(participants: readonly StoredParticipant[]): Promise<void>;
}

/** An opted-out user as kept. */
export interface StoredOptOut {
  /** First-level hash, base64 of 32 bytes. */
  readonly user: string;
  /** When the user opted out, epoch ms in whole seconds. */
  readonly since: number;
  /** The last rotation whose raw ID is on record. */
  readonly through: number;
  /** When that rotation begins, epoch ms: from then on the record is to be extended. */
  readonly extendAt: number;
}

/** An opt-out with raw IDs that belong to it, base64: those up to `through` that are not yet on record. */
export interface ExtendedOptOut extends StoredOptOut {
  readonly rawIds: readonly string[];
}

export interface OptOutStore {
  /** The operator's first instant, epoch ms: `now` the first time this is asked of a store. */
  epochAt(now: number): Promise<number>;
  /** When each of these users opted out, in order; undefined for one who has not. */
  since(users: readonly string[]): Promise<readonly (number | undefined)[]>;
  /** When the owner of each of these raw IDs opted out, in order; undefined where no opt-out is on record. */
  sinceByRawId(rawIds: readonly string[]): Promise<readonly (number | undefined)[]>;
  /**
   * Record or extend opt-outs with further raw IDs, all or none. Of a user on record the first `since` stands, and the
   * later `through` and `extendAt`: several nodes may extend the same record at the same time.
   */
  put(optOuts: readonly ExtendedOptOut[]): Promise<void>;
  /** Opt-outs whose `extendAt` is not after `at`: the first ones, `most` at most. */
  due(at: number, most: number): Promise<readonly StoredOptOut[]>;
}

/** All that lasts. */
export interface State {
  readonly participants: ParticipantStore;
  readonly optOuts: OptOutStore;
  /** A rate limit that all nodes on this state share; without it every node counts for itself. */
  readonly limiter?: (perSecond: number) => Limiter;
  /** See whether it can be reached; rejects where it cannot. */
  check?(): Promise<void>;
  /** Let go of whatever is held. */
  close(): Promise<void>;
}

/** State in memory: it ends with the process. */
export function memoryState(): State {
  const participants = new Map<string, StoredParticipant>();
  const users = new Map<string, StoredOptOut>();
  const owners = new Map<string, string>();
  let epoch: number | undefined;
  const since = (user: string | undefined): number | undefined =>
    user === undefined ? undefined : users.get(user)?.since;

  return {
    participants: {
      byKeyHash: async (keyHash) => participants.get(keyHash),
      siteIds: async () => [...participants.values()].map(({ siteId }) => siteId),
      put: async (given) => {
        for (const one of given) participants.set(one.keyHash, one);
      },
    },
    optOuts: {
      epochAt: async (now) => (epoch ??= now),
      since: async (wanted) => wanted.map(since),
      sinceByRawId: async (rawIds) => rawIds.map((rawId) => since(owners.get(rawId))),
      put: async (optOuts) => {
        for (const { rawIds, ...optOut } of optOuts) {
          const before = users.get(optOut.user) ?? optOut;
          users.set(optOut.user, {
            ...before,
            through: Math.max(before.through, optOut.through),
            extendAt: Math.max(before.extendAt, optOut.extendAt),
          });
          for (const rawId of rawIds) owners.set(rawId, optOut.user);
        }
      },
      due: async (at, most) => [...users.values()].filter(({ extendAt }) => extendAt <= at).slice(0, most),
    },
    close: async () => {},
  };
}

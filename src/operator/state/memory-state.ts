/** The state of an operator in memory, which ends with the process. */

import { encodeB64 } from '../crypto/base64.ts';
import type {
  KeyStore,
  ListedParticipant,
  ParticipantStore,
  State,
  StoredGeneration,
  StoredOptOut,
  StoredParticipant,
} from '../ports/state.ts';

function memoryParticipants(): ParticipantStore {
  const rows = new Map<string, StoredParticipant & ListedParticipant>();
  return {
    isInMemory: true,
    byKeyHashes: async (keyHashes) =>
      keyHashes.flatMap((keyHash) => rows.get(keyHash) ?? []).filter(({ revokedAt }) => revokedAt === null),
    siteIds: async () => [...rows.values()].map(({ siteId }) => siteId),
    put: async (participants, now) => {
      const added: string[] = [];
      for (const participant of participants) {
        const { keyHash, optionsHash, keepStored = false } = participant;
        const before = rows.get(keyHash);
        if (!before) added.push(keyHash);
        const isSame = optionsHash !== undefined && optionsHash === before?.optionsHash;
        if (before && (before.revokedAt !== null || isSame || keepStored)) continue;
        rows.set(keyHash, {
          ...participant,
          optionsHash: optionsHash ?? before?.optionsHash,
          addedAt: before?.addedAt ?? now,
          optOutSince: before?.roles.includes('OPTOUT') ? before.optOutSince : now,
          revokedAt: null,
        });
      }
      return added;
    },
    list: async () => [...rows.values()],
    revoke: async (keyHashes, now) => {
      for (const keyHash of keyHashes) {
        const found = rows.get(keyHash);
        if (found?.revokedAt === null) rows.set(keyHash, { ...found, clientSecret: '', revokedAt: now });
      }
    },
  };
}

export function memoryKeys(): KeyStore {
  const rows = new Map<number, StoredGeneration>();
  return {
    list: async () => [...rows.values()].sort((a, b) => a.generation - b.generation),
    put: async (generations) => {
      for (const row of generations) {
        const before = rows.get(row.generation) ?? row;
        rows.set(row.generation, {
          ...before,
          retiredAt: before.retiredAt ?? row.retiredAt,
          longestMs: Math.max(before.longestMs, row.longestMs),
        });
      }
    },
  };
}

export function memoryState(): State {
  const users = new Map<string, StoredOptOut>();
  const ownersByRawId = new Map<string, string>();
  let epoch: number | undefined;
  const sinceOf = (user: string | undefined): number | undefined =>
    user === undefined ? undefined : users.get(user)?.since;

  return {
    participants: memoryParticipants(),
    keys: memoryKeys(),
    optOuts: {
      epochAt: async (now) => (epoch ??= now),
      since: async (wanted) => wanted.map(sinceOf),
      isAbsent: (user) => !users.has(encodeB64(user)),
      sinceByRawId: async (rawIds) => rawIds.map((rawId) => sinceOf(ownersByRawId.get(rawId))),
      put: async (optOuts) => {
        for (const { rawIds, ...optOut } of optOuts) {
          const before = users.get(optOut.user) ?? optOut;
          users.set(optOut.user, {
            ...before,
            through: Math.max(before.through, optOut.through),
            extendAt: Math.max(before.extendAt, optOut.extendAt),
          });
          for (const rawId of rawIds) ownersByRawId.set(rawId, optOut.user);
        }
      },
      due: async (at, limit) => [...users.values()].filter(({ extendAt }) => extendAt <= at).slice(0, limit),
    },
    close: async () => {},
  };
}

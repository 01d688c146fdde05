/** The state of an operator in memory: it ends with the process. */

import type { State, StoredOptOut, StoredParticipant } from './state.ts';

/** Create an empty state in memory. */
export function memoryState(): State {
  const participants = new Map<string, StoredParticipant>();
  const users = new Map<string, StoredOptOut>();
  const ownersByRawId = new Map<string, string>();
  let epoch: number | undefined;
  const sinceOf = (user: string | undefined): number | undefined =>
    user === undefined ? undefined : users.get(user)?.since;

  return {
    participants: {
      byKeyHash: async (keyHash) => participants.get(keyHash),
      siteIds: async () => [...participants.values()].map(({ siteId }) => siteId),
      put: async (added) => {
        for (const participant of added) participants.set(participant.keyHash, participant);
      },
    },
    optOuts: {
      epochAt: async (now) => (epoch ??= now),
      since: async (wanted) => wanted.map(sinceOf),
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

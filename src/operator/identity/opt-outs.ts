/**
 * Opt-outs: recording them, honouring them, and finding them by any raw ID that the user ever had.
 *
 * A user is known by first-level hash. Beside it stand the raw IDs of every rotation from the operator's first day to
 * the one after the present, extended as time goes on: whoever holds an old ID, the present one or soon the next one
 * learns of the opt-out. There is no opting in again.
 */

import { fromB64 } from '../../token/bytes.ts';
import { b64Text } from '../crypto/base64.ts';
import type { ExtendedOptOut, OptOutStore } from '../state/state.ts';
import type { RawIds } from './raw-ids.ts';
import { bucketOf } from './raw-ids.ts';
import type { Purpose } from './reserved-identities.ts';
import type { Salts } from './salts.ts';

/** What {@link createOptOuts} gives. Users are first-level hashes, 32 bytes; instants are epoch ms. */
export interface OptOuts {
  /** Which of these users have opted out, in order. */
  among(users: readonly Uint8Array[]): Promise<boolean[]>;
  /** Whether a user gets no token at a refresh. */
  atRefresh(user: Uint8Array): Promise<boolean>;
  /** Record an opt-out; one that is already on record stands. */
  record(user: Uint8Array, at: number): Promise<void>;
  /** When the owner of each raw ID opted out, in order, in whole seconds of ms; undefined for one who has not. */
  sinceByRawId(rawIds: readonly string[], at: number): Promise<readonly (number | undefined)[]>;
}

// Records extended in one statement: about a millisecond of hashing.
const EXTENDED_AT_ONCE = 500;

/** Keep opt-outs in a store. `rotationPeriod` in seconds. */
export function createOptOuts(parts: {
  store: OptOutStore;
  rawIds: RawIds;
  salts: Salts;
  reserved: ReadonlyMap<string, Purpose>;
  rotationPeriod: number;
  startedAt: number;
}): OptOuts {
  const { store, rawIds, salts, reserved, rotationPeriod, startedAt } = parts;
  // About a day where the period is a year: records are looked through for extension that often.
  const sweepMs = Math.floor((rotationPeriod * 1000) / 365);
  let sweepAt = Number.NEGATIVE_INFINITY;
  // A store learns of its first day on that day, not with the first opt-out. If it cannot be asked now, it will be then.
  store.epochAt(startedAt).catch(() => {});

  const amongTexts = async (texts: readonly string[]): Promise<boolean[]> => {
    const stored = await store.since(texts);
    return texts.map((text, at) => {
      const purpose = reserved.get(text);
      return purpose ? purpose === 'optout' : stored[at] !== undefined;
    });
  };

  // What to put on record: the raw IDs from `first` to the rotation after the present one.
  const recordOf = (user: Uint8Array, since: number, first: number, at: number): ExtendedOptOut => {
    const { number, since: began } = salts.rotation(bucketOf(user), at);
    const ids: string[] = [];
    for (let rotation = first; rotation <= number + 1; rotation++) ids.push(rawIds.during(user, rotation));
    const extendAt = (began + rotationPeriod) * 1000;
    return { user: b64Text(user), since, through: number + 1, extendAt, rawIds: ids };
  };

  let sweeping: Promise<void> | undefined;
  const sweep = async (at: number): Promise<void> => {
    // Due within the next day as well: until the next sweep nothing falls behind. An extended one is due no more.
    for (;;) {
      const due = await store.due(at + sweepMs, EXTENDED_AT_ONCE);
      if (due.length === 0) break;
      await store.put(
        due.map(({ user, since, through, extendAt }) =>
          recordOf(fromB64(user), since, through + 1, Math.max(at, extendAt)),
        ),
      );
    }
    sweepAt = at + sweepMs;
  };

  return {
    among: (users) => amongTexts(users.map(b64Text)),
    atRefresh: async (user) => {
      const text = b64Text(user);
      return reserved.get(text) === 'refreshOptout' || (await amongTexts([text]))[0] === true;
    },
    record: async (user, at) => {
      // From the rotation before the first day on: its ID was told as the previous one.
      const first = salts.rotation(bucketOf(user), Math.min(await store.epochAt(startedAt), at)).number - 1;
      await store.put([recordOf(user, Math.floor(at / 1000) * 1000, first, at)]);
    },
    sinceByRawId: async (wanted, at) => {
      if (at >= sweepAt)
        await (sweeping ??= sweep(at).finally(() => {
          sweeping = undefined;
        }));
      return store.sinceByRawId(wanted);
    },
  };
}

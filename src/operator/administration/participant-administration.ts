/** An operator's participants, by an ID from the keyed hash of the API key, so that nobody needs the key itself. */

import type { Secrets } from '../crypto/secrets.ts';
import { hashApiKey, randomCredentials } from '../identity/participants.ts';
import { checkCredentials } from '../options/credentials.ts';
import type { Credentials, GivenCredentials } from '../ports/roles.ts';
import type { ListedParticipant } from '../ports/state.ts';
import type { StoredInstallation } from '../state/installation.ts';
import type { ParticipantRows } from '../state/participant-rows.ts';

/** Credentials of a participant, and its ID. Secret. */
export interface StoredCredentials extends Credentials {
  readonly keyHash: string;
}

/** The change of a participant. Omitted members do not change. */
export interface ParticipantChange extends Omit<GivenCredentials, 'apiKey'> {
  readonly newSecret?: boolean | undefined;
}

/** Manages the participants in a database. */
export interface ParticipantAdministration {
  list(): Promise<readonly ListedParticipant[]>;
  /**
   * Add a participant. An omitted API key or secret is generated at random.
   *
   * @throws {RangeError} if its API key belongs to another participant, or has been revoked.
   */
  add(given: GivenCredentials): Promise<StoredCredentials>;
  /**
   * @param id  the first 8 or more digits of its `keyHash`.
   * @returns the changed participant, without its API key, which is not stored. Secret.
   * @throws {RangeError} if `id` does not identify exactly one participant that is not revoked, or if nothing would change.
   */
  update(id: string, change: ParticipantChange): Promise<Omit<StoredCredentials, 'apiKey'>>;
  /**
   * Revoke participants permanently, by `ids` as for `update`.
   *
   * @throws {RangeError} if one does not identify exactly one participant. Then none is revoked.
   */
  revoke(ids: readonly string[]): Promise<readonly ListedParticipant[]>;
}

const ID_PATTERN = /^[0-9a-f]{8,64}$/;

async function findByIds(store: ParticipantRows, ids: readonly string[]): Promise<string[]> {
  const all = await store.list(ids.filter((id) => ID_PATTERN.test(id)));
  return ids.map((id) => {
    const found = all.filter(({ keyHash }) => keyHash.startsWith(id));
    if (found.length === 1) return found[0]!.keyHash;
    throw new RangeError(
      `participants: expected the ID of one participant, or its first 8 or more digits, found ${found.length || 'none'}; tessera participants list shows the IDs`,
    );
  });
}

export function participantsOf(
  store: ParticipantRows,
  secrets: () => Secrets,
  { environment, scope }: StoredInstallation,
  now: () => number,
): ParticipantAdministration {
  return {
    list: () => store.list(),
    add: async (given) => {
      checkCredentials('', given);
      const credentials = randomCredentials(given, environment, scope);
      const keyHash = hashApiKey(secrets(), credentials.apiKey);
      if (await store.add({ ...credentials, keyHash }, now())) return { ...credentials, keyHash };
      const [before] = await store.list([keyHash]);
      if (before!.revokedAt !== null)
        throw new RangeError('participants: expected an API key that has not been revoked, got a revoked one');
      throw new RangeError(
        `participants: expected an API key that no participant has, got that of ${keyHash.slice(0, 16)} on site ${before!.siteId}; use update to change a participant`,
      );
    },
    update: async (id, { newSecret = false, ...given }) => {
      checkCredentials('', given);
      const changes = Object.entries(given).filter(([, value]) => value !== undefined);
      if (changes.length === 0 && !newSecret)
        throw new RangeError('participants: expected a site ID, roles or a client secret to change, got none');
      if (newSecret && given.clientSecret !== undefined)
        throw new RangeError('newSecret: expected no client secret with it, got one');
      const [keyHash] = (await findByIds(store, [id])) as [string];
      const { apiKey: _, ...random } = randomCredentials(given, environment, scope);
      const isNew = newSecret || given.clientSecret !== undefined;
      const changed = await store.update(keyHash, now(), (stored) => {
        const { clientSecret, siteId, roles } = { ...stored, ...Object.fromEntries(changes) };
        return { keyHash, clientSecret: isNew ? random.clientSecret : clientSecret, siteId, roles };
      });
      if (changed) return changed;
      throw new RangeError('participants: expected a participant that has not been revoked, got a revoked one');
    },
    revoke: async (ids) => {
      const hashes = await findByIds(store, ids);
      await store.revoke(hashes, now());
      return store.list(hashes);
    },
  };
}

/**
 * Participants: who may call, with which roles, and the secret that seals their requests and answers.
 *
 * API keys are kept only as a keyed hash. A caller's key is hashed and looked up by that hash: how long the look-up
 * takes tells nothing, since nobody without the root secret knows what the hash of a guess is.
 */

import { type Bytes, fromB64, toB64, toHex } from '../../token/bytes.ts';
import { type AesKey, aesKey } from '../../token/cipher.ts';
import { parseHash } from '../../token/index.ts';
import type { Environment, Scope, Secrets } from '../crypto/secrets.ts';
import type { ParticipantStore, StoredParticipant } from '../state/state.ts';
import type { Credentials, GivenCredentials, Role } from './roles.ts';
import { ROLES } from './roles.ts';

/** A caller whose API key is known. */
export interface Participant {
  readonly siteId: number;
  readonly roles: ReadonlySet<Role>;
  /** Seals requests and answers. */
  readonly secret: AesKey;
  /** Tells participants apart without being a credential. */
  readonly keyHash: string;
}

/** What {@link createParticipants} gives. */
export interface Participants {
  /** Who presents this `Authorization` header; undefined for nobody known. */
  find(authorization: string | undefined): Promise<Participant | undefined>;
  /** Site ids of all participants, ascending. */
  siteIds(): Promise<readonly number[]>;
  /** Put those that the options named on record: for the other nodes, and for a start without them. */
  keep(): Promise<void>;
}

/** Site of credentials that were given no site. */
const DEFAULT_SITE_ID = 101;

// <scope>-C-<letter>-<site id>-<6 characters>.<38 characters>, the shape of the ecosystem's keys.
const makeApiKey = (secrets: Secrets, siteId: number, environment: Environment, scope: Scope): string => {
  const bytes = secrets.derive(`api-key/${siteId}`);
  const text = toB64(bytes.subarray(3)).replace(/[+/=]/g, 'x');
  return `${scope}-C-${environment === 'production' ? 'P' : 'I'}-${siteId}-${toHex(bytes.subarray(0, 3))}.${text.slice(0, 38)}`;
};

/**
 * Complete credentials: what is missing is derived from the root secret, so that it is the same after a restart.
 */
export function completeCredentials(
  given: GivenCredentials,
  secrets: Secrets,
  environment: Environment,
  scope: Scope,
): Credentials {
  const siteId = given.siteId ?? DEFAULT_SITE_ID;
  const apiKey = given.apiKey ?? makeApiKey(secrets, siteId, environment, scope);
  return {
    apiKey,
    // Hexadecimal is read as well, and base64 is what goes on.
    clientSecret: toB64(parseHash(given.clientSecret ?? '') ?? secrets.derive(`client-secret/${apiKey}`)),
    siteId,
    roles: given.roles ?? ROLES,
  };
}

// Ready keys of participants that were seen: importing one takes longer than a look-up.
const CACHED_PARTICIPANTS = 10_000;

/**
 * Find participants.
 *
 * @param configured  those named in the options; they come before those of the store.
 */
export function createParticipants(
  store: ParticipantStore,
  configured: readonly Credentials[],
  secrets: Secrets,
): Participants {
  const hashOf = (apiKey: string): string => toHex(secrets.derive(`api-key-hash/${apiKey}`));
  const own = new Map<string, StoredParticipant>(
    configured.map((one) => {
      const keyHash = hashOf(one.apiKey);
      return [keyHash, { ...one, keyHash }];
    }),
  );
  const ready = new Map<string, Promise<AesKey>>();
  const readyKey = (secret: string): Promise<AesKey> => {
    const cached = ready.get(secret);
    if (cached) return cached;
    const made = aesKey(fromB64(secret) as Bytes);
    if (ready.size >= CACHED_PARTICIPANTS) ready.clear();
    ready.set(secret, made);
    return made;
  };

  return {
    find: async (authorization) => {
      const apiKey = /^bearer (.*)$/is.exec(authorization?.trim() ?? '')?.[1];
      if (!apiKey) return undefined;
      const keyHash = hashOf(apiKey);
      const found = own.get(keyHash) ?? (await store.byKeyHash(keyHash));
      if (!found) return undefined;
      const { siteId, roles, clientSecret } = found;
      return { siteId, roles: new Set(roles), secret: await readyKey(clientSecret), keyHash };
    },
    siteIds: async () => {
      const ids = new Set([...[...own.values()].map(({ siteId }) => siteId), ...(await store.siteIds())]);
      return [...ids].sort((a, b) => a - b);
    },
    keep: () => store.put([...own.values()]),
  };
}

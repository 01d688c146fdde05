/**
 * Participants: who may call, with which roles, and the secret that seals their requests and answers.
 *
 * API keys are kept only as keyed hashes. A caller's key is hashed and looked up by that hash: the time of the look-up
 * reveals nothing, because the hash of a guess is known only with the root secret.
 *
 * @see docs/protocol.md, "Roles"
 */

import { type Bytes, fromB64, toB64, toHex } from '../../token/bytes.ts';
import { type AesKey, aesKey } from '../../token/cipher.ts';
import { parseHash } from '../../token/index.ts';
import type { Environment, Scope, Secrets } from '../crypto/secrets.ts';
import type { ParticipantStore, StoredParticipant } from '../state/state.ts';
import type { Credentials, GivenCredentials, Role } from './roles.ts';
import { ROLES } from './roles.ts';

/** A caller with a known API key. */
export interface Participant {
  readonly siteId: number;
  readonly roles: ReadonlySet<Role>;
  /** Seals requests and answers. */
  readonly secret: AesKey;
  /** Identifies the participant; not a credential. */
  readonly keyHash: string;
}

/** Participants of one operator. */
export interface Participants {
  /** Find the participant of an `Authorization` header; undefined if it is missing, malformed or unknown. */
  find(authorization: string | undefined): Promise<Participant | undefined>;
  /** Return the site IDs of all participants, ascending. */
  siteIds(): Promise<readonly number[]>;
  /** Store the participants of the options, for other nodes and for later starts without them. */
  storeConfigured(): Promise<void>;
}

const DEFAULT_SITE_ID = 101;

// <scope>-C-<I or P>-<site ID>-<6 characters>.<38 characters>: the format of the ecosystem's API keys.
const deriveApiKey = (secrets: Secrets, siteId: number, environment: Environment, scope: Scope): string => {
  const bytes = secrets.derive(`api-key/${siteId}`);
  const text = toB64(bytes.subarray(3)).replace(/[+/=]/g, 'x');
  return `${scope}-C-${environment === 'production' ? 'P' : 'I'}-${siteId}-${toHex(bytes.subarray(0, 3))}.${text.slice(0, 38)}`;
};

/**
 * Complete credentials. What is missing is derived from the root secret, so it is the same after a restart.
 *
 * @param given  `clientSecret` may be base64 or hexadecimal; the result holds base64.
 */
export function completeCredentials(
  given: GivenCredentials,
  secrets: Secrets,
  environment: Environment,
  scope: Scope,
): Credentials {
  const siteId = given.siteId ?? DEFAULT_SITE_ID;
  const apiKey = given.apiKey ?? deriveApiKey(secrets, siteId, environment, scope);
  return {
    apiKey,
    clientSecret: toB64(parseHash(given.clientSecret ?? '') ?? secrets.derive(`client-secret/${apiKey}`)),
    siteId,
    roles: given.roles ?? ROLES,
  };
}

// Importing an AES key takes longer than a look-up, so imported keys are cached; a full cache is emptied.
const MAX_CACHED_SECRETS = 10_000;

/**
 * Create the participants of an operator.
 *
 * @param configured  participants of the options; they take precedence over stored ones with the same API key.
 */
export function createParticipants(
  store: ParticipantStore,
  configured: readonly Credentials[],
  secrets: Secrets,
): Participants {
  const hashOf = (apiKey: string): string => toHex(secrets.derive(`api-key-hash/${apiKey}`));
  const configuredByHash = new Map<string, StoredParticipant>(
    configured.map((credentials) => {
      const keyHash = hashOf(credentials.apiKey);
      return [keyHash, { ...credentials, keyHash }];
    }),
  );
  const cache = new Map<string, Promise<AesKey>>();
  const importSecret = (clientSecret: string): Promise<AesKey> => {
    const cached = cache.get(clientSecret);
    if (cached) return cached;
    const imported = aesKey(fromB64(clientSecret) as Bytes);
    if (cache.size >= MAX_CACHED_SECRETS) cache.clear();
    cache.set(clientSecret, imported);
    return imported;
  };

  return {
    find: async (authorization) => {
      const apiKey = /^bearer (.*)$/is.exec(authorization?.trim() ?? '')?.[1];
      if (!apiKey) return undefined;
      const keyHash = hashOf(apiKey);
      const found = configuredByHash.get(keyHash) ?? (await store.byKeyHash(keyHash));
      if (!found) return undefined;
      const { siteId, roles, clientSecret } = found;
      return { siteId, roles: new Set(roles), secret: await importSecret(clientSecret), keyHash };
    },
    siteIds: async () => {
      const configuredIds = [...configuredByHash.values()].map(({ siteId }) => siteId);
      return [...new Set([...configuredIds, ...(await store.siteIds())])].sort((a, b) => a - b);
    },
    storeConfigured: () => store.put([...configuredByHash.values()]),
  };
}

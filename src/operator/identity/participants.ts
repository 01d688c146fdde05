/**
 * Participants: who may call, with which roles and which secret (docs/protocol.md, "Roles"). A key is looked up by its keyed
 * hash: the duration reveals nothing, because the hash of a guess requires the root secret.
 */

import { type Bytes, fromB64, toB64, toHex } from '../../token/bytes.ts';
import { type AesKey, aesKey } from '../../token/cipher.ts';
import { parseHash } from '../../token/index.ts';
import { randomBytes } from '../crypto/random.ts';
import type { Environment, Scope, Secrets } from '../crypto/secrets.ts';
import { type Credentials, DEFAULT_ROLES, DEFAULT_SITE_ID, type GivenCredentials, type Role } from '../ports/roles.ts';
import type { ParticipantStore, StoredParticipant } from '../ports/state.ts';

/** A caller with a known API key. */
export interface Participant {
  readonly siteId: number;
  readonly roles: ReadonlySet<Role>;
  /** When it got the role OPTOUT, epoch ms; 0 if that is not known. */
  readonly optOutSince: number;
  /** Seals requests and answers. */
  readonly secret: AesKey;
  /** Identifies the participant; not a credential. */
  readonly keyHash: string;
}

/**
 * The stored status of a participant from the options after the start.
 *
 * - `added`: this start added it.
 * - `kept`: it was stored before and matches the options.
 * - `changed`: it was changed after the options were applied, and the stored values are in force.
 * - `revoked`: it was revoked and may not call.
 */
export type ParticipantStatus = 'added' | 'kept' | 'changed' | 'revoked';

export interface StoredStatus {
  readonly status: ParticipantStatus;
  readonly keyHash: string;
  /** Whether this start changed the stored values. */
  readonly isUpdated: boolean;
}

export interface Participants {
  /** Find the participant of an `Authorization` header; undefined if it is missing, malformed or unknown. */
  find(authorization: string | undefined): Promise<Participant | undefined>;
  /** Return the site IDs of all participants, ascending, as they were within the last {@link CACHE_MS}. */
  siteIds(): Promise<readonly number[]>;
  /** Store the participants from the options, for other nodes and for later starts without them. */
  storeConfigured(): Promise<readonly StoredStatus[]>;
}

/** <scope>-C-<I or P>-<site ID>-<6 characters>.<38 characters>: the format of the API keys of UID2. */
function apiKeyFrom(bytes: Bytes, siteId: number, environment: Environment, scope: Scope): string {
  const text = toB64(bytes.subarray(3)).replace(/[+/=]/g, 'x');
  return `${scope}-C-${environment === 'production' ? 'P' : 'I'}-${siteId}-${toHex(bytes.subarray(0, 3))}.${text.slice(0, 38)}`;
}

/** Missing ones are derived from the root secret, the same after a restart. A hexadecimal `clientSecret` becomes base64. */
export function completeCredentials(
  given: GivenCredentials,
  { derive }: Pick<Secrets, 'derive'>,
  environment: Environment,
  scope: Scope,
): Credentials {
  const siteId = given.siteId ?? DEFAULT_SITE_ID;
  const apiKey = given.apiKey ?? apiKeyFrom(derive(`api-key/${siteId}`), siteId, environment, scope);
  return {
    apiKey,
    clientSecret: toB64(parseHash(given.clientSecret ?? '') ?? derive(`client-secret/${apiKey}`)),
    siteId,
    roles: given.roles ?? DEFAULT_ROLES,
  };
}

/** Complete credentials as {@link completeCredentials} does, but at random: each call returns different ones. */
export function randomCredentials(given: GivenCredentials, environment: Environment, scope: Scope): Credentials {
  return completeCredentials(given, { derive: () => randomBytes(32) }, environment, scope);
}

/** Real time, ms: a revocation or a changed secret reaches every node within a second. */
export const CACHE_MS = 500;
const MAX_CACHED = 10_000;

function createLookUp(store: ParticipantStore) {
  const known = new Map<string, { readonly participant: Participant; readonly readAt: number }>();
  // Importing an AES key takes longer than a look-up.
  const keys = new Map<string, Promise<AesKey>>();
  const remember = <T>(cache: Map<string, T>, name: string, value: T): T => {
    if (cache.size >= MAX_CACHED) cache.delete(cache.keys().next().value!);
    cache.set(name, value);
    return value;
  };

  const read = async (keyHash: string): Promise<Participant | undefined> => {
    const [found] = await store.byKeyHashes([keyHash]);
    if (!found) return undefined;
    const { siteId, roles, clientSecret, optOutSince } = found;
    const secret = await (keys.get(clientSecret) ??
      remember(keys, clientSecret, aesKey(fromB64(clientSecret) as Bytes)));
    return { siteId, roles: new Set(roles), optOutSince: optOutSince ?? 0, secret, keyHash };
  };

  return async (keyHash: string): Promise<Participant | undefined> => {
    const now = performance.now();
    const cached = known.get(keyHash);
    if (cached && now - cached.readAt < CACHE_MS) return cached.participant;
    const participant = await read(keyHash);
    if (participant) remember(known, keyHash, { participant, readAt: now });
    else known.delete(keyHash);
    return participant;
  };
}

function createSiteIds(store: ParticipantStore): Participants['siteIds'] {
  let last: { readonly readAt: number; readonly ids: Promise<readonly number[]> } | undefined;
  return () => {
    const readAt = performance.now();
    if (last && readAt - last.readAt < CACHE_MS) return last.ids;
    const ids = store.siteIds().then((all) => [...new Set(all)].sort((a, b) => a - b));
    const reading = { readAt, ids };
    last = reading;
    ids.catch(() => {
      if (last === reading) last = undefined;
    });
    return ids;
  };
}

interface ParticipantParts {
  readonly store: ParticipantStore;
  /** The participants from the options. */
  readonly configured: readonly (Credentials & Pick<StoredParticipant, 'keepStored'>)[];
  readonly secrets: Secrets;
  /** The operator's clock, epoch ms. */
  readonly now: () => number;
}

/** Compute the stored form of an API key: 64 hexadecimal digits. */
export function hashApiKey(secrets: Secrets, apiKey: string): string {
  return toHex(secrets.derive(`api-key-hash/${apiKey}`));
}

/** Identifies the options of a participant without revealing them. */
function hashOptions(secrets: Secrets, { apiKey, clientSecret, siteId, roles }: Credentials): string {
  return toHex(secrets.derive(`participant-options/${JSON.stringify([apiKey, clientSecret, siteId, roles])}`));
}

function isSameParticipant(one: StoredParticipant, other: StoredParticipant): boolean {
  return one.clientSecret === other.clientSecret && one.siteId === other.siteId && `${one.roles}` === `${other.roles}`;
}

export function createParticipants({ store, configured, secrets, now }: ParticipantParts): Participants {
  const lookUp = createLookUp(store);

  return {
    find: async (authorization) => {
      const apiKey = /^bearer (.*)$/is.exec(authorization?.trim() ?? '')?.[1];
      return apiKey ? lookUp(hashApiKey(secrets, apiKey)) : undefined;
    },
    siteIds: createSiteIds(store),
    storeConfigured: async () => {
      const given = configured.map((credentials) => ({
        ...credentials,
        keyHash: hashApiKey(secrets, credentials.apiKey),
        optionsHash: hashOptions(secrets, credentials),
      }));
      const readStored = async () => {
        const all = await store.byKeyHashes(given.map(({ keyHash }) => keyHash));
        return new Map(all.map((each) => [each.keyHash, each]));
      };
      const before = await readStored();
      const added = new Set(await store.put(given, now()));
      const after = await readStored();
      return given.map((options): StoredStatus => {
        const { keyHash } = options;
        const stored = after.get(keyHash);
        const former = before.get(keyHash);
        const isSame = stored && isSameParticipant(stored, options);
        return {
          keyHash,
          isUpdated: !!stored && !!former && !isSameParticipant(stored, former),
          status: !stored ? 'revoked' : !isSame ? 'changed' : added.has(keyHash) ? 'added' : 'kept',
        };
      });
    },
  };
}

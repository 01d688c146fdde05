/**
 * The key endpoints: `POST /v2/key/sharing`, `/v2/key/bidstream` and `/v2/key/latest`. Libraries open tokens with these keys, and
 * those of sharers also seal them.
 *
 * Everyone receives the master keys and those of their own site. The keys of another site go to the sites that the option
 * `sharing` lists for it or, if it lists none for that site, to every ID_READER. Nobody receives a refresh key.
 *
 * @see docs/protocol.md, "Tokens" and "Endpoints"
 */

import { toB64 } from '../../token/bytes.ts';
import { MASTER, type TokenKey } from '../crypto/keys.ts';
import type { Service } from '../service.ts';
import { SHARING_TOKEN_MS } from '../tokens/key-generations.ts';
import type { Endpoint, EndpointCall } from './endpoint.ts';
import { invalidClient, success } from './result.ts';

/** `allow_clock_skew_seconds` of the answers that have it, s. */
const CLOCK_SKEW_SECONDS = 1800;
/** Added to every maximum lifetime, s. */
const LIFETIME_MARGIN_SECONDS = 10;
/** A key opens until its generation is retired. Clients require an expiry time, and drop a key that is no longer listed. */
const KEY_LIFETIME_SECONDS = 31_536_000;

/**
 * The keys that a participant may read, grouped by owner, each owner's keys in the order of their activation. Announced keys are
 * included, so that clients have a key before the first token under it.
 */
async function readableKeys({ now, participant }: EndpointCall, service: Service): Promise<TokenKey[]> {
  const { participants, settings } = service;
  const keys = await service.keys.at(now);
  const isReader = participant.roles.has('ID_READER');
  const mayDecrypt = (owner: number): boolean =>
    owner === participant.siteId || (settings.sharing.get(owner)?.has(participant.siteId) ?? isReader);
  const sites = new Set([participant.siteId, ...(await participants.siteIds())]);
  return [MASTER, ...[...sites].filter(mayDecrypt).sort((a, b) => a - b)].flatMap((siteId) => keys.generations(siteId));
}

/** The wire form of a key. Clients that seal use the newest activated key of their site. */
function keyRow({ id, generation, secret }: TokenKey, now: number, service: Service): object {
  const activates = Math.floor((service.keys.rowOf(generation)?.activatesAt ?? now) / 1000);
  return {
    id,
    created: activates,
    activates,
    expires: Math.floor(now / 1000) + KEY_LIFETIME_SECONDS,
    secret: toB64(secret),
  };
}

function siteRows(keys: readonly TokenKey[]): object[] {
  return [...new Set(keys.map(({ siteId }) => siteId))]
    .filter((siteId) => siteId !== MASTER)
    .map((id) => ({ id, domain_names: [] }));
}

const MASTER_KEYSET = 9_999_999;

/** Every site's keyset number is greater than the master's, so they never collide. */
function keysetOf(siteId: number): number {
  return 10_000_000 + siteId;
}

const SHARING_TOKEN_SECONDS = SHARING_TOKEN_MS / 1000;

/** Returns the keys with which a sharer's library opens and seals tokens. */
export const keySharing: Endpoint = {
  path: '/v2/key/sharing',
  roles: ['SHARER', 'ID_READER'],
  handle: async (call, service) => {
    const { now, participant } = call;
    const keys = await readableKeys(call, service);
    const keyset = (siteId: number): object => {
      if (siteId === MASTER) return { keyset_id: MASTER_KEYSET };
      return siteId === participant.siteId ? { keyset_id: keysetOf(siteId) } : {};
    };
    return success({
      caller_site_id: participant.siteId,
      master_keyset_id: MASTER_KEYSET,
      default_keyset_id: keysetOf(participant.siteId),
      // A string, unlike the other durations, because real services send a string and real clients parse one.
      token_expiry_seconds: `${SHARING_TOKEN_SECONDS}`,
      ...(participant.roles.has('SHARER') && {
        max_sharing_lifetime_seconds: SHARING_TOKEN_SECONDS + LIFETIME_MARGIN_SECONDS,
      }),
      identity_scope: service.settings.scope,
      allow_clock_skew_seconds: CLOCK_SKEW_SECONDS,
      keys: keys.map((key) => ({ ...keyRow(key, now, service), ...keyset(key.siteId) })),
      site_data: siteRows(keys),
    });
  },
};

/** Returns the keys with which a bidder's library opens advertising tokens. */
export const keyBidstream: Endpoint = {
  path: '/v2/key/bidstream',
  roles: ['ID_READER'],
  handle: async (call, service) => {
    const keys = await readableKeys(call, service);
    const { identityExpiresMs, scope } = service.settings;
    return success({
      max_bidstream_lifetime_seconds: Math.ceil(identityExpiresMs / 1000) + LIFETIME_MARGIN_SECONDS,
      identity_scope: scope,
      allow_clock_skew_seconds: CLOCK_SKEW_SECONDS,
      keys: keys.map((key) => keyRow(key, call.now, service)),
      site_data: siteRows(keys),
    });
  },
};

/** The site IDs of UID2's own keysets: no participant has one of them. */
const LAST_RESERVED_SITE = 2;

/** Returns the keys in the format of older bidder libraries: one list with the site of each key. */
export const keyLatest: Endpoint = {
  path: '/v2/key/latest',
  roles: ['ID_READER'],
  handle: async (call, service) => {
    const { siteId } = call.participant;
    if (siteId <= LAST_RESERVED_SITE) return invalidClient(`Unexpected client site id ${siteId}`);
    const keys = await readableKeys(call, service);
    return success(keys.map((key) => ({ ...keyRow(key, call.now, service), site_id: key.siteId })));
  },
};

/**
 * `POST /v2/key/sharing` and `/v2/key/bidstream`: the keys with which the ecosystem's libraries open advertising tokens.
 *
 * Bidders get the keys of every site, sharers those of their own; the master keys both; the refresh keys nobody.
 *
 * @see shared wire facts 6.5
 */

import { toB64 } from '../../token/bytes.ts';
import type { TokenKey } from '../crypto/keys.ts';
import { MASTER } from '../crypto/keys.ts';
import type { Service } from '../service.ts';
import type { Call, Endpoint } from './endpoint.ts';
import { success } from './result.ts';

const MASTER_KEYSET = 9_999_999;
// Beyond the master's, so that no site's can be the same.
const keysetOf = (siteId: number): number => 10_000_000 + siteId;

const CLOCK_SKEW_SECONDS = 1800;
const SHARING_TOKEN_SECONDS = 2_592_000;
const SLACK_SECONDS = 10;
// Keys do not expire here; clients want a time all the same.
const KEY_LIFE_SECONDS = 31_536_000;

const keysFor = async ({ participant }: Call, { keys, participants }: Service): Promise<TokenKey[]> => {
  const sites = participant.roles.has('ID_READER') ? await participants.siteIds() : [participant.siteId];
  return [MASTER, ...sites].flatMap((siteId) => keys.all(siteId)).sort((a, b) => a.id - b.id);
};

// Generations were active one after the other: clients want the order, and have no use for the times.
const told = ({ id, generation, secret }: TokenKey, at: number): object => ({
  id,
  created: generation,
  activates: generation,
  expires: Math.floor(at / 1000) + KEY_LIFE_SECONDS,
  secret: toB64(secret),
});

const siteRows = (keys: readonly TokenKey[]): object[] =>
  [...new Set(keys.map(({ siteId }) => siteId))]
    .filter((siteId) => siteId !== MASTER)
    .map((id) => ({ id, domain_names: [] }));

export const keySharing: Endpoint = {
  path: '/v2/key/sharing',
  roles: ['SHARER', 'ID_READER'],
  answer: async (call, service) => {
    const { at, participant } = call;
    const keys = await keysFor(call, service);
    const keyset = (siteId: number): object =>
      siteId === MASTER
        ? { keyset_id: MASTER_KEYSET }
        : siteId === participant.siteId
          ? { keyset_id: keysetOf(siteId) }
          : {};
    return success({
      caller_site_id: participant.siteId,
      master_keyset_id: MASTER_KEYSET,
      default_keyset_id: keysetOf(participant.siteId),
      // A text, unlike its neighbours: so real services write it and real clients read it.
      token_expiry_seconds: `${SHARING_TOKEN_SECONDS}`,
      ...(participant.roles.has('SHARER') && { max_sharing_lifetime_seconds: SHARING_TOKEN_SECONDS + SLACK_SECONDS }),
      identity_scope: service.settings.scope,
      allow_clock_skew_seconds: CLOCK_SKEW_SECONDS,
      keys: keys.map((key) => ({ ...told(key, at), ...keyset(key.siteId) })),
      site_data: siteRows(keys),
    });
  },
};

export const keyBidstream: Endpoint = {
  path: '/v2/key/bidstream',
  roles: ['ID_READER'],
  answer: async (call, service) => {
    const keys = await keysFor(call, service);
    const { identityExpiresMs, scope } = service.settings;
    return success({
      max_bidstream_lifetime_seconds: Math.ceil(identityExpiresMs / 1000) + SLACK_SECONDS,
      identity_scope: scope,
      allow_clock_skew_seconds: CLOCK_SKEW_SECONDS,
      keys: keys.map((key) => told(key, call.at)),
      site_data: siteRows(keys),
    });
  },
};

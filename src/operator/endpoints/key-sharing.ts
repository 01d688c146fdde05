/**
 * `POST /v2/key/sharing`: returns the keys with which a sharer's library opens and seals tokens.
 *
 * @see docs/protocol.md, "Endpoints"
 */

import { MASTER } from '../crypto/keys.ts';
import { SHARING_TOKEN_MS } from '../tokens/key-generations.ts';
import type { Endpoint } from './endpoint.ts';
import { CLOCK_SKEW_SECONDS, keyRow, LIFETIME_MARGIN_SECONDS, readableKeys, siteRows } from './key-list.ts';
import { success } from './result.ts';

const MASTER_KEYSET = 9_999_999;
// Every site's keyset number is greater than the master's, so they never collide.
const keysetOf = (siteId: number): number => 10_000_000 + siteId;

const SHARING_TOKEN_SECONDS = SHARING_TOKEN_MS / 1000;

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

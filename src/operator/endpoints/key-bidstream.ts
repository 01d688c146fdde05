/**
 * `POST /v2/key/bidstream`: returns the keys with which a bidder's library opens advertising tokens.
 *
 * @see docs/protocol.md, "Endpoints"
 */

import type { Endpoint } from './endpoint.ts';
import { CLOCK_SKEW_SECONDS, keyRow, LIFETIME_MARGIN_SECONDS, readableKeys, siteRows } from './key-list.ts';
import { success } from './result.ts';

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

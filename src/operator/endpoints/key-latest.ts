/**
 * `POST /v2/key/latest`: returns the token keys in the format of older bidder libraries, one list with the site of each key.
 *
 * @see docs/protocol.md, "Tokens"
 */

import type { Endpoint } from './endpoint.ts';
import { keyRow, readableKeys } from './key-list.ts';
import { invalidClient, success } from './result.ts';

// The site IDs of UID2's own keysets: no participant has one of them.
const LAST_RESERVED_SITE = 2;

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

/** `POST /v2/optout/status`: returns which raw IDs belong to users who have opted out, and since when. */

import type { Endpoint } from './endpoint.ts';
import { clientError, success } from './result.ts';

const MAX_IDS = 5000;

export const optOutStatus: Endpoint = {
  path: '/v2/optout/status',
  roles: ['MAPPER', 'SHARER', 'ID_READER'],
  handle: async ({ now, payload }, { optOuts }) => {
    if (!payload) return clientError('Invalid request body');
    const ids: unknown = payload.advertising_ids ?? undefined;
    if (ids === undefined) return clientError('Required Parameter Missing: advertising_ids');
    if (!Array.isArray(ids)) return clientError('advertising_ids must be an array');
    if (ids.length > MAX_IDS)
      return clientError(`Request payload is too large: expected at most ${MAX_IDS} raw IDs, got ${ids.length}`);
    const texts = ids.map((id) => (typeof id === 'string' ? id : ''));
    const since = await optOuts.sinceByRawId(texts, now);
    const opted_out = texts.flatMap((advertising_id, index) => {
      const opted_out_since = since[index];
      return opted_out_since === undefined ? [] : [{ advertising_id, opted_out_since }];
    });
    return success({ opted_out });
  },
};

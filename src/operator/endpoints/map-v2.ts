/** `POST /v2/identity/map` (deprecated): raw IDs and salt buckets for one list of DII. */

import { DII_FORMS } from '../../token/index.ts';
import { bucketName } from './bucket-list.ts';
import { DEPRECATION_HEADERS, type Endpoint } from './endpoint.ts';
import { batchSizeError, mapBatch, stringElement } from './map-batch.ts';
import { EXACTLY_ONE } from './request-dii.ts';
import { clientError, success } from './result.ts';

export const mapV2: Endpoint = {
  path: '/v2/identity/map',
  roles: ['MAPPER'],
  rateLimited: true,
  headers: DEPRECATION_HEADERS,
  handle: async ({ now, payload, pause }, service) => {
    const lists: { form: (typeof DII_FORMS)[number]; list: unknown[] }[] = [];
    for (const form of DII_FORMS) {
      const list = payload?.[form] ?? undefined;
      if (list === undefined) continue;
      if (!Array.isArray(list)) return clientError(`${form} must be an array`);
      lists.push({ form, list });
    }
    const filled = lists.filter(({ list }) => list.length > 0);
    if (lists.length === 0 || filled.length > 1) return clientError(EXACTLY_ONE);
    const [only] = filled;
    if (!only) return success({ mapped: [] });

    const { form, list } = only;
    const sizeError = batchSizeError(list.length, service);
    if (sizeError) return sizeError;
    const texts = list.map(stringElement);
    if (texts.includes(undefined)) return clientError(`${form} must be an array of strings`);
    const identifiers = (texts as string[]).map((text) => ({ form, text }));
    const mapped: object[] = [];
    const unmapped: object[] = [];
    await mapBatch(identifiers, { now, pause }, 'v2', service, ({ text: identifier }, result) => {
      if (typeof result === 'string') unmapped.push({ identifier, reason: result });
      else mapped.push({ identifier, advertising_id: result.current, bucket_id: bucketName(result.bucket) });
    });
    return success(unmapped.length ? { mapped, unmapped } : { mapped });
  },
};

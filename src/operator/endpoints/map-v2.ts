/** `POST /v2/identity/map` (deprecated): raw IDs and their salt buckets for one list of DII. */

import { DII_FORMS } from '../../token/index.ts';
import { bucketName } from './bucket-list.ts';
import { DEPRECATED, type Endpoint } from './endpoint.ts';
import { elementText, mapMany, tooMany } from './map-batch.ts';
import { EXACTLY_ONE } from './request-dii.ts';
import { clientError, success } from './result.ts';

export const mapV2: Endpoint = {
  path: '/v2/identity/map',
  roles: ['MAPPER'],
  limited: true,
  headers: DEPRECATED,
  answer: async ({ at, payload }, service) => {
    const lists = DII_FORMS.flatMap((form) => {
      const list = payload?.[form] ?? undefined;
      return list === undefined ? [] : [{ form, list }];
    });
    for (const { form, list } of lists) if (!Array.isArray(list)) return clientError(`${form} must be an array`);
    const given = lists as { form: (typeof DII_FORMS)[number]; list: unknown[] }[];
    const full = given.filter(({ list }) => list.length > 0);
    if (given.length === 0 || full.length > 1) return clientError(EXACTLY_ONE);
    const [only] = full;
    if (!only) return success({ mapped: [] });

    const refusal = tooMany(only.list.length, service);
    if (refusal) return refusal;
    const texts = only.list.map(elementText);
    if (texts.includes(undefined)) return clientError(`${only.form} must be an array of strings`);
    const items = (texts as string[]).map((text) => ({ form: only.form, text }));
    const results = await mapMany(items, at, 'v2', service);

    const mapped: object[] = [];
    const unmapped: object[] = [];
    results.forEach((result, index) => {
      const identifier = items[index]!.text;
      if (typeof result === 'string') unmapped.push({ identifier, reason: result });
      else mapped.push({ identifier, advertising_id: result.current, bucket_id: bucketName(result.bucket) });
    });
    return success(unmapped.length ? { mapped, unmapped } : { mapped });
  },
};

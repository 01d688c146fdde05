/**
 * `POST /v3/identity/map`: raw IDs for lists of DII, of several forms in one request.
 *
 * Each answer array is as long as its request array and in its order. Unlike the other endpoints this one refuses
 * members that it does not know.
 */

import { DII_FORMS, type DiiForm } from '../../token/index.ts';
import type { Endpoint } from './endpoint.ts';
import type { Item, Result } from './map-batch.ts';
import { elementText, mapMany, tooMany } from './map-batch.ts';
import { clientError, success } from './result.ts';

const MISSING = `Required Parameter Missing: one or more of [${DII_FORMS.join(', ')}] must be specified`;
const FORMAT = 'Incorrect request format';

const isForm = (name: string): name is DiiForm => (DII_FORMS as readonly string[]).includes(name);

// The identifiers in order of their forms; undefined for what is not four lists of scalars.
const itemsIn = (payload: Record<string, unknown>): Item[] | undefined => {
  const items: Item[] = [];
  for (const [form, list] of Object.entries(payload)) {
    if (!isForm(form) || !(list === null || Array.isArray(list))) return undefined;
    for (const element of list ?? []) {
      const text = elementText(element);
      if (text === undefined) return undefined;
      items.push({ form, text });
    }
  }
  return items;
};

// `p` is present also where there is none: real clients insist.
const told = (result: Result): object =>
  typeof result === 'string' ? { e: result } : { u: result.current, p: result.previous ?? null, r: result.refreshAt };

export const map: Endpoint = {
  path: '/v3/identity/map',
  roles: ['MAPPER'],
  limited: true,
  answer: async ({ at, payload }, service) => {
    if (!payload || Object.keys(payload).length === 0) return clientError(MISSING);
    const items = itemsIn(payload);
    if (!items) return clientError(FORMAT);
    const refusal = tooMany(items.length, service);
    if (refusal) return refusal;
    const results = await mapMany(items, at, 'v3', service);
    const body: Record<DiiForm, object[]> = { email: [], email_hash: [], phone: [], phone_hash: [] };
    items.forEach(({ form }, index) => {
      body[form].push(told(results[index]!));
    });
    return success(body);
  },
};

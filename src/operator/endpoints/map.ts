/**
 * `POST /v3/identity/map`: raw IDs for lists of DII, in up to four forms in one request.
 *
 * Each list of the answer has the length and the order of the list in the request. Unlike all other endpoints, this one rejects
 * unknown members.
 *
 * @see docs/protocol.md, "Endpoints"
 */

import { DII_FORMS, type DiiForm } from '../../token/index.ts';
import type { Endpoint } from './endpoint.ts';
import { batchSizeError, type Identifier, type MapResult, mapBatch, stringElement } from './map-batch.ts';
import { clientError, success } from './result.ts';

const MISSING = `Required Parameter Missing: one or more of [${DII_FORMS.join(', ')}] must be specified`;

function isForm(name: string): name is DiiForm {
  return (DII_FORMS as readonly string[]).includes(name);
}

/**
 * Returns the identifiers in the order of the payload, or what is wrong with it. It does not quote an unknown member, whose name
 * may be DII.
 */
function identifiersIn(payload: Record<string, unknown>): Identifier[] | string {
  const identifiers: Identifier[] = [];
  for (const [form, list] of Object.entries(payload)) {
    if (!isForm(form)) return `expected only ${DII_FORMS.join(', ')}`;
    if (!(list === null || Array.isArray(list))) return `${form} must be an array`;
    for (const element of list ?? []) {
      const text = stringElement(element);
      if (text === undefined) return `${form} must be an array of strings`;
      identifiers.push({ form, text });
    }
  }
  return identifiers;
}

/** Real clients require `p` even if there is no previous ID. */
function toRow(result: MapResult): object {
  return typeof result === 'string'
    ? { e: result }
    : { u: result.current, p: result.previous ?? null, r: result.refreshAtSeconds };
}

export const map: Endpoint = {
  path: '/v3/identity/map',
  roles: ['MAPPER'],
  rateLimited: true,
  handle: async ({ now, payload, pause }, service) => {
    if (!payload || Object.keys(payload).length === 0) return clientError(MISSING);
    const identifiers = identifiersIn(payload);
    if (typeof identifiers === 'string') return clientError(`Incorrect request format: ${identifiers}`);
    const sizeError = batchSizeError(identifiers.length, service);
    if (sizeError) return sizeError;
    const results = await mapBatch(identifiers, { now, pause }, 'v3', service);
    const body: Record<DiiForm, object[]> = { email: [], email_hash: [], phone: [], phone_hash: [] };
    for (const [index, { form }] of identifiers.entries()) {
      body[form].push(toRow(results[index]!));
      await pause();
    }
    return success(body);
  },
};

/** `POST /v3/identity/map`: raw IDs for lists of DII, in their order. Unlike all other endpoints, it rejects unknown members. */

import type { Bytes } from '../../token/bytes.ts';
import { DII_FORMS, type DiiForm } from '../../token/index.ts';
import { allocate } from '../crypto/node-builtins.ts';
import type { Endpoint } from './endpoint.ts';
import { batchSizeError, type Identifier, type MapResult, mapBatch, stringElement } from './map-batch.ts';
import { clientError, writtenSuccess } from './result.ts';

const encoder = new TextEncoder();

const MISSING = `Required Parameter Missing: one or more of [${DII_FORMS.join(', ')}] must be specified`;

function isForm(name: string): name is DiiForm {
  return (DII_FORMS as readonly string[]).includes(name);
}

/** In the order of the payload, or what is wrong with it, without the name of an unknown member, which may be DII. */
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

/** Write a row as JSON. Real clients require `p` even if there is no previous ID. */
function rowText(result: MapResult): string {
  if (typeof result === 'string') return `{"e":"${result}"}`;
  const { current, previous, refreshAtSeconds } = result;
  return `{"u":"${current}","p":${previous ? `"${previous}"` : 'null'},"r":${refreshAtSeconds}}`;
}

/** No row is longer, with its comma, nor is what surrounds all of them. */
const MAX_ROW_BYTES = 128;

/** JSON row by row, as bytes: thousands of objects would take the garbage collector longer than writing them takes. */
function createAnswer(count: number) {
  const bytes = allocate(MAX_ROW_BYTES * (count + 1));
  const absent = new Set<DiiForm>(DII_FORMS);
  let length = 0;
  let list: DiiForm | undefined;
  const write = (text: string): void => {
    length += encoder.encodeInto(text, bytes.subarray(length)).written;
  };
  write('{"status":"success","body":{');
  return {
    /** Add a row to the list of a form. The rows of a form follow one another. */
    add: (form: DiiForm, result: MapResult): void => {
      if (form === list) write(',');
      else write(`${list ? '],' : ''}"${form}":[`);
      list = form;
      absent.delete(form);
      write(rowText(result));
    },
    /** End the answer, with an empty list for every other form. */
    end: (): Bytes => {
      const empty = [...absent].map((form) => `"${form}":[]`).join();
      write(`${list ? ']' : ''}${list && empty ? ',' : ''}${empty}}}`);
      return bytes.subarray(0, length);
    },
  };
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
    let answer: ReturnType<typeof createAnswer> | undefined;
    await mapBatch(identifiers, { now, pause }, 'v3', service, ({ form }, result) => {
      // Not before: a batch that waits takes no memory for its answer.
      answer ??= createAnswer(identifiers.length);
      answer.add(form, result);
    });
    return writtenSuccess(async () => (answer ?? createAnswer(0)).end(), false);
  },
};

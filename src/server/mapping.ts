/**
 * The mapping endpoints, versions 3 and 2: what a batch sends and how its answer reads. An answer that does not fit
 * what was sent fails the whole batch.
 *
 * They send through the function that `bulk.ts` gives them, with its retries and its gate.
 */

import type { DiiForm } from '../token/dii.ts';
import type { Opened } from './call.ts';
import type { Dii, SentDii } from './dii.ts';
import { malformed } from './endpoints.ts';

const MAP = '/v3/identity/map';
const MAP_V2 = '/v2/identity/map';

/** Send one payload until there is an answer. */
export type Send = (path: string, payload: unknown) => Promise<Opened>;

/** DII without a raw ID: the user has opted out, or the DII is not valid (`reason` is the service's word for it). */
export type Unmapped<D> =
  | { readonly dii: D; readonly status: 'optout' }
  | { readonly dii: D; readonly status: 'unmapped'; readonly reason: string };

/** Result of version 3. `dii` is the very object that the source gave. */
export type MapResult<D extends Dii = Dii> =
  | {
      readonly dii: D;
      readonly status: 'mapped';
      readonly rawId: string;
      /** The raw ID before, for 90 days after a rotation; else null. */
      readonly previousRawId: string | null;
      /** The raw ID holds until then; map again from then on. Epoch ms. */
      readonly remapAt: number;
      /** The service's clock when it answered, epoch ms. */
      readonly answeredAt: number;
    }
  | Unmapped<D>;

/** Result of version 2. `dii` is the very object that the source gave. */
export type MapResultV2<D extends Dii = Dii> =
  | {
      readonly dii: D;
      readonly status: 'mapped';
      readonly rawId: string;
      /** The salt bucket: map again once `rotatedBuckets` names it with a time after `answeredAt`. */
      readonly bucketId: string;
      /** The service's clock when it answered, epoch ms: store this, not the local time. */
      readonly answeredAt: number;
    }
  | Unmapped<D>;

/** One item of a batch: as given, and as sent. */
export interface Entry<D extends Dii> {
  readonly dii: D;
  readonly sent: SentDii;
}

type Fields = Readonly<Record<string, unknown>>;
const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});

/** An array of the answer, or a `malformed_response`. */
export const arrayOf = (path: string, name: string, value: unknown): readonly unknown[] => {
  if (!Array.isArray(value)) throw malformed(path, `${name}: expected array, got ${typeof value}`);
  return value;
};

/** A text of the answer, or a `malformed_response`. */
export const textOf = (path: string, name: string, value: unknown): string => {
  if (typeof value !== 'string' || !value) throw malformed(path, `${name}: expected text, got ${typeof value}`);
  return value;
};

// DII that local hashing refused is answered here, in the service's words.
const INVALID = 'invalid identifier';

const unmapped = <D extends Dii>(path: string, dii: D, reason: unknown): Unmapped<D> =>
  reason === 'optout' ? { dii, status: 'optout' } : { dii, status: 'unmapped', reason: textOf(path, 'reason', reason) };

/** The values of a batch by form, each in the order of the batch. */
const byForm = (entries: readonly Entry<Dii>[]): Map<DiiForm, string[]> => {
  const arrays = new Map<DiiForm, string[]>();
  for (const { sent } of entries) {
    if (sent.value === undefined) continue;
    const array = arrays.get(sent.form);
    if (array) array.push(sent.value);
    else arrays.set(sent.form, [sent.value]);
  }
  return arrays;
};

const mappedOf = <D extends Dii>(dii: D, element: unknown, answeredAt: number): MapResult<D> => {
  const { u, p, r, e } = fieldsOf(element);
  if (e !== undefined && e !== null) return unmapped(MAP, dii, e);
  const rawId = textOf(MAP, 'u', u);
  const previousRawId = p === undefined || p === null ? null : textOf(MAP, 'p', p);
  if (typeof r !== 'number' || !Number.isFinite(r)) throw malformed(MAP, `r: expected seconds, got ${typeof r}`);
  return { dii, status: 'mapped', rawId, previousRawId, remapAt: r * 1000, answeredAt };
};

/**
 * Map a batch by version 3: all forms in one request, answers matched by position.
 *
 * @throws {TokenError} `malformed_response` another number of answers than of DII, or an answer that is none.
 */
export const mapBatch = async <D extends Dii>(send: Send, entries: readonly Entry<D>[]): Promise<MapResult<D>[]> => {
  const arrays = byForm(entries);
  const { body, answeredAt } =
    arrays.size > 0 ? await send(MAP, Object.fromEntries(arrays)) : { body: {}, answeredAt: 0 };
  const answers = new Map<DiiForm, Iterator<unknown>>();
  for (const [form, values] of arrays) {
    const array = arrayOf(MAP, form, fieldsOf(body)[form]);
    if (array.length !== values.length)
      throw malformed(MAP, `${form}: expected ${values.length} results, got ${array.length}`);
    answers.set(form, array.values());
  }
  return entries.map(({ dii, sent }) =>
    sent.value === undefined
      ? unmapped(MAP, dii, INVALID)
      : mappedOf(dii, answers.get(sent.form)!.next().value, answeredAt!),
  );
};

type MatchV2 = <D extends Dii>(dii: D) => MapResultV2<D>;

// One form of a version 2 batch: results come keyed by the identifier as sent, in two lists.
const matchV2 = async (send: Send, form: DiiForm, values: readonly string[]): Promise<Map<string, MatchV2>> => {
  const { body, answeredAt } = await send(MAP_V2, { [form]: values });
  const lists = fieldsOf(body);
  const mapped = arrayOf(MAP_V2, 'mapped', lists['mapped']);
  const others = arrayOf(MAP_V2, 'unmapped', lists['unmapped'] ?? []);
  const matches = new Map<string, MatchV2>();
  for (const element of mapped) {
    const { identifier, advertising_id, bucket_id } = fieldsOf(element);
    const rawId = textOf(MAP_V2, 'advertising_id', advertising_id);
    const bucketId = textOf(MAP_V2, 'bucket_id', bucket_id);
    matches.set(textOf(MAP_V2, 'identifier', identifier), (dii) => ({
      dii,
      status: 'mapped',
      rawId,
      bucketId,
      answeredAt: answeredAt!,
    }));
  }
  for (const element of others) {
    const { identifier, reason } = fieldsOf(element);
    // An empty text is a DII that a caller may well send.
    if (typeof identifier !== 'string') throw malformed(MAP_V2, `identifier: expected text, got ${typeof identifier}`);
    matches.set(identifier, (dii) => unmapped(MAP_V2, dii, reason));
  }
  const answered = mapped.length + others.length;
  if (answered !== values.length)
    throw malformed(MAP_V2, `${form}: expected ${values.length} results, got ${answered}`);
  return matches;
};

/**
 * Map a batch by version 2, which takes one form in a request: as many requests as the batch has forms.
 *
 * @throws {TokenError} `malformed_response` another number of answers than of DII, or a DII without one.
 */
export const mapBatchV2 = async <D extends Dii>(
  send: Send,
  entries: readonly Entry<D>[],
): Promise<MapResultV2<D>[]> => {
  const arrays = [...byForm(entries)];
  const matched = await Promise.all(
    arrays.map(async ([form, values]) => [form, await matchV2(send, form, values)] as const),
  );
  const answers = new Map(matched);
  return entries.map(({ dii, sent }) => {
    if (sent.value === undefined) return unmapped(MAP_V2, dii, INVALID);
    const match = answers.get(sent.form)?.get(sent.value);
    if (!match) throw malformed(MAP_V2, `${sent.form}: expected a result for each DII, got none for one`);
    return match(dii);
  });
};

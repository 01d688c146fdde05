/**
 * The mapping endpoints, versions 3 and 2: what a batch sends and how its answer reads. An answer that does not fit
 * what was sent fails the whole batch.
 *
 * They send through the function that `bulk.ts` gives them, with its retries and its gate.
 */

import type { Opened, Unread } from './call.ts';
import type { Dii } from './dii.ts';
import type { DiiBatch, Lane } from './dii-batch.ts';
import { malformed } from './endpoints.ts';
import type { Rows } from './results.ts';

const MAP = '/v3/identity/map';
const MAP_V2 = '/v2/identity/map';

/** Send one payload until there is an answer. */
export type Send = (path: string, payload: unknown) => Promise<Unread<Opened>>;

/**
 * DII without a raw ID: the user has opted out, or the DII is not valid (`reason` is the service's word for it).
 *
 * `answeredAt` is the service's clock when it answered, epoch ms; undefined for DII that was not sent, for local hashing
 * found it to be not valid.
 */
export type Unmapped<D> =
  | { readonly dii: D; readonly status: 'optout'; readonly answeredAt: number }
  | { readonly dii: D; readonly status: 'unmapped'; readonly reason: string; readonly answeredAt: number | undefined };

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

type Fields = Readonly<Record<string, unknown>>;
const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});

/** An array of the answer, or a `malformed_response`. */
export function arrayOf(path: string, name: string, value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw malformed(path, `${name}: expected array, got ${typeof value}`);
  return value;
}

/** A text of the answer, or a `malformed_response`. */
export function textOf(path: string, name: string, value: unknown): string {
  if (typeof value !== 'string' || !value) throw malformed(path, `${name}: expected text, got ${typeof value}`);
  return value;
}

const unmapped = <D extends Dii>(dii: D, reason: string, answeredAt: number): Unmapped<D> =>
  reason === 'optout' ? { dii, status: 'optout', answeredAt } : { dii, status: 'unmapped', reason, answeredAt };

// DII that is not sent is answered here, in the service's words.
const refusedHere = <D extends Dii>(dii: D): Unmapped<D> => ({
  dii,
  status: 'unmapped',
  reason: 'invalid identifier',
  answeredAt: undefined,
});

/** One answer of version 3: a raw ID, or a reason why there is none. */
type Answer =
  | { readonly u: string; readonly p?: string | null; readonly r: number; readonly e?: null }
  | { readonly e: string };

const NOTHING_SENT: Opened = { status: 'success', body: {}, answeredAt: undefined };

const answerOf = (element: unknown): Answer => {
  const { u, p, r, e } = fieldsOf(element);
  if (e !== undefined && e !== null) textOf(MAP, 'e', e);
  else {
    textOf(MAP, 'u', u);
    if (p !== undefined && p !== null) textOf(MAP, 'p', p);
    if (typeof r !== 'number' || !Number.isFinite(r)) throw malformed(MAP, `r: expected seconds, got ${typeof r}`);
  }
  return element as Answer;
};

const resultOf = <D extends Dii>(dii: D, answer: Answer | undefined, answeredAt: number): MapResult<D> => {
  if (!answer) return refusedHere(dii);
  if (answer.e !== undefined && answer.e !== null) return unmapped(dii, answer.e, answeredAt);
  const { u: rawId, p = null, r } = answer;
  return { dii, status: 'mapped', rawId, previousRawId: p, remapAt: r * 1000, answeredAt };
};

/**
 * Map a batch by version 3: all forms in one request, answers matched by position.
 *
 * @throws {TokenError} `malformed_response` (when the answer is read) another number of answers than of DII, or an
 *   answer that is none.
 */
export async function mapBatch<D extends Dii>(
  send: Send,
  { diis, lanes }: DiiBatch<D>,
): Promise<Unread<Rows<MapResult<D>>>> {
  const payload = Object.fromEntries(lanes.map(({ form, values }) => [form, values]));
  const read = lanes.length > 0 ? await send(MAP, payload) : () => NOTHING_SENT;
  return () => {
    const { body, answeredAt } = read();
    // Nothing where nothing was sent.
    const answers = new Array<Answer | undefined>(diis.length);
    for (const { form, values, places } of lanes) {
      const elements = arrayOf(MAP, form, fieldsOf(body)[form]);
      if (elements.length !== values.length)
        throw malformed(MAP, `${form}: expected ${values.length} results, got ${elements.length}`);
      for (let i = 0; i < elements.length; i++) answers[places[i]!] = answerOf(elements[i]);
    }
    return { length: diis.length, at: (i) => resultOf(diis[i]!, answers[i], answeredAt!) };
  };
}

type MatchV2 = <D extends Dii>(dii: D) => MapResultV2<D>;

// One form of a version 2 batch: results come keyed by the identifier as sent, in two lists.
const matchesOf = ({ form, values }: Lane, { body, answeredAt }: Opened): Map<string, MatchV2> => {
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
    const word = textOf(MAP_V2, 'reason', reason);
    // An empty text is a DII that a caller may well send.
    if (typeof identifier !== 'string') throw malformed(MAP_V2, `identifier: expected text, got ${typeof identifier}`);
    matches.set(identifier, (dii) => unmapped(dii, word, answeredAt!));
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
export async function mapBatchV2<D extends Dii>(
  send: Send,
  { diis, lanes }: DiiBatch<D>,
): Promise<Unread<Rows<MapResultV2<D>>>> {
  const payloads = lanes.map(({ form, values }) => ({ [form]: values }));
  const reads = await Promise.all(payloads.map((payload) => send(MAP_V2, payload)));
  return () => {
    const answers = new Array<MatchV2 | undefined>(diis.length);
    lanes.forEach((lane, i) => {
      const matches = matchesOf(lane, reads[i]!());
      lane.places.forEach((place, j) => {
        const match = matches.get(lane.values[j]!);
        if (!match) throw malformed(MAP_V2, `${lane.form}: expected a result for each DII, got none for one`);
        answers[place] = match;
      });
    });
    return { length: diis.length, at: (i) => (answers[i] ?? refusedHere)(diis[i]!) };
  };
}

/** The mapping endpoints, versions 3 and 2. An answer that does not match the request fails the whole batch. */

import { kindOf, ownMembers } from '../../token/checks.ts';
import {
  arrayOf,
  fieldsOf,
  identifierOf,
  isInstant,
  otherThan,
  stringOf,
  unusableAnswer,
} from '../call/answer-fields.ts';
import type { Lazy, ServiceAnswer } from '../call/call.ts';
import { PATHS } from '../call/paths.ts';
import { redacted } from '../call/response-errors.ts';
import { type Dii, invalidReason } from '../dii.ts';
import type { DiiBatch, FormValues } from './dii-batch.ts';
import type { Rows } from './results.ts';

const MAP = PATHS.mapIdentities;
const MAP_V2 = PATHS.mapIdentitiesV2;

/** Send one payload, with retries, and return its answer. */
export type Send = (path: string, payload: unknown) => Promise<Lazy<ServiceAnswer>>;

/**
 * DII without a raw ID: the user has opted out, or the DII is invalid, with the service's `reason`. `answeredAt` is the service's
 * clock, epoch ms; undefined for DII that was not sent because local normalisation rejected it.
 */
export type Unmapped<D> =
  | { readonly dii: D; readonly status: 'optout'; readonly answeredAt: number }
  | { readonly dii: D; readonly status: 'unmapped'; readonly reason: string; readonly answeredAt: number | undefined };

/** A result of version 3. `dii` is the object from the source. */
export type MapResult<D extends Dii = Dii> =
  | {
      readonly dii: D;
      readonly status: 'mapped';
      readonly rawId: string;
      /** The previous raw ID, for 90 days after a rotation; else null. */
      readonly previousRawId: string | null;
      /** When the raw ID's validity ends, epoch ms: map again from then on. */
      readonly remapAt: number;
      /** The service's clock when it answered, epoch ms. */
      readonly answeredAt: number;
    }
  | Unmapped<D>;

/** A result of version 2. `dii` is the object from the source. */
export type MapResultV2<D extends Dii = Dii> =
  | {
      readonly dii: D;
      readonly status: 'mapped';
      readonly rawId: string;
      /** The salt bucket: map again when `rotatedBuckets` lists it with a time after `answeredAt`. */
      readonly bucketId: string;
      /** The service's clock when it answered, epoch ms. Store it instead of the local time. */
      readonly answeredAt: number;
    }
  | Unmapped<D>;

/** Return the reason for DII without a raw ID, safe to print. */
function reasonOf(path: string, name: string, value: unknown): string {
  return redacted(stringOf(path, name, value));
}

function unmapped<D extends Dii>(dii: D, reason: string, answeredAt: number): Unmapped<D> {
  return reason === 'optout' ? { dii, status: 'optout', answeredAt } : { dii, status: 'unmapped', reason, answeredAt };
}

function invalidHere<D extends Dii>(dii: D): Unmapped<D> {
  return { dii, status: 'unmapped', reason: invalidReason(dii), answeredAt: undefined };
}

type Element =
  | { readonly u: string; readonly p?: string | null; readonly r: number; readonly e?: null }
  | { readonly e: string };

const NOTHING_SENT: ServiceAnswer = { status: 'success', body: {}, answeredAt: undefined, isPrintable: true };

function checkElement(element: unknown, isPrintable: boolean): Element {
  const { u, p, r, e } = fieldsOf(element);
  if (e !== undefined && e !== null) return { e: reasonOf(MAP, 'e', e) };
  identifierOf(MAP, 'u', u, isPrintable);
  if (p !== undefined && p !== null) identifierOf(MAP, 'p', p, isPrintable);
  if (typeof r !== 'number' || !isInstant(r * 1000))
    throw unusableAnswer(MAP, `r: expected epoch seconds, got ${otherThan('number', r)}`);
  return element as Element;
}

function resultOf<D extends Dii>(dii: D, element: Element | undefined, answeredAt: number): MapResult<D> {
  if (!element) return invalidHere(dii);
  if (element.e !== undefined && element.e !== null) return unmapped(dii, element.e, answeredAt);
  const { u: rawId, p = null, r } = element;
  return { dii, status: 'mapped', rawId, previousRawId: p, remapAt: Math.round(r * 1000), answeredAt };
}

/**
 * All forms in one request, answers matched by position. @throws {TokenError} `malformed_response`, when read, unless each DII
 * has one.
 */
export async function mapBatch<D extends Dii>(
  send: Send,
  { diis, forms }: DiiBatch<D>,
): Promise<Lazy<Rows<MapResult<D>>>> {
  const payload = Object.fromEntries(forms.map(({ form, values }) => [form, values]));
  const read = forms.length > 0 ? await send(MAP, payload) : () => NOTHING_SENT;
  return () => {
    const { body, answeredAt, isPrintable } = read();
    // Stays undefined for DII that was not sent.
    const found = new Array<Element | undefined>(diis.length);
    const lists = ownMembers(body);
    for (const { form, values, positions } of forms) {
      const elements = arrayOf(MAP, form, lists[form]);
      if (elements.length !== values.length)
        throw unusableAnswer(MAP, `${form}: expected ${values.length} results, got ${elements.length}`);
      for (let i = 0; i < elements.length; i++) found[positions[i]!] = checkElement(elements[i], isPrintable);
    }
    return { length: diis.length, at: (i) => resultOf(diis[i]!, found[i], answeredAt!) };
  };
}

type MatchV2 = <D extends Dii>(dii: D) => MapResultV2<D>;

/** The answer to one form of a version 2 batch: two lists of results, with the identifiers that were sent. */
function matchesOf({ form, values }: FormValues, { body, answeredAt }: ServiceAnswer): Map<string, MatchV2> {
  const lists = ownMembers(body);
  const mapped = arrayOf(MAP_V2, 'mapped', lists['mapped']);
  const others = arrayOf(MAP_V2, 'unmapped', lists['unmapped'] ?? []);
  const matches = new Map<string, MatchV2>();
  for (const element of mapped) {
    const { identifier, advertising_id, bucket_id } = fieldsOf(element);
    const rawId = identifierOf(MAP_V2, 'advertising_id', advertising_id);
    const bucketId = identifierOf(MAP_V2, 'bucket_id', bucket_id);
    matches.set(stringOf(MAP_V2, 'identifier', identifier), (dii) => ({
      dii,
      status: 'mapped',
      rawId,
      bucketId,
      answeredAt: answeredAt!,
    }));
  }
  for (const element of others) {
    const { identifier, reason } = fieldsOf(element);
    const why = reasonOf(MAP_V2, 'reason', reason);
    // A caller may have sent an empty string as DII.
    if (typeof identifier !== 'string')
      throw unusableAnswer(MAP_V2, `identifier: expected string, got ${kindOf(identifier)}`);
    matches.set(identifier, (dii) => unmapped(dii, why, answeredAt!));
  }
  const answered = mapped.length + others.length;
  if (answered !== values.length)
    throw unusableAnswer(MAP_V2, `${form}: expected ${values.length} results, got ${answered}`);
  return matches;
}

/** One request for each form in the batch, because version 2 accepts one form per request. @throws as {@link mapBatch}. */
export async function mapBatchV2<D extends Dii>(
  send: Send,
  { diis, forms }: DiiBatch<D>,
): Promise<Lazy<Rows<MapResultV2<D>>>> {
  const payloads = forms.map(({ form, values }) => ({ [form]: values }));
  const reads = await Promise.all(payloads.map((payload) => send(MAP_V2, payload)));
  return () => {
    const found = new Array<MatchV2 | undefined>(diis.length);
    forms.forEach((sent, i) => {
      const matches = matchesOf(sent, reads[i]!());
      sent.positions.forEach((position, j) => {
        const match = matches.get(sent.values[j]!);
        if (!match)
          throw unusableAnswer(MAP_V2, `${sent.form}: expected one result for each DII, but one DII has none`);
        found[position] = match;
      });
    });
    return { length: diis.length, at: (i) => (found[i] ?? invalidHere)(diis[i]!) };
  };
}

/**
 * Answers as they leave: a reply in plain JSON, sealed bytes, or a refusal without either.
 *
 * Headers are plain objects up to the end: under Node they go to the socket as they are, where a `Headers` would be
 * put together and taken apart again for every answer.
 */

import type { Bytes } from '../token/index.ts';
import { b64Text } from './base64.ts';
import type { Reply } from './reply.ts';

/** One request on its way to its answer. */
export interface Exchange {
  readonly request: Request;
  /** Headers of the answer, whatever it will be. */
  readonly headers: Record<string, string>;
  /** `status` of the JSON, for the log and the metrics; empty where there is none. */
  status: string;
}

const OCTETS = 'application/octet-stream';

/** Whether a content type asks for bytes; with a parameter it does not. */
export const isBinary = ({ headers }: Request): boolean => headers.get('content-type')?.toLowerCase() === OCTETS;

/** A body beyond the limit. */
export const tooLong = ({ headers }: Exchange): Response =>
  new Response('Request Too Long', {
    status: 413,
    headers: { ...headers, 'content-type': 'text/plain; charset=UTF-8' },
  });

/** One request too many; `waitMs` until the next one may come. */
export const tooMany = ({ headers }: Exchange, waitMs: number): Response =>
  new Response(null, {
    status: 429,
    headers: { ...headers, 'retry-after': `${Math.max(1, Math.ceil(waitMs / 1000))}` },
  });

/** Plain JSON: every error. */
export const plainAnswer = (exchange: Exchange, { http, json }: Pick<Reply, 'json'> & { http: number }): Response => {
  exchange.status = json.status;
  return new Response(JSON.stringify(json), {
    status: http,
    headers: { ...exchange.headers, 'content-type': 'application/json' },
  });
};

/** A body of sealed bytes, or of their base64. */
export const bodyAnswer = ({ headers }: Exchange, body: BodyInit, binary: boolean): Response =>
  new Response(body, { headers: { ...headers, 'content-type': binary ? OCTETS : 'text/plain' } });

/** Sealed bytes as they are, or as base64 text. */
export const sealedAnswer = (exchange: Exchange, sealed: Bytes, binary: boolean): Response =>
  bodyAnswer(exchange, binary ? sealed : b64Text(sealed), binary);

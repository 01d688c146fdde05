/**
 * Answers as they leave: a reply in plain JSON, sealed bytes, or a refusal without either.
 *
 * Headers are plain objects up to the end: under Node they go to the socket as they are, where a `Headers` would be
 * put together and taken apart again for every answer.
 */

import type { Bytes } from '../../token/bytes.ts';
import { b64Text } from '../crypto/base64.ts';
import type { Reply } from '../endpoints/result.ts';

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
export function isBinary({ headers }: Request): boolean {
  return headers.get('content-type')?.toLowerCase() === OCTETS;
}

/** A body beyond the limit. */
export function tooLong({ headers }: Exchange): Response {
  return new Response('Request Too Long', {
    status: 413,
    headers: { ...headers, 'content-type': 'text/plain; charset=UTF-8' },
  });
}

/** One request too many; `waitMs` until the next one may come. */
export function tooMany({ headers }: Exchange, waitMs: number): Response {
  return new Response(null, {
    status: 429,
    headers: { ...headers, 'retry-after': `${Math.max(1, Math.ceil(waitMs / 1000))}` },
  });
}

/** Plain JSON: every error. */
export function plainAnswer(exchange: Exchange, { http, json }: Pick<Reply, 'json'> & { http: number }): Response {
  exchange.status = json.status;
  return new Response(JSON.stringify(json), {
    status: http,
    headers: { ...exchange.headers, 'content-type': 'application/json' },
  });
}

/** A body of sealed bytes, or of their base64. */
export function bodyAnswer({ headers }: Exchange, body: BodyInit, binary: boolean): Response {
  return new Response(body, { headers: { ...headers, 'content-type': binary ? OCTETS : 'text/plain' } });
}

/** Sealed bytes as they are, or as base64 text. */
export function sealedAnswer(exchange: Exchange, sealed: Bytes, binary: boolean): Response {
  return bodyAnswer(exchange, binary ? sealed : b64Text(sealed), binary);
}

/** Responses. Headers stay plain objects: Node's server writes them as they are, and `Headers` would be taken apart each time. */

import type { Bytes } from '../../token/bytes.ts';
import { encodeB64, encodeB64Slices } from '../crypto/base64.ts';
import type { Pause } from '../endpoints/endpoint.ts';
import type { EndpointResult } from '../endpoints/result.ts';
import type { Caller } from './caller-limits.ts';

export interface Exchange {
  readonly request: Request;
  readonly caller: Caller;
  /** Headers of the response, for any status. */
  readonly headers: Record<string, string>;
  /** `status` of the JSON, for log and metrics; empty if the response has none. */
  status: string;
}

/** `Retry-After` while the database does not answer, s. */
const UNAVAILABLE_RETRY_SECONDS = 5;

const OCTET_STREAM = 'application/octet-stream';

/** Tell whether the content type requests bytes. With a parameter, such as a charset, it does not. */
export function isBinary({ headers }: Request): boolean {
  return headers.get('content-type')?.toLowerCase() === OCTET_STREAM;
}

export function bodyTooLarge({ headers }: Exchange): Response {
  return new Response('Request Too Long', {
    status: 413,
    headers: { ...headers, 'content-type': 'text/plain; charset=UTF-8' },
  });
}

export function rateLimited({ headers }: Exchange, waitMs: number): Response {
  return new Response(null, {
    status: 429,
    headers: { ...headers, 'retry-after': `${Math.max(1, Math.ceil(waitMs / 1000))}` },
  });
}

/** Build a response of plain JSON, which is the format of every error. */
export function plainResponse(
  exchange: Exchange,
  { httpStatus, json }: Pick<EndpointResult, 'json'> & { httpStatus: number },
): Response {
  exchange.status = json.status;
  return new Response(JSON.stringify(json), {
    status: httpStatus,
    headers: { ...exchange.headers, 'content-type': 'application/json' },
  });
}

/** Build the response to a request that cannot be answered now but may succeed later. Default: the database does not answer. */
export function unavailable(exchange: Exchange, message = 'The database cannot serve this request now'): Response {
  exchange.headers['retry-after'] = `${UNAVAILABLE_RETRY_SECONDS}`;
  const json = { status: 'unavailable', message };
  return plainResponse(exchange, { httpStatus: 503, json });
}

/** An answer from which on it is long, bytes: some 140 rows. */
const LONG_BYTES = 16_384;

/** Bytes if `binary`, otherwise base64: fastest as a string, and a long one as bytes, in slices with a `pause` after each. */
export async function sealedResponse(
  { headers }: Exchange,
  sealed: Bytes,
  binary: boolean,
  pause: Pause = () => undefined,
): Promise<Response> {
  headers['content-type'] = binary ? OCTET_STREAM : 'text/plain';
  if (binary) return new Response(sealed, { headers });
  const isLong = sealed.length >= LONG_BYTES;
  return new Response(isLong ? await encodeB64Slices(sealed, pause) : encodeB64(sealed), { headers });
}

/** The result of an endpoint. Only a 200 is sealed. No error has the status `success` or `optout`, which pages would trust. */

import type { Bytes } from '../../token/bytes.ts';

export interface EndpointResult {
  readonly httpStatus: 200 | 400 | 401;
  readonly json: { readonly status: string; readonly body?: unknown; readonly message?: string };
  /** Writes the JSON of a successful answer, in place of `json`: of many rows, and in UTF-8 if they may be too large for a string. */
  readonly writeJson?: (() => Promise<string | Bytes>) | undefined;
  /** Whether `writeJson` writes so much that memory cannot hold several: see `http/long-response.ts`. */
  readonly isLong?: boolean;
}

export const BODY_MISSING = 'Invalid body: Body is missing.';
/** Message for a body that is not base64. Where an envelope is expected, a hint follows. */
export const NOT_BASE64 = 'Invalid body: Body is not valid base64.';

export const OPT_OUT: EndpointResult = { httpStatus: 200, json: { status: 'optout' } };

export function success(body: unknown): EndpointResult {
  return { httpStatus: 200, json: { status: 'success', body } };
}

export function writtenSuccess(writeJson: () => Promise<string | Bytes>, isLong: boolean): EndpointResult {
  return { httpStatus: 200, json: { status: 'success' }, writeJson, isLong };
}

export function badRequest(status: string, message: string): EndpointResult {
  return { httpStatus: 400, json: { status, message } };
}

export function clientError(message: string): EndpointResult {
  return badRequest('client_error', message);
}

/** The answer for a user whose TCF consent does not permit the service to process the data. */
export const INSUFFICIENT_CONSENT: EndpointResult = { httpStatus: 200, json: { status: 'insufficient_user_consent' } };

/** Build a 401 with the status `invalid_client`: the caller is known, but its site may not use the endpoint. */
export function invalidClient(message: string): EndpointResult {
  return { httpStatus: 401, json: { status: 'invalid_client', message } };
}

export function unauthorized(message: string): EndpointResult {
  return { httpStatus: 401, json: { status: 'unauthorized', message } };
}

/**
 * What an endpoint answers, before it is sealed or not: HTTP status and JSON.
 *
 * Only 200 is ever sealed. An error never carries the status `success` or `optout`: real pages trust the JSON of an
 * error as they trust a sealed answer.
 */

import type { Bytes } from '../../token/bytes.ts';

/** An answer in the making. */
export interface Reply {
  readonly http: 200 | 400 | 401;
  readonly json: { readonly status: string; readonly body?: unknown; readonly message?: string };
  /** Writes the JSON of a successful answer in place of `json`, where there may be very much of it. */
  readonly write?: (() => Promise<Bytes>) | undefined;
  /** Whether there is so much of it that it has to wait for its turn. */
  readonly long?: boolean;
}

export function success(body: unknown): Reply {
  return { http: 200, json: { status: 'success', body } };
}
export function written(write: () => Promise<Bytes>, long: boolean): Reply {
  return {
    http: 200,
    json: { status: 'success' },
    write,
    long,
  };
}
export const OPTOUT: Reply = { http: 200, json: { status: 'optout' } };
export function refuse(status: string, message: string): Reply {
  return { http: 400, json: { status, message } };
}
export function clientError(message: string): Reply {
  return refuse('client_error', message);
}
export function unauthorized(message: string): Reply {
  return { http: 401, json: { status: 'unauthorized', message } };
}

/** Whether `value` is a JSON object (no array, no null). */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

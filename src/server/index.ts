/** `tessera-id/server`: the client, which holds the secret, and the handler that supplies a page with its token set. */

export { type ErrorCode, isTokenError, TokenError } from '../token/errors.ts';
export type { TokenSet } from '../token/token-set.ts';
export type { Source } from './batch.ts';
export type { BulkClient } from './bulk.ts';
export { type Client, createClient } from './client.ts';
export type { Dii, HashLocally } from './dii.ts';
export { answerOf, type Refreshable, type TokenResult, type WireAnswer } from './endpoints.ts';
export { type TokenHandlerOptions, tokenHandler } from './handler.ts';
export type { MapResult, MapResultV2, Unmapped } from './mapping.ts';
export type { CallOptions, ClientOptions, Fetch, GenerateOptions, RetryOptions } from './options.ts';
export type { OptedOut, RotatedBucket, RotatedBuckets } from './raw-ids.ts';
export type { Results } from './results.ts';

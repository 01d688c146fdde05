/** `tessera-id/server`: the client, which holds the secret, and the handler that supplies a page with its token set. */

export { type ErrorCode, isTokenError, TokenError } from '../token/errors.ts';
export type { TokenSet } from '../token/token-set.ts';
export type { VitalsCounts, VitalsReport, VitalsValue } from '../token/vitals-report.ts';
export type { Source } from './bulk/batch.ts';
export type { BulkClient } from './bulk/bulk.ts';
export type { MapResult, MapResultV2, Unmapped } from './bulk/mapping.ts';
export type { OptedOut, RotatedBucket, RotatedBuckets } from './bulk/raw-ids.ts';
export type { Results } from './bulk/results.ts';
export { answerOf, type Refreshable, type TokenResult, type WireAnswer } from './call/endpoints.ts';
export { type Client, createClient } from './client.ts';
export type { Dii, HashLocally } from './dii.ts';
export { type TokenHandlerOptions, tokenHandler } from './handler/handler.ts';
export { type VitalsHandlerOptions, vitalsHandler } from './handler/vitals.ts';
export type { CallOptions, ClientOptions, Fetch, GenerateOptions, RetryOptions } from './options.ts';

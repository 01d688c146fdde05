/** `tessera-id/token`: token sets, phases, envelopes, DII. Pure: no I/O, no clock, no DOM. */

export type { Bytes } from './bytes.ts';
export { type AesKey, aesKey } from './cipher.ts';
export {
  DII_FORMS,
  type DiiForm,
  type DiiType,
  diiTypeOf,
  hashDii,
  hashOf,
  hashTextOf,
  normalizeEmail,
  normalizePhone,
  parseHash,
} from './dii.ts';
export {
  type Message,
  NONCE_LENGTH,
  type OutgoingMessage,
  openRefresh,
  openRequest,
  openResponse,
  REQUEST_VERSION,
  SMALLEST_REQUEST,
  sealRefresh,
  sealRequest,
  sealResponse,
} from './envelope.ts';
export { type ErrorCode, isTokenError, TokenError, type TokenErrorDetails } from './errors.ts';
export { type Held, nextWakeAt, type Phase, phaseOf, tokenAt } from './phase.ts';
export {
  type Answer,
  parseAnswer,
  parseStoredTokenSet,
  parseTokenSet,
  type TokenAnswer,
  type TokenSet,
  toWire,
  type WireTokenSet,
} from './token-set.ts';

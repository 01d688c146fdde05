/** `tessera-id/uid2`: a drop-in for pages that are written for the UID2 JavaScript SDK. */
export { installUid2 } from './install.ts';
export type {
  Callback,
  CallbackPayload,
  CookieOptions,
  EventType,
  Identity,
  InitOptions,
  LegacyCallback,
  LegacyPayload,
  Product,
  Uid2,
} from './types.ts';

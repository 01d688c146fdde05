/** All endpoints whose requests and answers are sealed; `refresh.ts` is the only other one. */

import { buckets } from './buckets.ts';
import type { Endpoint } from './endpoint.ts';
import { generate } from './generate.ts';
import { keyBidstream, keyLatest, keySharing } from './keys.ts';
import { logout } from './logout.ts';
import { map } from './map.ts';
import { mapV2 } from './map-v2.ts';
import { optOutStatus } from './opt-out-status.ts';
import { validate } from './validate.ts';

export const SEALED_ENDPOINTS: readonly Endpoint[] = [
  generate,
  validate,
  logout,
  map,
  mapV2,
  buckets,
  optOutStatus,
  keySharing,
  keyBidstream,
  keyLatest,
];

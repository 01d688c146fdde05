/** Issues token sets and opens refresh tokens, without a check of opt-outs, which is up to the endpoints. */

import type { Bytes } from '../../token/bytes.ts';
import { type DiiType, type TokenSet, toWire, type WireTokenSet } from '../../token/index.ts';
import { encodeB64 } from '../crypto/base64.ts';
import { randomBytes } from '../crypto/random.ts';
import type { RawIds } from '../identity/raw-ids.ts';
import type { OperatorSettings } from '../options/options.ts';
import { PRIVACY_BITS, sealAdvertisingToken } from './advertising-token.ts';
import type { KeySchedule } from './key-schedule.ts';
import { openRefreshToken, type RefreshToken, sealRefreshToken } from './refresh-token.ts';

export interface TokenSubject {
  /** The site whose key seals the token and whose participants may validate it. */
  readonly siteId: number;
  readonly type: DiiType;
  /** First-level hash of the user, 32 bytes. */
  readonly user: Uint8Array;
  /** Epoch ms. Default: the time of issue. A refresh copies the value of the old token. */
  readonly establishedAt?: number;
  /** Default: {@link PRIVACY_BITS}. A refresh copies the value of the old token. */
  readonly privacyBits?: number;
}

export interface TokenIssuer {
  issue(subject: TokenSubject, now: number): Promise<WireTokenSet>;
  /** Open a refresh token, decoded from base64; undefined if it is not one of this operator's, or if its keys are retired. */
  openRefresh(token: Bytes, now: number): Promise<RefreshToken | undefined>;
}

export function createTokenIssuer(schedule: KeySchedule, rawIds: RawIds, settings: OperatorSettings): TokenIssuer {
  const { scope, identityExpiresMs, refreshFromMs, refreshExpiresMs } = settings;
  return {
    issue: async ({ siteId, type, user, establishedAt, privacyBits = PRIVACY_BITS }, now) => {
      const keys = await schedule.at(now);
      const responseKey = randomBytes(32);
      const expiresAt = now + identityExpiresMs;
      const endsAt = now + refreshExpiresMs;
      // The common fields of both tokens are written twice, because V8 takes 2.9 us to copy an object if a field is an instant.
      const advertisingToken = await sealAdvertisingToken(
        {
          scope,
          type,
          siteId,
          privacyBits,
          rawId: rawIds.bytesAt(user, now),
          establishedAt: establishedAt ?? now,
          createdAt: now,
          expiresAt,
        },
        { master: keys.master, site: keys.site(siteId) },
      );
      const refreshToken = await sealRefreshToken(
        {
          scope,
          type,
          siteId,
          privacyBits,
          firstLevel: user,
          establishedAt: establishedAt ?? now,
          createdAt: now,
          expiresAt: endsAt,
          responseKey,
        },
        keys.refresh,
      );
      return toWire({
        advertisingToken,
        refreshToken,
        responseKeyB64: encodeB64(responseKey),
        refreshAt: now + refreshFromMs,
        expiresAt,
        endsAt,
      } satisfies { readonly [Field in keyof Required<TokenSet>]: TokenSet[Field] }); // also the optional fields
    },
    openRefresh: async (token, now) => {
      const keys = await schedule.at(now);
      return openRefreshToken(token, scope, keys.refreshById);
    },
  };
}

/**
 * Issues token sets and opens refresh tokens: provides the two byte formats with keys, raw IDs and lifetimes.
 *
 * It does not check whether a user has opted out: the endpoints do.
 */

import type { Bytes } from '../../token/bytes.ts';
import { type DiiType, toWire } from '../../token/index.ts';
import { encodeB64 } from '../crypto/base64.ts';
import { randomBytes } from '../crypto/random.ts';
import type { RawIds } from '../identity/raw-ids.ts';
import type { OperatorSettings } from '../options/options.ts';
import { PRIVACY_BITS, sealAdvertisingToken } from './advertising-token.ts';
import type { KeySchedule } from './key-schedule.ts';
import { openRefreshToken, type RefreshToken, sealRefreshToken } from './refresh-token.ts';

/** The user and the site of a token set. */
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
  /** Issue a token set at `now` (epoch ms), with the member names of the wire format. */
  issue(subject: TokenSubject, now: number): Promise<Record<string, string | number>>;
  /**
   * Open a refresh token, decoded from base64, at `now` (epoch ms); undefined if it is not one of this operator's, or if its
   * keys are retired.
   */
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
      // The common fields of both tokens are written twice, because V8 copies an object slowly if a field is an instant
      // (bench/README.md).
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
      });
    },
    openRefresh: async (token, now) => {
      const keys = await schedule.at(now);
      return openRefreshToken(token, scope, keys.refreshById);
    },
  };
}

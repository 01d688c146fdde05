/**
 * Issuing token sets: one user, one site, one instant.
 *
 * The layouts are in `advertising-token.ts` and `refresh-token.ts`; here they get keys, raw ID and lifetimes.
 */

import type { Bytes } from '../../token/bytes.ts';
import { type DiiType, toWire } from '../../token/index.ts';
import { b64Text } from '../crypto/base64.ts';
import type { Keys } from '../crypto/keys.ts';
import { REFRESH } from '../crypto/keys.ts';
import { randomBytes } from '../crypto/random.ts';
import type { RawIds } from '../identity/raw-ids.ts';
import type { Settings } from '../options.ts';
import { PRIVACY_BITS, sealAdvertisingToken } from './advertising-token.ts';
import type { RefreshToken } from './refresh-token.ts';
import { openRefreshToken, sealRefreshToken } from './refresh-token.ts';

/** For whom a set is issued. */
export interface Issue {
  /** Site whose key seals the token, and which may validate it. */
  readonly siteId: number;
  readonly type: DiiType;
  /** First-level hash of the user, 32 bytes. */
  readonly user: Uint8Array;
  /** Default: at the time of issue. A refresh passes on what it was given. */
  readonly establishedAt?: number;
  readonly privacyBits?: number;
}

/** What {@link createTokens} gives. */
export interface Tokens {
  /** Issue a token set at `at` (epoch ms), in its wire form. */
  issue(issue: Issue, at: number): Promise<Record<string, string | number>>;
  /** Open a refresh token, out of its base64, that was issued under these keys; undefined for anything else. */
  openRefresh(token: Bytes): Promise<RefreshToken | undefined>;
}

/** Issue and open tokens. */
export function createTokens(keys: Keys, rawIds: RawIds, settings: Settings): Tokens {
  const { scope, identityExpiresMs, refreshFromMs, refreshExpiresMs } = settings;
  return {
    issue: async ({ siteId, type, user, establishedAt, privacyBits = PRIVACY_BITS }, at) => {
      const shared = { scope, type, siteId, privacyBits, establishedAt: establishedAt ?? at, createdAt: at };
      const responseKey = randomBytes(32);
      const expiresAt = at + identityExpiresMs;
      const endsAt = at + refreshExpiresMs;
      return toWire({
        advertisingToken: await sealAdvertisingToken(
          { ...shared, rawId: rawIds.bytesAt(user, at), expiresAt },
          { master: keys.master, site: keys.site(siteId) },
        ),
        refreshToken: await sealRefreshToken(
          { ...shared, firstLevel: user, expiresAt: endsAt, responseKey },
          keys.refresh,
        ),
        responseKeyB64: b64Text(responseKey),
        refreshAt: at + refreshFromMs,
        expiresAt,
        endsAt,
      });
    },
    openRefresh: (token) =>
      openRefreshToken(token, scope, (id) => {
        const key = keys.byId(id);
        // No other key ever sealed a refresh token.
        return key?.siteId === REFRESH ? key : undefined;
      }),
  };
}

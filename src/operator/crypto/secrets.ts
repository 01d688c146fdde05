/**
 * Everything secret that the operator knows, derived from one root secret.
 *
 * HKDF-SHA-256 (RFC 5869): input key = the root secret, salt = `tessera/1/<environment>/<scope>`, info = a label,
 * 32 bytes out. Environment and scope are in the salt, so that the same root gives two environments nothing in common.
 *
 * | label | what it gives |
 * |---|---|
 * | `first-level-salt` | salt of the first-level hash |
 * | `bucket/<index>/<rotation>` | salt of a bucket during one rotation |
 * | `master-key/<generation>`, `refresh-key/<generation>`, `site-key/<site id>/<generation>` | keys that seal tokens |
 * | `api-key/<site id>`, `client-secret/<api key>` | credentials that nobody brought along |
 * | `api-key-hash/<api key>` | the form in which an API key is kept |
 * | `stored-client-secret/<key hash>` | what seals a client secret that is kept in a database |
 * | `fingerprint` | what may be stored to recognise the root |
 */

import { extract } from '@noble/hashes/hkdf.js';
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { type Bytes, toHex, utf8 } from '../../token/bytes.ts';

/** Where an operator stands: their IDs, keys and tokens have nothing in common. */
export type Environment = 'integration' | 'production';

/** Whose identities it speaks of: it shows in the first byte of every token. */
export type Scope = 'UID2' | 'EUID';

/** What {@link createSecrets} gives. */
export interface Secrets {
  /** 32 bytes, always the same for one root, environment, scope and label. */
  derive(label: string): Bytes;
  /** 16 hexadecimal digits that tell roots apart and reveal nothing. */
  readonly fingerprint: string;
}

/**
 * Derive from a root secret.
 *
 * @param root  32 random bytes; changing it changes every ID, key and token, and forgets every opt-out.
 */
export function createSecrets(root: Bytes, environment: Environment, scope: Scope): Secrets {
  const key = extract(sha256, root, utf8(`tessera/1/${environment}/${scope}`));
  // Keyed once, and copied for each label into the same place: a salt per mapped DII is the busiest thing that the
  // operator does, and a fresh copy costs half as much as the hashing.
  const keyed = hmac.create(sha256, key);
  const copy = keyed.clone();
  // One block of HKDF-Expand, which is all that 32 bytes take: HMAC(key, info, 0x01).
  const derive = (label: string): Bytes =>
    keyed
      ._cloneInto(copy)
      .update(utf8(`${label}\x01`))
      .digest() as Bytes;
  return { derive, fingerprint: toHex(derive('fingerprint').subarray(0, 8)) };
}

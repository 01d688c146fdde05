/**
 * Every secret of the operator, by HKDF-SHA-256 (RFC 5869): key material = root secret, salt = `tessera/1/<environment>/<scope>`,
 * so two environments under one root share nothing, info = a label, output 32 bytes.
 *
 * | label | derived secret |
 * |---|---|
 * | `first-level-salt` | salt of the first-level hash |
 * | `bucket/<index>/<rotation>` | salt of a bucket during one rotation |
 * | `master-key/<generation>`, `refresh-key/<generation>`, `site-key/<site id>/<generation>` | keys that seal tokens |
 * | `api-key/<site id>`, `client-secret/<api key>` | credentials that the options leave out |
 * | `api-key-hash/<api key>` | the stored form of an API key |
 * | `participant-options/<options>` | shows whether the options that define a participant have changed |
 * | `stored-client-secret/<key hash>` | key that seals a client secret in the database |
 * | `fingerprint` | identifies the root secret; may be stored and printed |
 */

import { extract } from '@noble/hashes/hkdf.js';
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { type Bytes, toHex, utf8 } from '../../token/bytes.ts';
import { utf8Bytes } from './node-builtins.ts';

/** Environment of an operator. Two environments share no ID, key or token. */
export type Environment = 'integration' | 'production';

/** Identity scope. The first byte of every token carries it. */
export type Scope = 'UID2' | 'EUID';

export interface Secrets {
  /** Derive 32 bytes, always the same ones for a label. */
  derive(label: string): Bytes;
  /** 16 hexadecimal digits that identify the root secret without revealing it. */
  readonly fingerprint: string;
}

/** @param root  32 random bytes. Another root changes every ID, key and token, and recorded opt-outs are no longer found. */
export function createSecrets(root: Bytes, environment: Environment, scope: Scope): Secrets {
  const key = extract(sha256, root, utf8(`tessera/1/${environment}/${scope}`));
  // Deriving a bucket salt for each mapped DII is the operator's most frequent work, and creating an HMAC object takes half as
  // long as the hashing. Therefore, one object is keyed once and copied into a second one for each label.
  const keyed = hmac.create(sha256, key);
  const copy = keyed.clone();
  // HKDF-Expand of 32 bytes is one block: HMAC(key, info, 0x01).
  const derive = (label: string): Bytes =>
    keyed
      ._cloneInto(copy)
      .update(utf8Bytes(`${label}\x01`))
      .digest() as Bytes;
  return { derive, fingerprint: toHex(derive('fingerprint').subarray(0, 8)) };
}

/**
 * The raw ID of a DII: its hash, first-level hash, bucket, bucket salt, raw ID (docs/protocol.md, "Raw IDs and salt buckets").
 * Refresh tokens and opt-outs contain the first-level hash, never the DII or its unsalted hash.
 */

import { sha256 } from '@noble/hashes/sha2.js';
import type { Bytes } from '../../token/bytes.ts';
import { b64Length, encodeB64, encodeB64Ascii, writeB64 } from '../crypto/base64.ts';
import type { Secrets } from '../crypto/secrets.ts';
import type { Salts } from './salts.ts';

/** One hash object for all calls, reset from an untouched one, because creating another takes half as long as the hashing. */
const untouched = sha256.create();
const hasher = sha256.create();
/** The message of the last call. Nearly all messages have the same length, and allocating one takes a tenth of the hashing. */
let message = new Uint8Array();

/** SHA-256(base64 of 32 `bytes`, salt text, not decoded): from a DII's hash the first-level hash, and from that the raw ID. */
export function saltedHash(bytes: Uint8Array, saltText: Uint8Array): Bytes {
  const saltOffset = b64Length(bytes.length);
  const length = saltOffset + saltText.length;
  if (message.length !== length) message = new Uint8Array(length);
  writeB64(bytes, message);
  message.set(saltText, saltOffset);
  return untouched._cloneInto(hasher).update(message).digest() as Bytes;
}

/** Return the index of a user's bucket, 20 bits: byte 0, byte 1 and the lower half of byte 2. */
export function bucketOf(firstLevel: Uint8Array): number {
  return (firstLevel[0]! << 12) | (firstLevel[1]! << 4) | (firstLevel[2]! & 0x0f);
}

export interface MappedId {
  /** Base64 of 32 bytes. */
  readonly current: string;
  /** Raw ID of the previous rotation, during 90/365 of the period after a rotation. */
  readonly previous: string | undefined;
  /** Unix time in s, always in the future. `current` does not change before it. */
  readonly refreshAtSeconds: number;
  readonly bucket: number;
}

/** Raw IDs of one environment. Users are first-level hashes, 32 bytes. */
export interface RawIds {
  /** Compute the first-level hash of a DII's hash. */
  firstLevel(hash: Uint8Array): Bytes;
  /** Return the raw ID in force at `at` (epoch ms), 32 bytes. */
  bytesAt(user: Uint8Array, at: number): Bytes;
  /** Return the raw ID in force at `at` (epoch ms), and the details for a mapping answer. */
  mappedAt(user: Uint8Array, at: number): MappedId;
  /** Return the raw ID of one rotation of the user's bucket, base64. */
  during(user: Uint8Array, rotation: number): string;
}

export function createRawIds(secrets: Secrets, salts: Salts): RawIds {
  const firstLevelSalt = encodeB64Ascii(secrets.derive('first-level-salt'));
  const bytesDuring = (user: Uint8Array, bucket: number, rotation: number): Bytes =>
    saltedHash(user, encodeB64Ascii(salts.salt(bucket, rotation)));

  return {
    firstLevel: (hash) => saltedHash(hash, firstLevelSalt),
    bytesAt: (user, at) => {
      const bucket = bucketOf(user);
      return bytesDuring(user, bucket, salts.rotation(bucket, at).number);
    },
    mappedAt: (user, at) => {
      const bucket = bucketOf(user);
      const { number, refreshAtSeconds, showsPrevious } = salts.rotation(bucket, at);
      return {
        current: encodeB64(bytesDuring(user, bucket, number)),
        previous: showsPrevious ? encodeB64(bytesDuring(user, bucket, number - 1)) : undefined,
        refreshAtSeconds,
        bucket,
      };
    },
    during: (user, rotation) => encodeB64(bytesDuring(user, bucketOf(user), rotation)),
  };
}

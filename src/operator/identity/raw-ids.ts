/**
 * From the hash of a DII to its raw ID: first-level hash, bucket, bucket salt, raw ID.
 *
 * The first-level hash is the user as the operator knows them: refresh tokens and opt-outs hold it, never the DII or
 * its plain hash. What the salts are is the business of `salts.ts`; the two hashing functions take them as they come.
 *
 * @see shared wire facts 5.1
 */

import { sha256 } from '@noble/hashes/sha2.js';
import { type Bytes, utf8 } from '../../token/bytes.ts';
import { b64Bytes, b64Length, b64Text, writeB64 } from '../crypto/base64.ts';
import { room } from '../crypto/node-builtins.ts';
import type { Secrets } from '../crypto/secrets.ts';
import type { Salts } from './salts.ts';

// One hash for all that is hashed here, begun anew each time: making another costs half as much as the hashing.
const begun = sha256.create();
const hash = sha256.create();

// SHA-256(base64 of `bytes`, salt text): both steps of the way are this.
const salted = (bytes: Uint8Array, saltText: Uint8Array): Bytes => {
  const head = b64Length(bytes.length);
  const message = room(head + saltText.length);
  writeB64(bytes, message);
  message.set(saltText, head);
  return begun._cloneInto(hash).update(message).digest() as Bytes;
};

/** Who a user is to the operator: SHA-256(base64 of `hash`, salt text), 32 bytes. The salt is text as it stands. */
export function firstLevelHash(hash: Uint8Array, saltText: string): Bytes {
  return salted(hash, utf8(saltText));
}

/** Index of a user's bucket, 20 bits: byte 0, byte 1, and the lower half of byte 2. */
export function bucketOf(firstLevel: Uint8Array): number {
  return (firstLevel[0]! << 12) | (firstLevel[1]! << 4) | (firstLevel[2]! & 0x0f);
}

/** The raw ID: SHA-256(base64 of the first-level hash, bucket salt text), 32 bytes. */
export function rawIdBytes(firstLevel: Uint8Array, bucketSaltText: string): Bytes {
  return salted(firstLevel, utf8(bucketSaltText));
}

/** A raw ID in its time. */
export interface MappedId {
  /** The raw ID in force, base64 of 32 bytes. */
  readonly current: string;
  /** The one before, while it is still told. */
  readonly previous: string | undefined;
  /** Unix time in seconds until which `current` stands; always ahead. */
  readonly refreshAt: number;
  readonly bucket: number;
}

/** What {@link createRawIds} gives. */
export interface RawIds {
  /** First-level hash of a DII's hash. */
  firstLevel(hash: Uint8Array): Bytes;
  /** The raw ID in force at `at` (epoch ms), 32 bytes. */
  bytesAt(firstLevel: Uint8Array, at: number): Bytes;
  /** The raw ID in force at `at`, with all that a mapping answer says of it. */
  mappedAt(firstLevel: Uint8Array, at: number): MappedId;
  /** The raw ID during one rotation, base64. */
  during(firstLevel: Uint8Array, rotation: number): string;
}

/** Raw IDs of one environment. */
export function createRawIds(secrets: Secrets, salts: Salts): RawIds {
  const firstLevelSalt = b64Bytes(secrets.derive('first-level-salt'));
  const bytesDuring = (firstLevel: Uint8Array, bucket: number, rotation: number): Bytes =>
    salted(firstLevel, b64Bytes(salts.salt(bucket, rotation)));

  return {
    firstLevel: (hash) => salted(hash, firstLevelSalt),
    bytesAt: (firstLevel, at) => {
      const bucket = bucketOf(firstLevel);
      return bytesDuring(firstLevel, bucket, salts.rotation(bucket, at).number);
    },
    mappedAt: (firstLevel, at) => {
      const bucket = bucketOf(firstLevel);
      const { number, refreshAt, tellsPrevious } = salts.rotation(bucket, at);
      return {
        current: b64Text(bytesDuring(firstLevel, bucket, number)),
        previous: tellsPrevious ? b64Text(bytesDuring(firstLevel, bucket, number - 1)) : undefined,
        refreshAt,
        bucket,
      };
    },
    during: (firstLevel, rotation) => b64Text(bytesDuring(firstLevel, bucketOf(firstLevel), rotation)),
  };
}

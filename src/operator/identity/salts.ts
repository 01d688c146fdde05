/**
 * Salts of the 2^20 buckets and the times of their rotations, all computed. A bucket's phase within the period is its index after
 * a bijection that mixes the bits: neighbours rotate at unrelated times, about as many each day, and those that rotated in a time
 * span are a contiguous range of mixed indexes.
 */

import type { Bytes } from '../../token/bytes.ts';
import type { Secrets } from '../crypto/secrets.ts';

export const BUCKETS = 2 ** 20;
/** Shortest rotation period, s. 30/365 and 90/365 of it are still different numbers of whole seconds. */
export const MIN_PERIOD_SECONDS = 365;
/** Longest rotation period, s, about 136 years. With a longer one, index x period would exceed the safe integers. */
export const MAX_PERIOD_SECONDS = 2 ** 32 - 1;

export interface Rotation {
  readonly number: number;
  /** When the current rotation started, Unix time in s. */
  readonly startSeconds: number;
  /** When an ID of this bucket should be mapped again, Unix time in s. Always in the future; no ID changes before it. */
  readonly refreshAtSeconds: number;
  /** Whether mapping answers still contain the ID of the previous rotation. */
  readonly showsPrevious: boolean;
}

export interface Salts {
  /** Return the salt of a bucket in a rotation, 32 bytes. Its base64 is the salt text that is hashed. */
  salt(bucket: number, rotation: number): Bytes;
  /** Return the rotation of a bucket at `at` (epoch ms). */
  rotation(bucket: number, at: number): Rotation;
  /** List the buckets whose current rotation at `at` started at `from` or later (both epoch ms). */
  rotatedSince(from: number, at: number): RotatedBuckets;
}

/** A list of buckets in the order of their rotations. Rows are computed on demand, because there may be a million. */
export interface RotatedBuckets {
  readonly count: number;
  /** Return row `index`: the bucket, and when its current rotation started, Unix time in s. */
  row(index: number): { readonly bucket: number; readonly startSeconds: number };
}

const MASK = BUCKETS - 1;
/** Multiplication by an odd number and xor with the upper bits are both invertible, so mixing is a bijection. */
const FACTOR = 0x9e375;
const INVERSE_FACTOR = 0xb94dd;

export function mix(bucket: number): number {
  const a = Math.imul(bucket ^ (bucket >>> 10), FACTOR) & MASK;
  const b = Math.imul(a ^ (a >>> 10), FACTOR) & MASK;
  return b ^ (b >>> 10);
}

export function unmix(mixed: number): number {
  const b = mixed ^ (mixed >>> 10);
  const a = Math.imul(b, INVERSE_FACTOR) & MASK;
  const c = Math.imul(a ^ (a >>> 10), INVERSE_FACTOR) & MASK;
  return c ^ (c >>> 10);
}

function toSeconds(at: number): number {
  return Math.floor(at / 1000);
}

/** @param period  whole seconds between two rotations of a bucket, 365 to 2^32 - 1. */
export function createSalts(secrets: Secrets, period: number): Salts {
  const phaseOf = (mixed: number): number => Math.floor((mixed * period) / BUCKETS);
  // The smallest mixed index whose phase is `phase` or later.
  const firstWithPhase = (phase: number): number => Math.ceil((phase * BUCKETS) / period);

  return {
    salt: (bucket, rotation) => secrets.derive(`bucket/${bucket}/${rotation}`),

    rotation: (bucket, at) => {
      const seconds = toSeconds(at);
      const phase = phaseOf(mix(bucket));
      const number = Math.floor((seconds - phase) / period);
      const startSeconds = phase + number * period;
      const age = seconds - startSeconds;
      const step = Math.floor((age * 365) / (30 * period)) + 1;
      const next = startSeconds + Math.floor((step * 30 * period) / 365);
      // In whole seconds, the next multiple of 30/365 may be the current second: then take the one after it.
      const future = next > seconds ? next : startSeconds + Math.floor(((step + 1) * 30 * period) / 365);
      return {
        number,
        startSeconds,
        refreshAtSeconds: Math.min(future, startSeconds + period),
        showsPrevious: (at - startSeconds * 1000) * 365 < 90 * period * 1000,
      };
    },

    rotatedSince: (from, at) => {
      const until = toSeconds(at);
      const start = Math.max(Math.ceil(from / 1000), until - period + 1);
      // In s. A range into the next period has mixed indexes beyond BUCKETS, which `row` takes modulo BUCKETS.
      const periodStart = Math.floor(start / period) * period;
      const first = firstWithPhase(start - periodStart);
      const end = start <= until ? firstWithPhase(until - periodStart + 1) : first;
      return {
        count: end - first,
        row: (index) => {
          const mixed = first + index;
          return { bucket: unmix(mixed % BUCKETS), startSeconds: periodStart + phaseOf(mixed) };
        },
      };
    },
  };
}

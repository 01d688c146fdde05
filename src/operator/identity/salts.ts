/**
 * Salts of the 2^20 buckets and the calendar of their rotation, all of it computed: nothing is stored per bucket.
 *
 * Time is cut into rotations of one period per bucket. A bucket's phase within the period is its index put through a
 * bit-mixing bijection, so neighbours rotate at unrelated times, an even share of all buckets rotates each day, and
 * "which buckets rotated since T" is a walk over a range of mixed indexes. Before: `raw-ids.ts` asks for salts.
 */

import type { Bytes } from '../../token/bytes.ts';
import type { Secrets } from '../crypto/secrets.ts';

/** Buckets of an operator: every value of the 20 bits that index them. */
export const BUCKETS = 2 ** 20;
/** Shortest period, s: the spans of 30/365 and 90/365 of it still are whole seconds apart. */
export const SHORTEST_PERIOD = 365;
/** Longest period, s, about 136 years: beyond it, period x 2^20 over the period is no longer exact in a number. */
export const LONGEST_PERIOD = 2 ** 32 - 1;

/** Where a bucket stands at an instant. Seconds are whole Unix seconds. */
export interface Rotation {
  /** Number of the present rotation; the one before has `number - 1`. */
  readonly number: number;
  /** When the present rotation began, s. */
  readonly since: number;
  /** When an ID of this bucket is to be mapped again, s: always ahead, and no ID changes before it. */
  readonly refreshAt: number;
  /** Whether the ID of the rotation before is still told. */
  readonly tellsPrevious: boolean;
}

/** What {@link createSalts} gives. */
export interface Salts {
  /** Salt of a bucket in a rotation, 32 bytes; its base64 is the salt text. */
  salt(bucket: number, rotation: number): Bytes;
  /** Where a bucket stands at `at` (epoch ms). */
  rotation(bucket: number, at: number): Rotation;
  /** Buckets whose present rotation began at `from` or later, as seen at `at` (both epoch ms). */
  rotatedSince(from: number, at: number): RotatedBuckets;
}

/** A list that may be a million buckets long: its length, and any of its rows. In order of time. */
export interface RotatedBuckets {
  readonly count: number;
  /** Row `index`: the bucket, and the whole second in which its present rotation began. */
  row(index: number): { readonly bucket: number; readonly since: number };
}

const MASK = BUCKETS - 1;
// An odd multiplier and an xor with the own upper bits: either can be undone, so no two indexes mix to the same.
const FACTOR = 0x9e375;
const UNFACTOR = 0xb94dd;

/** Mix 20 bits: a bijection. */
export function mix(bucket: number): number {
  const a = Math.imul(bucket ^ (bucket >>> 10), FACTOR) & MASK;
  const b = Math.imul(a ^ (a >>> 10), FACTOR) & MASK;
  return b ^ (b >>> 10);
}

/** The bucket that mixes to `mixed`. */
export function unmix(mixed: number): number {
  const b = mixed ^ (mixed >>> 10);
  const a = Math.imul(b, UNFACTOR) & MASK;
  const c = Math.imul(a ^ (a >>> 10), UNFACTOR) & MASK;
  return c ^ (c >>> 10);
}

const secondsOf = (at: number): number => Math.floor(at / 1000);

/**
 * Compute salts and rotations.
 *
 * @param period  whole seconds between two rotations of one bucket, 365 to 2^32 - 1.
 */
export function createSalts(secrets: Secrets, period: number): Salts {
  const phaseOf = (mixed: number): number => Math.floor((mixed * period) / BUCKETS);
  // The first mixed index whose phase is `phase` or later.
  const firstAt = (phase: number): number => Math.ceil((phase * BUCKETS) / period);

  return {
    salt: (bucket, rotation) => secrets.derive(`bucket/${bucket}/${rotation}`),

    rotation: (bucket, at) => {
      const seconds = secondsOf(at);
      const phase = phaseOf(mix(bucket));
      const number = Math.floor((seconds - phase) / period);
      const since = phase + number * period;
      const age = seconds - since;
      const step = Math.floor((age * 365) / (30 * period)) + 1;
      const next = since + Math.floor((step * 30 * period) / 365);
      // Rounding down to whole seconds may have put that multiple on this very second.
      const ahead = next > seconds ? next : since + Math.floor(((step + 1) * 30 * period) / 365);
      return {
        number,
        since,
        refreshAt: Math.min(ahead, since + period),
        tellsPrevious: (at - since * 1000) * 365 < 90 * period * 1000,
      };
    },

    rotatedSince: (from, at) => {
      const until = secondsOf(at);
      const start = Math.max(Math.ceil(from / 1000), until - period + 1);
      // Seconds since the start of the cycle in which `start` lies; mixed indexes simply go on beyond its end.
      const cycle = Math.floor(start / period) * period;
      const first = firstAt(start - cycle);
      const end = start <= until ? firstAt(until - cycle + 1) : first;
      return {
        count: end - first,
        row: (index) => {
          const position = first + index;
          return { bucket: unmix(position % BUCKETS), since: cycle + phaseOf(position) };
        },
      };
    },
  };
}

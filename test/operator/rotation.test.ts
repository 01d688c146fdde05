import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createSecrets } from '../../src/operator/crypto/secrets.ts';
import { createRawIds } from '../../src/operator/identity/raw-ids.ts';
import {
  BUCKETS,
  createSalts,
  MAX_PERIOD_SECONDS,
  MIN_PERIOD_SECONDS,
  mix,
  unmix,
} from '../../src/operator/identity/salts.ts';
import { DAY, NOON, ROOT } from './fixtures.ts';

const secrets = createSecrets(ROOT, 'integration', 'UID2');
const YEAR = 31_536_000;

const bucket = fc.integer({ min: 0, max: BUCKETS - 1 });
const period = fc.oneof(
  fc.constantFrom(MIN_PERIOD_SECONDS, 366, 86_400, BUCKETS - 1, BUCKETS, BUCKETS + 1, YEAR, MAX_PERIOD_SECONDS),
  fc.integer({ min: MIN_PERIOD_SECONDS, max: 10_000 }),
  fc.integer({ min: MIN_PERIOD_SECONDS, max: MAX_PERIOD_SECONDS }),
);
/** An instant between 1990 and 2100, ms. */
const instant = fc.integer({ min: Date.UTC(1990, 0), max: Date.UTC(2100, 0) });

test('mix is a bijection that separates neighbouring indexes', () => {
  const seen = new Uint8Array(BUCKETS);
  let far = 0;
  for (let index = 0; index < BUCKETS; index++) {
    const mixed = mix(index);
    seen[mixed]! += 1;
    if (unmix(mixed) !== index) throw new Error(`unmix: expected ${index}, got ${unmix(mixed)}`);
    if (Math.abs(mixed - mix((index + 1) % BUCKETS)) > BUCKETS / 100) far++;
  }
  expect(seen.every((times) => times === 1)).toBe(true);
  expect(far / BUCKETS).toBeGreaterThan(0.95);
});

describe('the rotation of a bucket', () => {
  test('lasts one period', () => {
    fc.assert(
      fc.property(bucket, period, instant, (index, seconds, at) => {
        const { rotation } = createSalts(secrets, seconds);
        const { number, startSeconds } = rotation(index, at);
        expect(startSeconds * 1000).toBeLessThanOrEqual(at);
        expect(startSeconds + seconds).toBeGreaterThan(Math.floor(at / 1000));
        // The first millisecond belongs to the rotation, the one before it to the previous rotation.
        expect(rotation(index, startSeconds * 1000).number).toBe(number);
        expect(rotation(index, startSeconds * 1000 - 1).number).toBe(number - 1);
        expect(rotation(index, (startSeconds + seconds) * 1000).number).toBe(number + 1);
      }),
      { numRuns: 2000 },
    );
  });

  test('has its refresh time in whole seconds and in the future, and does not change before it', () => {
    fc.assert(
      fc.property(bucket, period, instant, fc.double({ min: 0, max: 1, noNaN: true }), (index, seconds, at, share) => {
        const { rotation } = createSalts(secrets, seconds);
        const { number, refreshAtSeconds, startSeconds } = rotation(index, at);
        expect(Number.isInteger(refreshAtSeconds)).toBe(true);
        expect(refreshAtSeconds * 1000).toBeGreaterThan(at);
        expect(rotation(index, refreshAtSeconds * 1000 - 1).number).toBe(number);
        // Any instant before the refresh time: the same rotation with the same refresh time.
        const between = at + Math.floor(share * (refreshAtSeconds * 1000 - 1 - at));
        expect(rotation(index, between)).toMatchObject({ number, refreshAtSeconds });
        // The refresh time is a multiple of 30/365 of the period, rounded down to seconds, or the next rotation.
        const steps = ((refreshAtSeconds - startSeconds) * 365) / (30 * seconds);
        if (refreshAtSeconds !== startSeconds + seconds)
          expect(Math.ceil(steps - 1e-9) - steps).toBeLessThan((365 / (30 * seconds)) * 1.001);
        expect(refreshAtSeconds).toBeLessThanOrEqual(startSeconds + seconds);
      }),
      { numRuns: 2000 },
    );
  });

  test('shows the previous ID for exactly 90/365 of the period', () => {
    fc.assert(
      fc.property(bucket, period, instant, (index, seconds, at) => {
        const { rotation } = createSalts(secrets, seconds);
        const { startSeconds } = rotation(index, at);
        const end = Math.ceil((startSeconds * 365 + 90 * seconds) * (1000 / 365));
        expect(rotation(index, startSeconds * 1000).showsPrevious).toBe(true);
        expect(rotation(index, end - 1).showsPrevious).toBe(true);
        expect(rotation(index, end + 1).showsPrevious).toBe(false);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('raw IDs over many rotations', () => {
  const users = Array.from({ length: 12 }, (_, at) => {
    const user = new Uint8Array(32).fill(at * 21 + 1);
    user[1] = at * 37;
    return user;
  });

  test.each([
    ['a year', YEAR, DAY, 3 * 365],
    ['365 s', 365, 7_000, 400],
    ['a day', 86_400, 1_000_000, 400],
  ])(
    'with a period of %s: the previous ID is that of the last rotation, no ID changes before its refresh time, each lasts one period',
    (_, seconds, step, steps) => {
      const rawIds = createRawIds(secrets, createSalts(secrets, seconds));
      for (const user of users) {
        let last = rawIds.mappedAt(user, NOON);
        let before: string | undefined;
        let changes = 0;
        for (let at = NOON + step; at <= NOON + steps * step; at += step) {
          const now = rawIds.mappedAt(user, at);
          if (now.current !== last.current) {
            changes++;
            // The refresh time of the last answer lies between the two instants.
            expect(last.refreshAtSeconds * 1000).toBeLessThanOrEqual(at);
            before = last.current;
          }
          if (before !== undefined && now.previous !== undefined) expect(now.previous).toBe(before);
          expect(now.refreshAtSeconds * 1000).toBeGreaterThan(at);
          last = now;
        }
        const periods = (steps * step) / (seconds * 1000);
        expect(Math.abs(changes - periods)).toBeLessThanOrEqual(1);
      }
    },
  );
});

describe('the list of rotated buckets', () => {
  const listed = (seconds: number, from: number, at: number) => {
    const { count, row } = createSalts(secrets, seconds).rotatedSince(from, at);
    return Array.from({ length: count }, (_, index) => row(index));
  };

  test('contains buckets whose current rotation started in the time span, in order of time, none twice', () => {
    fc.assert(
      fc.property(period, instant, fc.double({ min: 0, max: 0.002, noNaN: true }), (seconds, at, share) => {
        const from = at - Math.floor(share * seconds * 1000);
        const salts = createSalts(secrets, seconds);
        const rows = listed(seconds, from, at);
        expect(new Set(rows.map(({ bucket: index }) => index)).size).toBe(rows.length);
        let last = 0;
        for (const { bucket: index, startSeconds } of rows) {
          if (salts.rotation(index, at).startSeconds !== startSeconds)
            throw new Error(`bucket ${index}: expected the start of its current rotation, got ${startSeconds}`);
          if (startSeconds * 1000 < from || startSeconds * 1000 > at || startSeconds < last)
            throw new Error(`bucket ${index}: expected a later start in the time span, got ${startSeconds}`);
          last = startSeconds;
        }
      }),
      { numRuns: 200 },
    );
  });

  test('contains a bucket exactly if its raw ID 1 ms before the time span was different', () => {
    fc.assert(
      fc.property(period, instant, fc.double({ min: 0, max: 1, noNaN: true }), bucket, (seconds, at, share, index) => {
        const from = at - Math.floor(share * seconds * 1000);
        const salts = createSalts(secrets, seconds);
        const { count, row } = salts.rotatedSince(from, at);
        const changed = salts.rotation(index, from - 1).number !== salts.rotation(index, at).number;
        const { startSeconds } = salts.rotation(index, at);
        // Binary search: the rows are in order of time. Rows of the same second are compared one by one.
        let low = 0;
        let high = count;
        while (low < high) {
          const middle = (low + high) >> 1;
          if (row(middle).startSeconds < startSeconds) low = middle + 1;
          else high = middle;
        }
        let found = false;
        for (; low < count && row(low).startSeconds === startSeconds; low++) found ||= row(low).bucket === index;
        expect(found).toBe(changed);
      }),
      { numRuns: 1000 },
    );
  });

  test('contains all buckets for one period or more, and those of the current second for an empty time span', () => {
    for (const seconds of [365, 1000, YEAR, 40 * YEAR]) {
      const { rotatedSince } = createSalts(secrets, seconds);
      expect(rotatedSince(NOON - seconds * 1000, NOON).count).toBe(BUCKETS);
      expect(rotatedSince(0, NOON).count).toBe(BUCKETS);
      expect(rotatedSince(Number.MIN_SAFE_INTEGER, NOON).count).toBe(BUCKETS);
      expect(rotatedSince(NOON + 1, NOON).count).toBe(0);
      expect(rotatedSince(Number.MAX_SAFE_INTEGER, NOON).count).toBe(0);
      expect(Math.abs(rotatedSince(NOON, NOON).count - BUCKETS / seconds)).toBeLessThan(1);
    }
  });

  test('contains 1/365 of all buckets for each day of two years', () => {
    const { rotatedSince } = createSalts(secrets, YEAR);
    let total = 0;
    for (let day = 0; day < 730; day++) {
      const { count } = rotatedSince(NOON + day * DAY + 1, NOON + (day + 1) * DAY);
      expect(Math.abs(count - BUCKETS / 365)).toBeLessThan(2);
      total += count;
    }
    expect(total).toBe(2 * BUCKETS);
  });

  test('computes a row in constant time', () => {
    const { rotatedSince } = createSalts(secrets, YEAR);
    // A row that took a million steps would make this minutes long, longer than the limit of a test.
    for (let time = 0; time < 200_000; time++) rotatedSince(0, NOON + time).row(1_000_000);
  });
});

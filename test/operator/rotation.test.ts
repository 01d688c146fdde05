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

test('mixing is a bijection that separates neighbours', () => {
  const seen = new Uint8Array(BUCKETS);
  let far = 0;
  for (let index = 0; index < BUCKETS; index++) {
    const mixed = mix(index);
    seen[mixed]! += 1;
    if (unmix(mixed) !== index) throw new Error(`${index} does not come back`);
    if (Math.abs(mixed - mix((index + 1) % BUCKETS)) > BUCKETS / 100) far++;
  }
  expect(seen.every((times) => times === 1)).toBe(true);
  expect(far / BUCKETS).toBeGreaterThan(0.95);
});

describe('where a bucket stands', () => {
  test('a rotation lasts one period: it began not after now, less than a period ago', () => {
    fc.assert(
      fc.property(bucket, period, instant, (index, seconds, at) => {
        const { rotation } = createSalts(secrets, seconds);
        const { number, startSeconds } = rotation(index, at);
        expect(startSeconds * 1000).toBeLessThanOrEqual(at);
        expect(startSeconds + seconds).toBeGreaterThan(Math.floor(at / 1000));
        // The very millisecond at which it began is its own, the one before belongs to the last.
        expect(rotation(index, startSeconds * 1000).number).toBe(number);
        expect(rotation(index, startSeconds * 1000 - 1).number).toBe(number - 1);
        expect(rotation(index, (startSeconds + seconds) * 1000).number).toBe(number + 1);
      }),
      { numRuns: 2000 },
    );
  });

  test('r is whole seconds, always ahead, and no ID changes before it', () => {
    fc.assert(
      fc.property(bucket, period, instant, fc.double({ min: 0, max: 1, noNaN: true }), (index, seconds, at, share) => {
        const { rotation } = createSalts(secrets, seconds);
        const { number, refreshAtSeconds, startSeconds } = rotation(index, at);
        expect(Number.isInteger(refreshAtSeconds)).toBe(true);
        expect(refreshAtSeconds * 1000).toBeGreaterThan(at);
        expect(rotation(index, refreshAtSeconds * 1000 - 1).number).toBe(number);
        // Any instant before r: the same rotation, and a later r than that instant.
        const between = at + Math.floor(share * (refreshAtSeconds * 1000 - 1 - at));
        expect(rotation(index, between)).toMatchObject({ number, refreshAtSeconds });
        // A multiple of 30/365 of the period, rounded down to seconds, or the next rotation.
        const steps = ((refreshAtSeconds - startSeconds) * 365) / (30 * seconds);
        if (refreshAtSeconds !== startSeconds + seconds)
          expect(Math.ceil(steps - 1e-9) - steps).toBeLessThan((365 / (30 * seconds)) * 1.001);
        expect(refreshAtSeconds).toBeLessThanOrEqual(startSeconds + seconds);
      }),
      { numRuns: 2000 },
    );
  });

  test('the ID before is told for 90/365 of the period, and not a millisecond longer', () => {
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

describe('raw IDs through the years', () => {
  const users = Array.from({ length: 40 }, (_, at) => {
    const user = new Uint8Array(32).fill(at * 6 + 1);
    user[1] = at * 37;
    return user;
  });

  test.each([
    ['a year', YEAR, DAY, 3 * 365],
    ['365 s', 365, 7_000, 400],
    ['a day', 86_400, 1_000_000, 400],
  ])(
    'with a period of %s: p is the ID of before, r keeps its promise, each ID lasts a period',
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
            // A change between two looks: the promise of the first ran out in between.
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

  test('each row is a bucket whose present rotation began in the span, in order of time, no bucket twice', () => {
    fc.assert(
      fc.property(period, instant, fc.double({ min: 0, max: 0.002, noNaN: true }), (seconds, at, share) => {
        const from = at - Math.floor(share * seconds * 1000);
        const salts = createSalts(secrets, seconds);
        const rows = listed(seconds, from, at);
        expect(new Set(rows.map(({ bucket: index }) => index)).size).toBe(rows.length);
        let last = 0;
        for (const { bucket: index, startSeconds } of rows) {
          if (salts.rotation(index, at).startSeconds !== startSeconds) throw new Error('not its present rotation');
          if (startSeconds * 1000 < from || startSeconds * 1000 > at || startSeconds < last)
            throw new Error('out of the span or its order');
          last = startSeconds;
        }
      }),
      { numRuns: 200 },
    );
  });

  test('a bucket is in the list exactly if its ID at T - 1 ms was another', () => {
    fc.assert(
      fc.property(period, instant, fc.double({ min: 0, max: 1, noNaN: true }), bucket, (seconds, at, share, index) => {
        const from = at - Math.floor(share * seconds * 1000);
        const salts = createSalts(secrets, seconds);
        const { count, row } = salts.rotatedSince(from, at);
        const changed = salts.rotation(index, from - 1).number !== salts.rotation(index, at).number;
        const { startSeconds } = salts.rotation(index, at);
        // Found by halves: the rows are in order of time. Those of the same second are looked at one by one.
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

  test('of a period or more is all of them, of nothing is those of this very second', () => {
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

  test('is a 365th of all buckets for every day of two years', () => {
    const { rotatedSince } = createSalts(secrets, YEAR);
    let total = 0;
    for (let day = 0; day < 730; day++) {
      const { count } = rotatedSince(NOON + day * DAY + 1, NOON + (day + 1) * DAY);
      expect(Math.abs(count - BUCKETS / 365)).toBeLessThan(2);
      total += count;
    }
    expect(total).toBe(2 * BUCKETS);
  });

  test('costs what is asked for: a row of a million is as near as one of ten', () => {
    const { rotatedSince } = createSalts(secrets, YEAR);
    const start = performance.now();
    for (let time = 0; time < 10_000; time++) rotatedSince(0, NOON + time).row(1_000_000);
    expect(performance.now() - start).toBeLessThan(2000);
  });
});

import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { KeyStore, StoredGeneration } from '../../src/operator/ports/state.ts';
import { memoryState } from '../../src/operator/state/memory-state.ts';
import {
  endsAt,
  firstGenerations,
  nextGeneration,
  scheduledSteps,
  sealingGeneration,
} from '../../src/operator/tokens/key-generations.ts';
import { RELOAD_MS } from '../../src/operator/tokens/key-schedule.ts';
import { TokenError } from '../../src/token/index.ts';
import { createTestService, DAY, NOON, SECOND, type TestService } from './fixtures.ts';

const user = { email: 'user@example.com' };
const PERIOD = 30 * DAY;

/** The generations that the key endpoint publishes for the master key, and the one that seals refresh tokens. */
const published = async (service: TestService): Promise<number[]> => {
  const { json } = await service.call('/v2/key/bidstream', undefined);
  return json.body.keys.map(({ id }: { id: number }) => id).filter((id: number) => id < 128);
};
const sealing = (set: { refresh_token: string }): number =>
  Buffer.from(set.refresh_token, 'base64').readInt32BE(1) - 128;

describe('keys that are rotated on a schedule', () => {
  const start = (options = {}) => createTestService({ keyRotation: PERIOD / SECOND, ...options });

  test('are announced a day before they seal', async () => {
    const service = start();
    await service.operator.ready;
    const first = await service.generate(user);
    expect([sealing(first), await published(service)]).toEqual([1, [1]]);
    // The schedule starts an hour before the first start.
    service.now = NOON + 29 * DAY - 3600 * SECOND - 1;
    expect(await published(service)).toEqual([1]);
    service.now++;
    expect(await published(service)).toEqual([1, 2]);
    expect(sealing(await service.generate(user))).toBe(1);
    service.now += DAY - 1;
    expect(sealing(await service.generate(user))).toBe(1);
    service.now++;
    expect(sealing(await service.generate(user))).toBe(2);
  });

  test('end no session in half a year of refreshes, and each generation seals for one period', async () => {
    const service = start();
    let set = await service.generate(user);
    const days = new Map<number, number>();
    for (let day = 0; day < 190; day++) {
      service.now = NOON + day * DAY;
      // Before the refresh token of a day ends.
      const { http, json } = await service.refresh(set);
      expect([http, json.status]).toEqual([200, 'success']);
      set = json.body;
      days.set(sealing(set), (days.get(sealing(set)) ?? 0) + 1);
    }
    expect([...days.keys()]).toEqual(Array.from({ length: 7 }, (_, at) => at + 1));
    expect([...days.values()].slice(0, -1).every((count) => count === 30)).toBe(true);
    // Retired ones are published no more.
    expect((await published(service)).length).toBeLessThanOrEqual(4);
  });

  test('are retired when no token under them is alive, and then open nothing', async () => {
    const lifetime = { identityExpires: (60 * DAY) / SECOND, refreshExpires: (60 * DAY) / SECOND };
    const service = start(lifetime);
    const before = await service.generate(user);
    service.now = NOON + 29 * DAY;
    // Announces generation 2. The last token under generation 1 is sealed a day later, and lives for 60 days.
    expect(await published(service)).toEqual([1, 2]);
    service.now = NOON + 60 * DAY;
    expect((await service.refresh(before)).json.status).toBe('success');
    service.now = NOON + 91 * DAY - 1;
    expect(await published(service)).toContain(1);
    expect((await service.refresh(before)).json.status).toBe('expired_token');
    const token = { token: before.advertising_token, ...user };
    expect((await service.call('/v2/token/validate', token)).http).toBe(200);
    service.now++;
    expect(await published(service)).not.toContain(1);
    expect((await service.refresh(before)).json.status).toBe('invalid_token');
    expect((await service.call('/v2/token/validate', token)).json.message).toBe('Invalid token');
  });

  test('open for as long as a sharing token under them may live, even if refresh tokens live for a day', async () => {
    const service = start();
    await service.operator.ready;
    service.now = NOON + 29 * DAY;
    expect(await published(service)).toEqual([1, 2]);
    // Generation 2 seals from day 30 on; a sharing token lives for 30 days, and clocks may differ by one.
    service.now = NOON + 61 * DAY - 1;
    expect(await published(service)).toContain(1);
    service.now++;
    expect(await published(service)).not.toContain(1);
  });

  test('an operator that was not called for a year announces one generation, a day before it seals', async () => {
    const service = start();
    await service.generate(user);
    service.now = NOON + 365 * DAY;
    expect(await published(service)).toEqual([1, 2]);
    expect(sealing(await service.generate(user))).toBe(1);
    service.now += DAY;
    expect(sealing(await service.generate(user))).toBe(2);
  });
});

test('a database that can be read but not written does not stop the keys in force, and the change follows later', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const state = memoryState();
  let isReadOnly = false;
  const put: KeyStore['put'] = async (generations) => {
    if (isReadOnly) throw new TokenError('storage_failed', 'database: a statement failed: read-only (25006)');
    return state.keys!.put(generations);
  };
  const warnings: unknown[] = [];
  const warn = (...all: unknown[]): void => void warnings.push(all);
  const service = createTestService({
    state: { ...state, keys: { ...state.keys!, put } },
    keyRotation: PERIOD / SECOND,
    logger: { info: () => {}, warn, error: warn },
  });
  await service.operator.ready;
  isReadOnly = true;
  service.now = NOON + 29 * DAY;
  for (let call = 0; call < 3; call++) {
    vi.advanceTimersByTime(RELOAD_MS);
    expect(sealing(await service.generate(user))).toBe(1);
  }
  expect(warnings).toEqual([
    [{ reason: 'database: a statement failed: read-only (25006)' }, 'keys: a scheduled change cannot be written'],
  ]);
  isReadOnly = false;
  vi.advanceTimersByTime(RELOAD_MS);
  expect(await published(service)).toEqual([1, 2]);
  expect(warnings.slice(1)).toEqual([[{}, 'keys: scheduled changes are written again']]);
});

test('requests at the same time read the generations once', async () => {
  const state = memoryState();
  let reads = 0;
  let release = (): void => {};
  let released: Promise<void> | undefined;
  const list: KeyStore['list'] = async () => {
    reads++;
    await released;
    return state.keys!.list();
  };
  // Each request asks for opt-outs, then for keys.
  let asked = 0;
  const since: typeof state.optOuts.since = async (users) => {
    asked++;
    return state.optOuts.since(users);
  };
  const service = createTestService({
    state: { ...state, keys: { ...state.keys!, list }, optOuts: { ...state.optOuts, since } },
  });
  await service.operator.ready;
  released = new Promise((resolve) => (release = resolve));
  reads = 0;
  const sets = Array.from({ length: 20 }, () => service.generate(user));
  await vi.waitUntil(() => asked === 20, { timeout: 30_000 });
  await new Promise(setImmediate);
  release();
  expect(await Promise.all(sets)).toHaveLength(20);
  expect(reads).toBe(1);
});

test('without a schedule the generation of the options seals permanently, and all up to it open', async () => {
  const service = createTestService({ keyGeneration: 3 });
  expect(sealing(await service.generate(user))).toBe(3);
  service.now = NOON + 900 * DAY;
  expect(sealing(await service.generate(user))).toBe(3);
  expect(await published(service)).toEqual([1, 2, 3]);
});

test('the key endpoints state when a key seals, in seconds', async () => {
  const service = createTestService({ keyRotation: PERIOD / SECOND });
  await service.operator.ready;
  service.now = NOON + 29 * DAY - 3600 * SECOND;
  const { json } = await service.call('/v2/key/sharing', undefined);
  const activates = json.body.keys.filter(({ id }: { id: number }) => id < 128);
  const first = NOON / SECOND - 3600;
  expect(activates.map((key: { activates: number }) => key.activates)).toEqual([first, first + PERIOD / SECOND]);
});

describe('the rules of generations', () => {
  const row = (generation: number, activatesAt: number, more: Partial<StoredGeneration> = {}): StoredGeneration => ({
    generation,
    activatesAt,
    retiredAt: null,
    longestMs: PERIOD,
    ...more,
  });

  test('the newest activated one that is not retired seals; before all of them, the oldest', () => {
    const list = [row(1, 10), row(2, 20), row(3, 30, { retiredAt: 25 }), row(4, 40)];
    expect([5, 10, 20, 30, 39, 40].map((now) => sealingGeneration(list, now)?.generation)).toEqual([1, 1, 2, 2, 2, 4]);
    expect(sealingGeneration([row(1, 10, { retiredAt: 15 })], 20)).toBeUndefined();
  });

  test('the tokens of one end when those end that it sealed last', () => {
    const list = [row(1, 10), row(2, 20), row(3, 30, { retiredAt: 25 }), row(4, 40)];
    expect(list.map((each) => endsAt(list, each))).toEqual([
      20 + PERIOD + DAY,
      // Generation 3 was retired before it sealed.
      40 + PERIOD + DAY,
      40 + PERIOD + DAY,
      undefined,
    ]);
  });

  test('the number of a retired generation is not used again, and 127 may open at the same time', () => {
    expect(nextGeneration([row(1, 10), row(2, 20, { retiredAt: 15 })], 50, 5)).toMatchObject({ generation: 3 });
    const many = Array.from({ length: 127 }, (_, at) => row(at + 1, at));
    expect(() => nextGeneration(many, 500, 5)).toThrow('expected generation 1 to be retired before generation 128');
    expect(nextGeneration([row(1, 0, { retiredAt: 5 }), ...many.slice(1)], 500, 5)).toMatchObject({ generation: 128 });
    // No further one is announced, and those that can be are retired.
    const steps = scheduledSteps(many, PERIOD, PERIOD);
    expect(steps.map(({ change }) => change(9).retiredAt)).toEqual(Array(126).fill(9));
  });

  test('a state without generations gets as many as can be open at the same time', () => {
    const list = firstGenerations(200, NOON, 5);
    expect([list.length, list[0]!.generation, list.at(-1)!.generation]).toEqual([127, 74, 200]);
    expect(sealingGeneration(list, NOON)?.generation).toBe(200);
  });

  test('the first generations have different times, the last of them seals', () => {
    const list = firstGenerations(3, NOON, 5);
    expect(new Set(list.map(({ activatesAt }) => activatesAt)).size).toBe(3);
    expect(sealingGeneration(list, NOON)?.generation).toBe(3);
  });
});

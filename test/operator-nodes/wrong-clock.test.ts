/** A node, or an administrator, on a machine whose clock is wrong. */

import { afterEach, expect, test, vi } from 'vitest';
import { createOperator, openAdministration } from '../../src/operator/index.ts';
import { freshLocation } from '../database/locations.ts';
import { createCalls, DAY, ROOT } from '../operator/fixtures.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(open.splice(0).map((each) => each.close()));
});

const HALF_HOUR = 1_800_000;
const user = { email: 'user@example.com' };
const keep = <T extends { close(): Promise<void> }>(resource: T): T => {
  open.push(resource);
  return resource;
};
const start = async (database: string, warnings: string[] = []) => {
  const warn = (fields: object, message: string) => void warnings.push(`${message} ${JSON.stringify(fields)}`);
  const logger = { info: () => {}, warn, error: warn };
  // By default it keeps the `Date.now` of its creation.
  const operator = keep(createOperator({ now: () => Date.now(), rootSecret: ROOT, database, logger }));
  await operator.ready;
  return createCalls(
    (path, init) => operator.fetch(new Request(`http://node.test${path}`, init)),
    operator.participants[0]!,
    Date.now,
  );
};

test('a node whose clock is days ahead announces and retires no keys, says so once, and keeps the keys in force', async () => {
  const place = await freshLocation('postgres');
  const warnings: string[] = [];
  const { generate, refresh } = await start(place, warnings);
  const { keys } = keep(await openAdministration({ database: place }));
  const before = await keys.list();
  const set = await generate(user);
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  // The next generation would be announced after 29 days. This clock stands still: the one of the database comes closer.
  vi.setSystemTime(Date.now() + 40 * DAY + HALF_HOUR);
  for (let read = 0; read < 3; read++) {
    vi.advanceTimersByTime(1000);
    // Not `invalid_token`: the keys are in force.
    expect((await refresh(set)).json.status).toBe('expired_token');
  }
  expect(await keys.list()).toEqual(before);
  expect(warnings).toEqual([
    expect.stringMatching(
      /^keys: this node changes none, because of its clock .* got one that is 345[67]\d{3} s ahead/,
    ),
    expect.stringContaining('keys: a scheduled change cannot be written'),
  ]);
});

test.each([
  [-1, 'behind'],
  [1, 'ahead'],
])('an administrator whose clock is %d hours off rotates and retires no keys', async (hours, side) => {
  const place = await freshLocation('postgres');
  await start(place);
  const { keys } = keep(await openAdministration({ database: place }));
  await keys.rotate(DAY);
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.setSystemTime(Date.now() + hours * 3_600_000);
  await expect(keys.retire(2, false)).rejects.toMatchObject({
    code: 'storage_failed',
    message: expect.stringMatching(
      new RegExp(`^keys: expected a clock within 600 s of that of the database, got one that is \\d+ s ${side}$`),
    ),
  });
});

test('a generation with which a node whose clock is ahead may already encrypt is retired only by force', async () => {
  const place = await freshLocation('postgres');
  const { keys } = await start(place).then(async () => keep(await openAdministration({ database: place })));
  await keys.rotate(60_000);
  const ahead = keep(createOperator({ now: () => Date.now() + 300_000, rootSecret: ROOT, database: place }));
  const calls = createCalls(
    (path, init) => ahead.fetch(new Request(`http://node.test${path}`, init)),
    ahead.participants[0]!,
    () => Date.now() + 300_000,
  );
  const set = await calls.generate(user);
  await expect(keys.retire(2, false)).rejects.toThrow(
    'keys: expected a generation that encrypts in 600 s or later, got 2, which encrypts from ',
  );
  expect((await calls.refresh(set)).json.status).toBe('success');
  expect(await keys.retire(2, true)).toMatchObject({ state: 'retired' });
  const { generation } = await keys.rotate(DAY);
  expect(await keys.retire(generation, false)).toMatchObject({ state: 'retired' });
});

test('a first start with a wrong clock is refused, before it has stored a key', async () => {
  const place = await freshLocation('postgres');
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.setSystemTime(Date.now() + 2 * DAY + HALF_HOUR);
  await expect(start(place)).rejects.toThrow(/got one that is 17[34]\d{3} s ahead/);
});

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { createOperator } from '../../src/operator/index.ts';
import { emptyFolder, freshLocation } from '../database/locations.ts';
import { PASSWORD } from '../database/postgres-server.ts';
import { startNode } from '../operator-nodes/process.ts';
import { tessera } from './fixtures.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => Promise.all(open.splice(0).map((each) => each.close())));

const sealing = (set: { refresh_token: string }): number =>
  Buffer.from(set.refresh_token, 'base64').readInt32BE(1) - 128;

test('a rotation by the command reaches two running nodes, and retiring the former keys ends what they have sealed', async () => {
  const database = await freshLocation('postgres');
  const nodes = [await startNode(['--database', database]), await startNode(['--database', database])] as const;
  const keys = (...args: string[]) => tessera(['keys', ...args, '--database', database, '--json']);
  const states = async () => (await keys('list')).out.map((line) => JSON.parse(line).state);
  const set = await nodes[0].generate({ email: 'user@example.com' });

  const announced = await keys('rotate', '--in', '5');
  expect(announced).toMatchObject({ code: 0, err: expect.stringContaining('bidders that read the keys once an hour') });
  expect(JSON.parse(announced.out[0]!)).toMatchObject({ generation: 2, state: 'announced' });
  await expect.poll(states, { timeout: 60_000, interval: 200 }).toEqual(['decrypts', 'encrypts']);

  for (const node of nodes) {
    const { json } = await node.refresh(set);
    expect([json.status, sealing(json.body)]).toEqual(['success', 2]);
  }
  expect(await keys('retire', '1')).toMatchObject({ code: 2, err: expect.stringContaining('keys retire --force') });
  expect(await keys('retire', '2')).toMatchObject({ code: 2, err: expect.stringContaining('got 2; rotate first') });
  expect(await keys('retire', '1', '--force')).toMatchObject({ code: 0 });
  for (const node of nodes)
    await expect
      .poll(async () => (await node.refresh(set)).json.status, { timeout: 60_000, interval: 50 })
      .toBe('invalid_token');
  expect(await states()).toEqual(['retired', 'encrypts']);
});

test('the list is a table of generations with their times', async () => {
  const database = await freshLocation('pglite');
  const operator = createOperator({ database, keyGeneration: 2 });
  open.push(operator);
  await operator.ready;
  // A folder belongs to one process.
  expect(await tessera(['keys', 'list', '--database', database])).toMatchObject({
    code: 1,
    err: expect.stringContaining('is in use by this process'),
  });
  await operator.close();
  const { code, out, err } = await tessera(['keys', 'list', '--database', database]);
  expect([code, err]).toEqual([0, '']);
  const time = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ';
  expect(out).toEqual([
    expect.stringMatching(/^generation {2}state {5}encrypts from {9}valid until {11}retired$/),
    expect.stringMatching(new RegExp(`^1 {11}decrypts {2}${time}  ${time}  -$`)),
    expect.stringMatching(new RegExp(`^2 {11}encrypts {2}${time}  - {20} -$`)),
  ]);
});

test('no token under a retired generation is shown as valid after its retirement', async () => {
  const database = await freshLocation('postgres');
  const operator = createOperator({ database, keyGeneration: 2 });
  open.push(operator);
  await operator.ready;
  const keys = (...args: string[]) => tessera(['keys', ...args, '--database', database]);
  const { endsAt } = JSON.parse((await keys('list', '--json')).out[0]!);
  const retired = JSON.parse((await keys('retire', '1', '--force', '--json')).out[0]!);
  expect(retired.retiredAt).toBeLessThan(endsAt);
  expect(retired.endsAt).toBe(retired.retiredAt);
  const [, row = ''] = (await keys('list')).out;
  const [validUntil, retiredAt] = row.split(/ +/).slice(3);
  expect([validUntil, retiredAt]).toEqual([
    retiredAt,
    new Date(retired.retiredAt).toISOString().slice(0, 19).concat('Z'),
  ]);
});

test('a generation that encrypts is not retired before the announced one encrypts, and the error says when', async () => {
  const database = await freshLocation('postgres');
  const operator = createOperator({ database });
  open.push(operator);
  await operator.ready;
  const { out } = await tessera(['keys', 'rotate', '--in', '86400', '--json', '--database', database]);
  const { activatesAt } = JSON.parse(out[0]!);
  expect(await tessera(['keys', 'retire', '1', '--database', database])).toMatchObject({
    code: 2,
    err: expect.stringContaining(
      `error: keys: expected a generation that does not encrypt now, got 1; wait until generation 2 starts to encrypt, at ${new Date(activatesAt).toISOString()}`,
    ),
  });
});

describe('wrong use', () => {
  test('of a place without an operator changes nothing there', async () => {
    const folder = await emptyFolder();
    const missing = join(folder, 'missing');
    expect(await tessera(['keys', 'list', '--database', missing])).toMatchObject({
      code: 2,
      err: `error: --database: could not read ${missing}: no such folder; start the operator on it first, or specify another`,
    });
    expect(await tessera(['keys', 'list', '--database', folder])).toMatchObject({
      code: 2,
      err: `error: --database: could not read ${folder}: it contains no database; start the operator on it first, or specify another`,
    });
    expect(await readdir(folder)).toEqual([]);
    const database = await freshLocation('postgres');
    const { code, err } = await tessera(['keys', 'list', '--database', database]);
    expect([code, err]).toEqual([1, expect.stringContaining('expected one on which an operator has been started')]);
    expect(err).not.toContain(PASSWORD);
  });

  test.each<[args: string[], said: string]>([
    [['list'], "--database: expected the operator's database, or its configuration file in --config, got neither"],
    [['rotate', '--in', 'soon'], 'expected a number'],
    [['retire'], "missing required argument 'generation'"],
    [['retire', 'one'], 'expected a number'],
    [['lost'], "unknown command 'lost'"],
    [['list', '--database', 'mysql://ZZZZ@host'], '--database: expected a folder or postgres://'],
    [
      ['list', '--database', '/nowhere', '--root-secret-file', ''],
      '--root-secret-file: could not read "" (an empty name): no such file',
    ],
  ])('%j exits with 2', async (args, said) => {
    const { code, out, err } = await tessera(['keys', ...args]);
    expect([code, out]).toEqual([2, []]);
    expect(err).toContain(said);
    expect(err).not.toContain('ZZZZ');
  });

  test('a rotation while another one is announced is refused, and so is one too early for every node or later than a year', async () => {
    const database = await freshLocation('postgres');
    const operator = createOperator({ database });
    open.push(operator);
    await operator.ready;
    // An instant beyond the year 275,760 is no valid date: no command could list it.
    for (const seconds of ['4', '31622401', '1e13'])
      expect(await tessera(['keys', 'rotate', '--in', seconds, '--database', database])).toMatchObject({
        code: 2,
        err: expect.stringContaining(
          "option '--in <seconds>' argument '...' is invalid: expected from 5 to 31622400 s",
        ),
      });
    expect(await tessera(['keys', 'list', '--json', '--database', database])).toMatchObject({ code: 0 });
    expect(await tessera(['keys', 'rotate', '--in', '3600.0005', '--database', database])).toMatchObject({ code: 0 });
    expect(await tessera(['keys', 'rotate', '--database', database])).toMatchObject({
      code: 2,
      err: expect.stringContaining('expected no announced'),
    });
  });
});

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createOperator } from '../../src/operator/index.ts';
import { emptyFolder, freshPlace } from '../database/places.ts';
import { startNode } from '../operator-nodes/process.ts';
import { tessera } from './fixtures.ts';

const exported = (out: readonly string[], name: string): string =>
  out.find((line) => line.startsWith(`export ${name}=`))!.slice(`export ${name}=`.length);
const SECRET = Buffer.from(Array.from({ length: 32 }, (_, at) => at)).toString('base64');

test('an added participant may call running nodes, and no longer once it is revoked', async () => {
  const database = await freshPlace('postgres');
  const node = await startNode(['--database', database]);
  const participants = (...args: string[]) => tessera(['participants', ...args, '--database', database]);

  const { code, out } = await participants('add', '--site-id', '7');
  expect(code).toBe(0);
  const [apiKey, clientSecret] = ['TESSERA_API_KEY', 'TESSERA_CLIENT_SECRET'].map((name) => exported(out, name));
  const [, id] = /^# participant ([0-9a-f]{16}), site 7, roles GENERATOR,MAPPER$/.exec(out[0]!)!;
  expect(apiKey).toMatch(/^UID2-C-I-7-[0-9a-f]{6}\.[A-Za-z0-9x]{38}$/);
  expect(out).toHaveLength(3);
  const as = { apiKey: apiKey!, clientSecret: clientSecret!, siteId: 7, roles: [] };
  const status = async () => (await node.call('/v2/token/generate', { email: 'a@b.c' }, { as })).http;
  await expect.poll(status, { timeout: 60_000, interval: 50 }).toBe(200);
  // What was not asked for is not permitted.
  expect((await node.call('/v2/token/logout', { email: 'a@b.c' }, { as })).http).toBe(401);

  const listed = await participants('list');
  expect(listed.out.find((line) => line.startsWith(id!))).toMatch(/^[0-9a-f]{16} +7 +GENERATOR,MAPPER +20\S+Z +-$/);
  expect(listed.out.join()).not.toContain(clientSecret);
  const revoked = await participants('revoke', id!);
  expect(revoked).toMatchObject({ code: 0, out: [expect.any(String), expect.stringMatching(/Z +20\S+Z$/)] });
  await expect.poll(status, { timeout: 60_000, interval: 50 }).toBe(401);
  expect(await participants('revoke', '1234567')).toMatchObject({ code: 2, out: [] });
});

test('two participants of one site have credentials of their own', async () => {
  const database = await freshPlace('postgres');
  const operator = createOperator({ database });
  await operator.ready;
  await operator.close();
  const add = async () =>
    JSON.parse((await tessera(['participants', 'add', '--json', '--database', database])).out[0]!);
  const [one, other] = [await add(), await add()];
  expect(one).toMatchObject({ siteId: 101, roles: ['GENERATOR', 'MAPPER'] });
  expect(new Set([one.apiKey, other.apiKey, one.clientSecret, other.clientSecret, one.id, other.id]).size).toBe(6);
});

test('what is given is not printed, and comes from the environment, a root secret from --config', async () => {
  const folder = await emptyFolder();
  const [database, config] = [await freshPlace('pglite'), join(folder, 'operator.json')];
  await writeFile(config, JSON.stringify({ database, rootSecret: SECRET }), { mode: 0o600 });
  const operator = createOperator({ database, rootSecret: SECRET });
  await operator.ready;
  await operator.close();
  const env = { TESSERA_API_KEY: 'key-of-env', TESSERA_CLIENT_SECRET: SECRET };
  const args = ['participants', 'add', '--roles', 'OPTOUT'];
  const { code, out, err } = await tessera([...args, '--config', config], { env });
  expect([code, err]).toEqual([0, '']);
  expect(out).toEqual([expect.stringMatching(/^# participant [0-9a-f]{16}, site 101, roles OPTOUT$/)]);
  expect(await tessera([...args, '--database', database], { env })).toMatchObject({
    code: 2,
    err: 'error: rootSecret: expected the root secret with which this database was created, got none',
  });
  // A list needs no root secret.
  expect((await tessera(['participants', 'list', '--database', database])).out).toHaveLength(3);
});

test.each<[args: string[], said: string]>([
  [['add', '--roles', 'ADMIN'], 'roles: expected GENERATOR'],
  [['add', '--site-id', '0'], 'siteId: expected a whole number from 1'],
  [['add', '--client-secret', 'ZZZZ'], 'clientSecret: expected 32 bytes'],
])('%j exits with 2 and changes nothing', async (args, said) => {
  const database = await freshPlace('postgres');
  const operator = createOperator({ database, rootSecret: SECRET });
  await operator.ready;
  await operator.close();
  const env = { TESSERA_ROOT_SECRET: SECRET };
  const { code, out, err } = await tessera(['participants', ...args, '--database', database], { env });
  expect([code, out]).toEqual([2, []]);
  expect(err).toContain(said);
  expect(err).not.toContain('ZZZZ');
  expect((await tessera(['participants', 'list', '--database', database])).out).toHaveLength(2);
});

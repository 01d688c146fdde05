import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createOperator, openAdministration } from '../../src/operator/index.ts';
import { ANY_KIND, emptyFolder, freshLocation } from '../database/locations.ts';
import { startNode } from '../operator-nodes/process.ts';
import { tessera } from './fixtures.ts';

const exported = (out: readonly string[], name: string): string =>
  out.find((line) => line.startsWith(`export ${name}=`))!.slice(`export ${name}=`.length);
const SECRET = Buffer.from(Array.from({ length: 32 }, (_, at) => at)).toString('base64');

test('an added participant may call running nodes, and no longer once it is revoked', async () => {
  const database = await freshLocation('postgres');
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
  expect(await participants('revoke', '1234567')).toMatchObject({
    code: 2,
    out: [],
    err: expect.stringContaining('found none; tessera participants list shows the IDs'),
  });
});

test('two participants of one site have credentials of their own', async () => {
  const database = await freshLocation('postgres');
  const operator = createOperator({ database });
  await operator.ready;
  await operator.close();
  const add = async () =>
    JSON.parse((await tessera(['participants', 'add', '--json', '--database', database])).out[0]!);
  const [one, other] = [await add(), await add()];
  expect(one).toMatchObject({ siteId: 101, roles: ['GENERATOR', 'MAPPER'] });
  expect(new Set([one.apiKey, other.apiKey, one.clientSecret, other.clientSecret, one.id, other.id]).size).toBe(6);
});

/** Start an operator, and stop it once it has printed what it prints. */
const started = (...args: string[]): Promise<string[]> => startedWith({}, ...args);

const startedWith = async (env: Record<string, string>, ...args: string[]): Promise<string[]> => {
  const command = ['operator', '--port', '0', '--log-level', 'error', ...args];
  const { code, out, err } = await tessera(command, { env, stopped: Promise.resolve() });
  expect(code).toBe(0);
  // On a folder or in memory, there are warnings too.
  const notes = err.split('\n').filter((line) => line !== '' && !line.startsWith('warning: '));
  return [...notes, ...out];
};

describe.each(ANY_KIND)('an operator on %s', (kind) => {
  const HINT =
    '# site 101: credentials were generated at an earlier start and are not printed again; --print-credentials prints them, "tessera participants add" generates others';

  test('prints the credentials that it makes at its first start, and no secret at a later one', async () => {
    const database = await freshLocation(kind);
    const first = await started('--database', database);
    expect(first).toEqual([
      '# site 101, roles GENERATOR,MAPPER',
      expect.stringMatching(/^export TESSERA_BASE_URL=http/),
      expect.stringMatching(/^export TESSERA_API_KEY=UID2-/),
      expect.stringMatching(/^export TESSERA_CLIENT_SECRET=/),
      expect.stringMatching(/^listening on /),
    ]);
    expect(await started('--database', database)).toEqual([HINT, expect.stringMatching(/^listening on /)]);
    const asked = await started('--database', database, '--print-credentials');
    expect(asked.slice(2, 4)).toEqual(first.slice(2, 4));
  });

  test('writes them into --env-file, and later starts leave there what is in force', async () => {
    const [database, path] = [await freshLocation(kind), join(await emptyFolder(), 'tessera.env')];
    const start = () => started('--database', database, '--env-file', path);
    expect(await start()).toEqual([
      `# address and credentials of site 101 are in ${path}`,
      expect.stringMatching(/^listening on /),
    ]);
    const written = await readFile(path, 'utf8');
    const [, listening] = await start();
    // The address is that of the last start.
    const url = listening!.slice('listening on '.length);
    expect(await readFile(path, 'utf8')).toBe(written.replace(/^TESSERA_BASE_URL=.*$/m, `TESSERA_BASE_URL=${url}`));

    const administration = await openAdministration({ database });
    const [{ keyHash } = { keyHash: '' }] = await administration.participants.list();
    const { clientSecret } = await administration.participants.update(keyHash, { newSecret: true });
    await administration.close();
    await writeFile(path, written.replace(/^TESSERA_CLIENT_SECRET=.*$/m, `TESSERA_CLIENT_SECRET=${clientSecret}`));
    expect((await start()).slice(0, 2)).toEqual([
      `# address is in ${path}`,
      '# site 101: changed since it was added; use the credentials from that change',
    ]);
    expect(await readFile(path, 'utf8')).toContain(`TESSERA_CLIENT_SECRET=${clientSecret}`);
  });
});

describe('an operator that is given credentials', () => {
  const FROM_ENV = 'site 101: credentials from TESSERA_API_KEY and TESSERA_CLIENT_SECRET in the environment';
  const LISTENING = expect.stringMatching(/^listening on /);
  const env = { TESSERA_API_KEY: 'key-of-env', TESSERA_CLIENT_SECRET: SECRET };

  test('says so if the environment contains only the API key, and it generates the secret', async () => {
    const [origin] = await startedWith(
      { TESSERA_API_KEY: 'key-of-env' },
      '--database',
      await freshLocation('postgres'),
    );
    expect(origin).toBe(
      'site 101: credentials from TESSERA_API_KEY in the environment; participant added to the database',
    );
  });

  test('says that it takes them from the environment, and that it has added the participant to the database', async () => {
    const database = await freshLocation('postgres');
    const start = () => startedWith(env, '--database', database);
    expect(await start()).toEqual([`${FROM_ENV}; participant added to the database`, LISTENING]);
    expect(await start()).toEqual([FROM_ENV, LISTENING]);
    const administration = await openAdministration({ database });
    const [{ keyHash } = { keyHash: '' }] = await administration.participants.list();
    await administration.participants.update(keyHash, { siteId: 7 });
    expect(await start()).toEqual([`${FROM_ENV}; the stored participant differs and stays in force`, LISTENING]);
    await administration.participants.revoke([keyHash]);
    await administration.close();
    expect(await start()).toEqual([`${FROM_ENV}; this participant is revoked`, LISTENING]);
  });

  test('says which participants of the configuration file it has added to the database', async () => {
    const [database, config] = [await freshLocation('postgres'), join(await emptyFolder(), 'operator.json')];
    const write = (...participants: object[]) =>
      writeFile(config, JSON.stringify({ database, participants }), { mode: 0o600 });
    const start = () => started('--config', config);
    const [one, other] = [7, 8].map((siteId) => ({ siteId, apiKey: `key-of-${siteId}`, clientSecret: SECRET }));
    await write(one!);
    expect(await start()).toEqual(['site 7: participant added to the database', LISTENING]);
    await write(one!, other!);
    expect(await start()).toEqual(['site 8: participant added to the database', LISTENING]);
    expect(await start()).toEqual([LISTENING]);
  });
});

test('the environment of a caller is not taken for the participant to add; update changes one by its ID', async () => {
  const database = await freshLocation('postgres');
  const operator = createOperator({ database, apiKey: 'key-of-caller', clientSecret: SECRET, siteId: 7 });
  await operator.ready;
  await operator.close();
  // The shell in which the caller's client works.
  const env = { TESSERA_API_KEY: 'key-of-caller', TESSERA_CLIENT_SECRET: SECRET };
  const participants = (...args: string[]) =>
    tessera(['participants', ...args, '--json', '--database', database], { env });

  const { code, out } = await participants('add', '--site-id', '8');
  const added = JSON.parse(out[0]!);
  expect([code, added.siteId]).toEqual([0, 8]);
  expect([added.apiKey, added.clientSecret]).not.toContain('key-of-caller');
  expect(await participants('add', '--from-env')).toMatchObject({
    code: 2,
    out: [],
    err: expect.stringMatching(
      /expected an API key that no participant has, got that of [0-9a-f]{16} on site 7; use update to change a participant/,
    ),
  });
  const [caller] = (await participants('list')).out
    .map((line) => JSON.parse(line))
    .filter(({ siteId }) => siteId === 7);
  const changed = await participants('update', caller.id, '--roles', 'MAPPER');
  expect(changed.out.map((line) => JSON.parse(line))).toEqual([{ id: caller.id, siteId: 7, roles: ['MAPPER'] }]);
  const renewed = await tessera(['participants', 'update', caller.id, '--new-secret', '--database', database], { env });
  expect(renewed.out).toEqual([
    `# participant ${caller.id}, site 7, roles MAPPER`,
    expect.stringMatching(/^export TESSERA_CLIENT_SECRET=[\w+/]{43}=$/),
  ]);
  expect(renewed.out[1]).not.toContain(SECRET);
  expect(await participants('update', caller.id)).toMatchObject({
    code: 2,
    err: 'error: expected --site-id, --roles, --client-secret or --new-secret, got none of them',
  });
});

test('what is given is not printed, and comes from the environment if asked, a root secret from --config', async () => {
  const folder = await emptyFolder();
  const [database, config] = [await freshLocation('pglite'), join(folder, 'operator.json')];
  await writeFile(config, JSON.stringify({ database, rootSecret: SECRET }), { mode: 0o600 });
  const operator = createOperator({ database, rootSecret: SECRET });
  await operator.ready;
  await operator.close();
  const env = { TESSERA_API_KEY: 'key-of-env', TESSERA_CLIENT_SECRET: SECRET };
  const args = ['participants', 'add', '--from-env', '--roles', 'OPTOUT'];
  const { code, out, err } = await tessera([...args, '--config', config], { env });
  expect([code, err]).toEqual([0, '']);
  expect(out).toEqual([expect.stringMatching(/^# participant [0-9a-f]{16}, site 101, roles OPTOUT$/)]);
  expect(await tessera([...args, '--database', database], { env })).toMatchObject({
    code: 2,
    err: 'error: TESSERA_ROOT_SECRET: expected the root secret with which this database was created, got none',
  });
  expect(await tessera([...args, '--config', config])).toMatchObject({
    code: 2,
    err: 'error: --from-env: expected TESSERA_API_KEY in the environment, got none',
  });
  // A list needs no root secret.
  expect((await tessera(['participants', 'list', '--database', database])).out).toHaveLength(3);
});

test.each<[args: string[], said: string]>([
  [['add', '--roles', 'ADMIN'], 'error: --roles: expected GENERATOR'],
  [['add', '--site-id', '0'], 'error: --site-id: expected a whole number from 1'],
  [['add', '--client-secret', 'ZZZZ'], 'error: --client-secret: expected 32 bytes'],
])('%j exits with 2 and changes nothing', async (args, said) => {
  const database = await freshLocation('postgres');
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

test('credentials that a shell holds change no stored participant; the command line may, and both are logged', async () => {
  const database = await freshLocation('postgres');
  const first = createOperator({ database });
  await first.ready;
  await first.close();
  const { out } = await tessera(['participants', 'add', '--site-id', '7', '--roles', 'OPTOUT', '--database', database]);
  const [apiKey, clientSecret] = ['TESSERA_API_KEY', 'TESSERA_CLIENT_SECRET'].map((name) => exported(out, name)!);
  const [, id] = /^# participant ([0-9a-f]{16})/.exec(out[0]!)!;
  const stored = async () => {
    const { out: lines } = await tessera(['participants', 'list', '--json', '--database', database]);
    const { siteId, roles } = lines.map((line) => JSON.parse(line)).find((row) => row.id === id);
    return [siteId, ...roles];
  };
  const warnings = async (env: Record<string, string>, ...more: string[]): Promise<string> => {
    const args = ['operator', '--port', '0', '--log-level', 'warn', '--database', database, ...more];
    const { code, err } = await tessera(args, { env, stopped: Promise.resolve() });
    expect(code).toBe(0);
    expect(err).not.toContain(apiKey);
    return err;
  };
  const env = { TESSERA_API_KEY: apiKey!, TESSERA_CLIENT_SECRET: clientSecret! };
  expect(await warnings(env)).toContain(
    `participant ${id} of site 101: its stored site, roles or client secret differ from the options`,
  );
  expect(await stored()).toEqual([7, 'OPTOUT']);
  // Nor does another secret alone.
  await warnings({ TESSERA_CLIENT_SECRET: SECRET }, '--api-key', apiKey!, '--site-id', '7', '--roles', 'OPTOUT');
  const same = await warnings(env, '--site-id', '7', '--roles', 'OPTOUT');
  expect(same).not.toContain(id);
  expect(await stored()).toEqual([7, 'OPTOUT']);
  // A participant that is not stored is added.
  await warnings({ ...env, TESSERA_API_KEY: 'another-key' });
  expect((await tessera(['participants', 'list', '--database', database])).out.join()).toContain('101');

  const named = ['--api-key', apiKey!, '--client-secret', clientSecret!, '--site-id', '9', '--roles', 'MAPPER'];
  expect(await warnings(env, ...named)).toContain(
    `participant ${id} of site 9, roles MAPPER: its options have changed`,
  );
  expect(await stored()).toEqual([9, 'MAPPER']);
});

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { migrate, type Queries } from '../../src/database/index.ts';
import { createSecrets } from '../../src/operator/crypto/secrets.ts';
import { createParticipants } from '../../src/operator/identity/participants.ts';
import {
  type Credentials,
  createOperator,
  type Operator,
  type OperatorOptions,
  openAdministration,
} from '../../src/operator/index.ts';
import { participantRows } from '../../src/operator/state/participant-rows.ts';
import { TABLES } from '../../src/operator/state/tables.ts';
import { toB64 } from '../../src/token/bytes.ts';
import { freshLocation } from '../database/locations.ts';
import { createCalls, ROOT } from '../operator/fixtures.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(open.splice(0).map((each) => each.close()));
});

const secretOf = (byte: number): string => toB64(new Uint8Array(32).fill(byte));
const LEAKED = { apiKey: 'leaked', clientSecret: secretOf(1), siteId: 7, roles: ['GENERATOR'] } as const;

const startNode = async (database: string, options: OperatorOptions = {}) => {
  const lines: string[] = [];
  const log = (fields: object, message: string) => void lines.push(JSON.stringify(fields) + message);
  const logger = { info: () => {}, warn: log, error: log };
  const operator: Operator = createOperator({ rootSecret: ROOT, database, logger, ...options });
  open.push(operator);
  await operator.ready;
  const fetch = (path: string, init: RequestInit) => operator.fetch(new Request(`http://node.test${path}`, init));
  const { call } = createCalls(fetch, LEAKED, Date.now);
  const generate = async (as: Credentials = LEAKED) =>
    (await call('/v2/token/generate', { email: 'a@b.c' }, { as })).http;
  return { operator, generate, call, lines };
};
const administer = async (database: string) => {
  const administration = await openAdministration({ database, rootSecret: ROOT });
  open.push(administration);
  return administration;
};

/** Let a second pass: after it no node may use what it read before. */
const passSecond = (): void => void vi.advanceTimersByTime(1000);
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));

test('a revocation and a changed secret reach running nodes within a second, also those whose options name the participant', async () => {
  const place = await freshLocation('postgres');
  const nodes = [await startNode(place, { participants: [LEAKED] }), await startNode(place)];
  const { participants } = await administer(place);
  for (const { generate } of nodes) expect(await generate()).toBe(200);

  const changed = { ...LEAKED, clientSecret: secretOf(2) };
  const { keyHash } = (await participants.list()).find(({ siteId }) => siteId === 7)!;
  // Its site and roles stay.
  const { apiKey: _, ...rest } = changed;
  expect(await participants.update(keyHash.slice(0, 8), { clientSecret: secretOf(2) })).toEqual({ ...rest, keyHash });
  passSecond();
  for (const { generate } of nodes) {
    expect(await generate(changed)).toBe(200);
    // The former secret no longer opens the envelope.
    expect(await generate()).toBe(400);
  }
  const [listed] = (await participants.list()).filter(({ siteId }) => siteId === 7);
  await participants.revoke([listed!.keyHash.slice(0, 8)]);
  passSecond();
  for (const { generate } of nodes) {
    expect(await generate(changed)).toBe(401);
    expect(await generate()).toBe(401);
  }
});

test('a start revives no revoked participant and undoes no change, and logs both', async () => {
  const place = await freshLocation('postgres');
  const other = { ...LEAKED, apiKey: 'other', siteId: 8 };
  const options = { participants: [LEAKED, other] };
  const first = await startNode(place, options);
  const { participants } = await administer(place);
  const [listed] = (await participants.list()).filter(({ siteId }) => siteId === 7);
  await participants.revoke([listed!.keyHash]);
  const { keyHash } = (await participants.list()).find(({ siteId }) => siteId === 8)!;
  await participants.update(keyHash, { clientSecret: secretOf(2) });
  await first.operator.close();

  const second = await startNode(place, options);
  expect(await second.generate()).toBe(401);
  expect(await second.generate(other)).toBe(400);
  expect(await second.generate({ ...other, clientSecret: secretOf(2) })).toBe(200);
  expect(second.lines).toEqual([
    expect.stringMatching(/participant [0-9a-f]{16} of site 7: it has been revoked/),
    expect.stringMatching(/participant [0-9a-f]{16} of site 8: it was changed after the options were applied/),
  ]);
  for (const secret of [LEAKED.apiKey, LEAKED.clientSecret, secretOf(2)])
    expect(second.lines.join()).not.toContain(secret);
  // Nor does another secret for the revoked key, by options or by the administration.
  const third = await startNode(place, { participants: [{ ...LEAKED, clientSecret: secretOf(3) }] });
  expect(await third.generate({ ...LEAKED, clientSecret: secretOf(3) })).toBe(401);
  await expect(participants.add(LEAKED)).rejects.toThrow('expected an API key that has not been revoked');
});

test('logout refuses an envelope that is older than the role OPTOUT, which a change of the participant has added', async () => {
  const place = await freshLocation('postgres');
  const { call } = await startNode(place, { participants: [LEAKED] });
  const { participants } = await administer(place);
  const { keyHash } = (await participants.list()).find(({ siteId }) => siteId === 7)!;
  const logout = async (at: number) => (await call('/v2/token/logout', { email: 'a@b.c' }, { at })).http;
  const before = Date.now();
  await participants.update(keyHash, { roles: ['GENERATOR', 'OPTOUT'] });
  passSecond();
  expect([await logout(before), await logout(Date.now() + 1000)]).toEqual([400, 200]);
  // A change that leaves it the role.
  const later = Date.now() + 1000;
  await participants.update(keyHash, { siteId: 8 });
  passSecond();
  expect(await logout(later)).toBe(200);
});

test('options older than the database bring no replaced client secret back, and say so; an update does', async () => {
  const place = await freshLocation('postgres');
  const withSecret = (byte: number, siteId = 7) => ({ ...LEAKED, clientSecret: secretOf(byte), siteId });
  await startNode(place, { participants: [withSecret(1)] });
  await startNode(place, { participants: [withSecret(2)] });
  const { participants } = await administer(place);
  const { keyHash } = (await participants.list())[0]!;
  await participants.update(keyHash, { clientSecret: secretOf(3) });
  // Replaced by options, and by an update; other options have changed as well.
  for (const old of [withSecret(1), withSecret(2), withSecret(2, 8)]) {
    const node = await startNode(place, { participants: [old] });
    expect([await node.generate(old), await node.generate(withSecret(3))]).toEqual([400, 200]);
    expect(node.operator.statuses).toEqual(['changed']);
    expect(node.lines).toEqual([expect.stringContaining('their client secret has been replaced')]);
  }
  await participants.update(keyHash, { clientSecret: secretOf(1) });
  const node = await startNode(place, { participants: [withSecret(1, 8)] });
  expect(await node.generate(withSecret(1))).toBe(200);
  expect(await participants.list()).toMatchObject([{ siteId: 8 }]);
});

test('a participant is added once, and changed by its ID alone; omitted values stay', async () => {
  const place = await freshLocation('postgres');
  const { generate } = await startNode(place, { participants: [LEAKED] });
  const { participants } = await administer(place);
  const { keyHash } = (await participants.list()).find(({ siteId }) => siteId === 7)!;
  await expect(participants.add({ ...LEAKED, clientSecret: secretOf(2) })).rejects.toThrow(
    `expected an API key that no participant has, got that of ${keyHash.slice(0, 16)} on site 7`,
  );
  expect(await generate()).toBe(200);

  const { clientSecret } = await participants.update(keyHash, { roles: ['MAPPER'] });
  expect(clientSecret).toBe(LEAKED.clientSecret);
  passSecond();
  expect(await generate()).toBe(401);
  const renewed = await participants.update(keyHash, { roles: ['GENERATOR'], siteId: 9, newSecret: true });
  expect(renewed).toMatchObject({ siteId: 9, roles: ['GENERATOR'] });
  passSecond();
  expect(await generate({ ...LEAKED, clientSecret: renewed.clientSecret })).toBe(200);

  for (const [id, change] of [
    [keyHash, {}],
    [keyHash, { newSecret: true, clientSecret: secretOf(2) }],
    [keyHash, { roles: ['ADMIN'] as never }],
    [keyHash.slice(0, 7), { newSecret: true }],
    ['0'.repeat(8), { newSecret: true }],
  ] as const)
    await expect(participants.update(id, change)).rejects.toThrow(RangeError);
  await participants.revoke([keyHash]);
  await expect(participants.update(keyHash, { newSecret: true })).rejects.toThrow(
    'expected a participant that has not been revoked',
  );
});

test('of several nodes that start at once, one has added the participant, and later ones find it', async () => {
  const place = await freshLocation('postgres');
  const options = { participants: [LEAKED] };
  const nodes = await Promise.all([startNode(place, options), startNode(place, options), startNode(place, options)]);
  expect(nodes.map(({ operator }) => operator.statuses[0]).sort()).toEqual(['added', 'kept', 'kept']);
  const { participants } = await administer(place);
  const { keyHash } = (await participants.list()).find(({ siteId }) => siteId === 7)!;
  const statusOf = async () => (await startNode(place, options)).operator.statuses;
  expect(await statusOf()).toEqual(['kept']);
  await participants.update(keyHash, { newSecret: true });
  expect(await statusOf()).toEqual(['changed']);
  await participants.revoke([keyHash]);
  expect(await statusOf()).toEqual(['revoked']);
  expect(() => createOperator().statuses).toThrow(TypeError);
});

test.each<[what: string, options: Partial<Credentials>, former: number, changed: number]>([
  ['without roles, it may call no more', { roles: [] }, 401, 401],
  ['the former client secret opens nothing', { clientSecret: secretOf(2) }, 400, 200],
  ['with another site, it calls on', { siteId: 8 }, 200, 200],
])('changed options of a participant are in force after the next start: %s', async (_, options, former, changed) => {
  const place = await freshLocation('postgres');
  const first = await startNode(place, { participants: [LEAKED] });
  expect(await first.generate()).toBe(200);
  const second = await startNode(place, { participants: [{ ...LEAKED, ...options }] });
  passSecond();
  for (const { generate } of [first, second]) {
    expect(await generate()).toBe(former);
    expect(await generate({ ...LEAKED, ...options })).toBe(changed);
  }
  const { siteId, roles } = { ...LEAKED, ...options };
  expect(await (await administer(place)).participants.list()).toMatchObject([{ siteId, roles }]);
});

test('a revoked participant keeps no secret in the database, and its site keeps its keys', async () => {
  const place = await freshLocation('pglite');
  const first = await startNode(place, { participants: [LEAKED, { siteId: 9, roles: ['ID_READER'] }] });
  const reader = first.operator.participants[1]!;
  await first.operator.close();
  const administration = await administer(place);
  const [listed] = (await administration.participants.list()).filter(({ siteId }) => siteId === 7);
  const [revoked] = await administration.participants.revoke([listed!.keyHash]);
  expect(revoked).toMatchObject({ siteId: 7, revokedAt: expect.any(Number) });
  await administration.close();
  // Revoked once more, later: the first time stays.
  const later = await openAdministration({ database: place, now: () => Date.now() + 1000 });
  expect(await later.participants.revoke([listed!.keyHash])).toEqual([revoked]);
  await later.close();
  const database = await openDatabase(place);
  expect(
    await database.query('SELECT octet_length(sealed_secret) AS bytes FROM tessera_participants WHERE site_id = 7'),
  ).toEqual([{ bytes: 0 }]);
  await database.close();
  const again = await startNode(place);
  const { call } = createCalls(
    (path, init) => again.operator.fetch(new Request(`http://node.test${path}`, init)),
    reader,
    Date.now,
  );
  const { json } = await call('/v2/key/bidstream', undefined);
  // Tokens from before the revocation still open.
  expect(json.body.site_data.map(({ id }: { id: number }) => id)).toContain(7);
});

test('an ID that matches no participant revokes none', async () => {
  const place = await freshLocation('postgres');
  await startNode(place, { participants: [LEAKED] });
  const { participants } = await administer(place);
  const [{ keyHash } = { keyHash: '' }] = await participants.list();
  for (const ids of [['00000000'], [keyHash.slice(0, 7)], [keyHash, 'x'.repeat(16)], ['%']])
    await expect(participants.revoke(ids)).rejects.toThrow(RangeError);
  expect((await participants.list()).every(({ revokedAt }) => revokedAt === null)).toBe(true);
});

test('no simultaneous change is lost, and one API key is added once', async () => {
  const place = await freshLocation('postgres');
  const { operator } = await startNode(place, { participants: [LEAKED] });
  await operator.close();
  const { participants } = await administer(place);
  const { keyHash } = (await participants.list()).find(({ siteId }) => siteId === 7)!;
  for (let round = 1; round <= 10; round++) {
    const roles = round % 2 ? ['MAPPER' as const] : ['GENERATOR' as const];
    await Promise.all([
      participants.update(keyHash, { siteId: 100 + round }),
      participants.update(keyHash, { roles }),
      participants.update(keyHash, { clientSecret: secretOf(round) }),
    ]);
    // Nothing but the ID: what is returned is what is stored.
    expect(await participants.update(keyHash, { siteId: 100 + round })).toEqual({
      keyHash,
      siteId: 100 + round,
      roles,
      clientSecret: secretOf(round),
    });
  }

  const add = (byte: number) => participants.add({ apiKey: 'twice', clientSecret: secretOf(byte) });
  const added = await Promise.allSettled([add(1), add(2), add(3)]);
  expect(added.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected']);
  const reasons = added.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []));
  for (const reason of reasons) expect(reason).toContain('expected an API key that no participant has');
});

test('the administration changes no tables of an older version', async () => {
  const place = await freshLocation('postgres');
  const { operator } = await startNode(place);
  await operator.close();
  const database = await openDatabase(place);
  open.push(database);
  const versions = () =>
    database.query("SELECT max(number)::integer AS version FROM tessera_migrations WHERE room = 'operator'");
  await database.query("DELETE FROM tessera_migrations WHERE room = 'operator' AND number > 3");
  await expect(openAdministration({ database: place, rootSecret: ROOT })).rejects.toThrow(
    /expected version \d+, got 3; start an operator/,
  );
  expect(await versions()).toEqual([{ version: 3 }]);
});

test('participants of the options take as many statements for 300 as for one', async () => {
  const database = await openDatabase(await freshLocation('postgres'));
  open.push(database);
  await migrate(database, TABLES);
  const secrets = createSecrets(new Uint8Array(32).fill(1), 'integration', 'UID2');
  let statements = 0;
  const counted = ({ query }: Pick<Queries, 'query'>): Queries['query'] => {
    return (sql, params) => {
      statements++;
      return query(sql, params);
    };
  };
  const store = participantRows(
    {
      ...database,
      query: counted(database),
      transaction: (work, options) =>
        database.transaction((queries) => work({ ...queries, query: counted(queries) }), options),
    },
    secrets,
  );
  /** The statements that store these participants with this secret. */
  const statementsFor = async (count: number, site: number, secret: string) => {
    const configured = Array.from({ length: count }, (_, at) => ({
      apiKey: `key-${site}-${at}`,
      clientSecret: secret,
      siteId: site,
      roles: ['GENERATOR'] as const,
    }));
    const participants = createParticipants({ store, configured, secrets, now: Date.now });
    statements = 0;
    const statuses = new Set((await participants.storeConfigured()).map(({ status }) => status));
    return [statements, ...statuses];
  };
  const one = [await statementsFor(1, 7, secretOf(1)), await statementsFor(1, 7, secretOf(2))];
  expect([await statementsFor(300, 8, secretOf(1)), await statementsFor(300, 8, secretOf(2))]).toEqual(one);
  expect(one.map(([, status]) => status)).toEqual(['added', 'kept']);
});

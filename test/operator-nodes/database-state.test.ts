import { afterEach, describe, expect, test, vi } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { createOperator, type Operator, type OperatorOptions } from '../../src/operator/index.ts';
import { toB64 } from '../../src/token/bytes.ts';
import { freshLocation } from '../database/locations.ts';
import { PASSWORD } from '../database/postgres-server.ts';
import { ALL_ROLES, createCalls, DAY, NOON, ROOT } from '../operator/fixtures.ts';

const open: Operator[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(open.splice(0).map((operator) => operator.close()));
});

/** Start a node on a database, with a clock that the test sets; it starts at `at`. */
const startNode = async (database: string, options: OperatorOptions = {}, at = NOON) => {
  const clock = { at };
  const operator = createOperator({
    now: () => clock.at,
    rootSecret: ROOT,
    roles: ALL_ROLES,
    database,
    ...options,
  });
  open.push(operator);
  await operator.ready;
  const participant = operator.participants[0]!;
  const answer = (path: string, init: RequestInit) => operator.fetch(new Request(`http://node.test${path}`, init));
  return { clock, operator, participant, ...createCalls(answer, participant, () => clock.at) };
};
type Node = Awaited<ReturnType<typeof startNode>>;

const LOGOUT = '/v2/token/logout';
const rawId = async (node: Node, email: string): Promise<string> =>
  (await node.call('/v3/identity/map', { email: [email] })).json.body.email[0].u;
/** Opt a user out, as a caller does: again if the node could not record it in time. */
const optOut = async (node: Node, email: string): Promise<void> => {
  let http = 503;
  while (http === 503) ({ http } = await node.call(LOGOUT, { email }));
  expect(http).toBe(200);
};
const optedOut = async (node: Node, ids: readonly unknown[]) =>
  (await node.call('/v2/optout/status', { advertising_ids: ids })).json.body.opted_out;

const readTables = async (place: string): Promise<string> => {
  const database = await openDatabase(place);
  const tables = ['operator', 'participants', 'keys', 'opt_outs', 'raw_ids', 'envelopes'];
  const rows = await Promise.all(
    tables.map((table) => database.query(`SELECT t::text AS row FROM tessera_${table} t`)),
  );
  await database.close();
  return JSON.stringify(rows);
};

describe('the database', () => {
  test('no table contains an API key, client secret, DII or given root secret', async () => {
    const place = await freshLocation('postgres');
    const clientSecret = toB64(new Uint8Array(32).fill(0xab));
    const node = await startNode(place, { apiKey: 'an-api-key', clientSecret });
    await node.call(LOGOUT, { email: 'leaver@example.com' });
    await rawId(node, 'user@example.com');
    await node.operator.close();
    const text = await readTables(place);
    expect(text).toContain('GENERATOR');
    for (const secret of [
      'an-api-key',
      clientSecret,
      'ab'.repeat(32),
      Buffer.from(ROOT).toString('hex'),
      'example.com',
    ])
      expect(text).not.toContain(secret);
  });

  test('in production a root secret in the database must be requested, otherwise each start warns', async () => {
    const place = await freshLocation('postgres');
    const lines: string[] = [];
    const logger = { info: () => {}, warn: (_: object, line: string) => void lines.push(line), error: () => {} };
    for (const storeRootSecret of [undefined, true, undefined]) {
      const operator = createOperator({ database: place, environment: 'production', storeRootSecret, logger });
      await operator.ready;
      await operator.close();
    }
    const warning = expect.stringMatching(/^rootSecret: .* the root secret is kept in the database, beside the data/);
    expect(lines).toEqual([warning, warning]);
  });

  test('a client secret copied to another row does not open there', async () => {
    const place = await freshLocation('postgres');
    const node = await startNode(place, { participants: [{}, { apiKey: 'one' }, { apiKey: 'two' }] });
    const [, one] = node.operator.participants;
    await node.operator.close();
    const database = await openDatabase(place);
    await database.query(
      `UPDATE tessera_participants SET sealed_secret = (SELECT sealed_secret FROM tessera_participants p
        WHERE p.key_hash <> tessera_participants.key_hash LIMIT 1)`,
    );
    await database.close();
    const again = await startNode(place);
    expect((await again.call('/v2/token/generate', { email: 'user@example.com' }, { as: one! })).http).toBe(401);
  });

  test('strings that are not raw IDs match no user, whatever characters they contain', async () => {
    const node = await startNode(await freshLocation('postgres'));
    const id = await rawId(node, 'leaver@example.com');
    await node.call(LOGOUT, { email: 'leaver@example.com' });
    const strange = ['\0', 'a\0b', '\ud800', "'; DROP TABLE tessera_raw_ids; --", '', id.slice(1), `${id} `];
    expect(await optedOut(node, [...strange, id])).toEqual([{ advertising_id: id, opted_out_since: NOON }]);
  });

  test('the first start fixes the first day, and every raw ID since is found', async () => {
    const place = await freshLocation('postgres');
    const first = await startNode(place, { rotationPeriod: 365 });
    const ids = new Set<string>();
    for (let step = 0; step < 5; step++) {
      ids.add(await rawId(first, 'leaver@example.com'));
      first.clock.at += 365_000;
    }
    await first.operator.close();
    const second = await startNode(place, { rotationPeriod: 365 }, first.clock.at);
    await second.call(LOGOUT, { email: 'leaver@example.com' });
    expect(await optedOut(second, [...ids])).toHaveLength(5);
  });

  test('an operator whose root secret is in the database has its credentials once it is ready', async () => {
    const place = await freshLocation('postgres');
    const operator = createOperator({ database: place });
    open.push(operator);
    for (const name of ['participants', 'generated', 'statuses', 'fingerprint'] as const)
      expect(() => operator[name]).toThrow(TypeError);
    // A request before `ready` waits.
    const answer = await operator.fetch(new Request('http://node.test/ops/healthcheck'));
    expect(await answer.text()).toBe('OK');
    const { generated, fingerprint, inMemory } = operator;
    expect([generated.length, inMemory]).toEqual([1, false]);
    await operator.close();
    const again = createOperator({ database: place });
    open.push(again);
    await again.ready;
    expect([again.generated, again.fingerprint]).toEqual([generated, fingerprint]);
  });
});

test('several nodes may extend the same opt-outs at the same time', async () => {
  const place = await freshLocation('postgres');
  const nodes = await Promise.all([startNode(place), startNode(place), startNode(place)]);
  // More than are extended in one statement.
  const emails = Array.from({ length: 600 }, (_, at) => `leaver-${at}@example.com`);
  // An operator without the opt-outs maps the users to the raw IDs that they have.
  const twin = await startNode(await freshLocation('postgres'));
  const idsAt = async (at: number): Promise<string[]> => {
    twin.clock.at = at;
    const { json } = await twin.call('/v3/identity/map', { email: emails });
    return json.body.email.map(({ u }: { u: string }) => u);
  };
  for (let at = 0; at < emails.length; at += 100)
    await Promise.all(emails.slice(at, at + 100).map((email, n) => optOut(nodes[n % 3]!, email)));

  const all = new Set(await idsAt(NOON));
  for (let year = 1; year <= 3; year++) {
    const at = NOON + year * 365 * DAY;
    const now = await idsAt(at);
    for (const id of now) all.add(id);
    for (const node of nodes) node.clock.at = at;
    const answers = await Promise.all(nodes.map((node) => optedOut(node, now)));
    for (const found of answers) expect(found).toHaveLength(emails.length);
  }
  expect(all.size).toBe(4 * emails.length);
  const found = await optedOut(nodes[0]!, [...all]);
  expect(found).toHaveLength(all.size);
  for (const { opted_out_since } of found) expect(opted_out_since).toBe(NOON);
});

test('envelopes are removed from the database once nobody accepts them any more', async () => {
  const place = await freshLocation('postgres');
  const node = await startNode(place);
  const database = await openDatabase(place, { connections: 1 });
  const expiries = async () =>
    (await database.query<{ at: number }>('SELECT expires_at AS at FROM tessera_envelopes ORDER BY at')).map(
      ({ at }) => at - NOON,
    );
  for (const [at, left] of [
    [0, [480_000]],
    [479_999, [480_000, 959_999]],
    [480_000, [959_999, 960_000]],
  ] as const) {
    node.clock.at = NOON + at;
    await node.call('/v2/token/generate', { email: 'user@example.com' });
    expect(await expiries()).toEqual(left);
  }
  await database.close();
});

describe('if the state cannot be opened', () => {
  test('`ready` rejects and requests are answered 503, without an unhandled rejection and without the password', async () => {
    const lines: string[] = [];
    const log = (fields: object, message: string) => lines.push(JSON.stringify(fields) + message);
    const place = (await freshLocation('postgres')).replace(/:\d+\//, ':1/');
    const operator = createOperator({ database: place, logger: { info: log, warn: log, error: log } });
    const answer = await operator.fetch(new Request('http://node.test/ops/healthcheck'));
    expect(answer.status).toBe(503);
    await expect(operator.ready).rejects.toMatchObject({ code: 'storage_failed' });
    await operator.close();
    expect(lines).toEqual([expect.stringMatching(/"reason":"database: .*the operator cannot start$/)]);
    expect(lines.join()).not.toContain(PASSWORD);
  });

  test.each<[options: OperatorOptions, message: string]>([
    [{ database: 5 as never }, 'database: expected string, got number'],
    [{ database: 'mysql://secret@host' }, 'got mysql://'],
    [{ database: '' }, 'expected a folder or postgres://'],
    [{ database: 'here', state: {} as never }, 'expected either this option or state, got both'],
  ])('a wrong option throws at once: %j', (options, message) => {
    expect(() => createOperator(options)).toThrow(message);
    expect(() => createOperator(options)).not.toThrow('secret');
  });
});

test('while PostgreSQL is unreachable the health check and requests answer 503, and the log says why; both recover with it', async () => {
  const place = await freshLocation('postgres');
  const lines: string[] = [];
  const log = (fields: object, message: string) => lines.push(JSON.stringify(fields) + message);
  const node = await startNode(place, { logger: { info: () => {}, warn: log, error: log } });
  const name = new URL(place).pathname.slice(1);
  const admin = await openDatabase(place.replace(/[^/]+$/, 'postgres'));
  const health = async () => (await node.operator.fetch(new Request('http://node.test/ops/healthcheck'))).status;
  expect(await health()).toBe(200);
  // The connection that follows opt-outs opens after the start.
  const metrics = async () => (await node.operator.metrics.fetch(new Request('http://node.test/metrics'))).text();
  await expect.poll(metrics).toContain('\ntessera_opt_outs_current 1\n');
  await admin.script(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
  await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]);
  // The answer of the health check may be a second old.
  await expect.poll(health, { timeout: 60_000 }).toBe(503);
  const { http, json, headers } = await node.call(LOGOUT, { email: 'leaver@example.com' });
  expect([http, json.status, headers.get('retry-after')]).toEqual([503, 'unavailable', '5']);
  const reasonsOf = (message: string) => lines.filter((line) => line.endsWith(message));
  const cut = 'terminating connection due to administrator command (57P01)';
  const refused = expect.stringContaining('is not currently accepting connections');
  // The first failure may be that of a connection which was cut under the check.
  const unhealthy = async () => {
    await health();
    return reasonsOf('health check: the database cannot be reached').at(-1);
  };
  await expect.poll(unhealthy, { timeout: 60_000 }).toEqual(refused);
  // The cause of the loss, whether a statement ran just then or none, then that of the attempts to connect again.
  await expect
    .poll(() => reasonsOf('opt-outs: the connection that follows them is lost; refreshes query the database'), {
      timeout: 60_000,
    })
    .toEqual([expect.stringContaining(cut), refused]);
  await admin.script(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
  await admin.close();
  await expect.poll(health, { timeout: 60_000 }).toBe(200);
  await node.call(LOGOUT, { email: 'leaver@example.com' });
  expect((await node.call('/v2/token/generate', { email: 'leaver@example.com' })).json.status).toBe('optout');
});

test('while PostgreSQL hangs a request is answered 503, long before its caller gives up', async () => {
  const place = await freshLocation('postgres');
  const node = await startNode(place);
  const admin = await openDatabase(place);
  // A lock that every statement on the table waits for: to the operator, the database does not answer.
  const unlock = await new Promise<() => Promise<void>>((resolve) => {
    const locked = admin.transaction(async ({ script }) => {
      await script('LOCK TABLE tessera_opt_outs IN ACCESS EXCLUSIVE MODE');
      await new Promise<void>((release) => {
        resolve(async () => {
          release();
          await locked;
        });
      });
    });
  });
  const { http, headers } = await node.call('/v2/token/generate', { email: 'user@example.com' });
  expect([http, headers.get('retry-after')]).toEqual([503, '5']);
  await unlock();
  await admin.close();
  expect((await node.call('/v2/token/generate', { email: 'user@example.com' })).http).toBe(200);
});

test('a folder is released when the operator closes and when its start fails', async () => {
  const place = await freshLocation('pglite');
  await (await startNode(place)).operator.close();
  await expect(startNode(place, { environment: 'production' })).rejects.toMatchObject({ code: 'storage_failed' });
  await startNode(place);
});

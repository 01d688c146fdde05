import { once } from 'node:events';
import { type AddressInfo, createServer, Socket } from 'node:net';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { type Database, migrate } from '../../src/database/index.ts';
import { tlsOptions } from '../../src/database/postgres/postgres-tls.ts';
import { isTokenError } from '../../src/token/index.ts';
import { selectValues, VALUES } from './contract.ts';
import { freshLocation, inspected } from './locations.ts';
import { PASSWORD } from './postgres-server.ts';
import { startProxy } from './proxy.ts';

const open: Database[] = [];
afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  await Promise.all(open.splice(0).map((database) => database.close()));
});

describe('a PostgreSQL server', () => {
  const SLEEP = 'SELECT pg_sleep(600)::text';

  test('ends statements that take longer than the limit, but not those of a transaction without limit', async () => {
    // Long enough for the statements that the server must not end, however busy the machine.
    const limited = await openDatabase(await freshLocation('postgres'), { statementTimeoutMs: 1500, connections: 1 });
    open.push(limited);
    // The client's own limit, a second after that of the server, is not the subject.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const timedOut = { code: 'storage_failed', message: expect.stringContaining('57014') };
    await expect(limited.query(SLEEP)).rejects.toMatchObject(timedOut);
    await expect(limited.transaction(({ query }) => query(SLEEP))).rejects.toMatchObject(timedOut);
    const unlimited = limited.transaction(({ query }) => query('SELECT pg_sleep(3)::text'), { isMigration: true });
    expect(await unlimited).toHaveLength(1);
    expect(await limited.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  /** Open a new database with other defaults. */
  const openWith = async (...defaults: string[]): Promise<Database> => {
    const place = await freshLocation('postgres');
    const admin = await openDatabase(place);
    for (const each of defaults) await admin.script(`ALTER DATABASE ${new URL(place).pathname.slice(1)} SET ${each}`);
    await admin.close();
    const database = await openDatabase(place);
    open.push(database);
    return database;
  };

  test.each(['repeatable read', 'serializable'])(
    'with %s by default lets conflicting statements and transactions wait, as with read committed',
    async (isolation) => {
      const database = await openWith(`default_transaction_isolation = '${isolation}'`);
      await database.script('CREATE TABLE t (id integer); INSERT INTO t VALUES (0)');
      const add = 'UPDATE t SET id = id + 1';
      let waiting: Promise<unknown>[] = [];
      await database.transaction(async ({ query }) => {
        expect(await query('SHOW transaction_isolation')).toEqual([{ transaction_isolation: 'read committed' }]);
        await query(add);
        waiting = [
          database.query(`${add} RETURNING id`),
          database.script(add),
          database.transaction((other) => other.query(add)),
        ];
        const count = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
        await expect.poll(() => database.query(count)).toEqual([{ count: 3 }]);
      });
      await Promise.all(waiting);
      expect(await database.query('SELECT id FROM t')).toEqual([{ id: 4 }]);
    },
  );

  test('returns the values that were stored, whatever its defaults and the parsers of the application', async () => {
    const database = await openWith('array_nulls = off', "bytea_output = 'escape'", "TimeZone = 'Asia/Tokyo'");
    vi.spyOn(pg.types, 'getTypeParser').mockReturnValue(() => 'parsed by the application');
    expect(await selectValues(database)).toEqual(VALUES);
    expect(await database.query(`SELECT '{"a":[1]}'::jsonb AS more, 'b'::varchar AS word`)).toEqual([
      { more: { a: [1] }, word: 'b' },
    ]);
  });

  test.each(['query', 'script', 'transaction'] as const)(
    'that has ended an idle session is sent the %s again, once',
    async (method) => {
      const database = await openWith();
      // A sequence counts the calls: a rollback does not set it back.
      await database.script(`CREATE SEQUENCE calls; CREATE FUNCTION fail(until bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('calls') < until THEN RAISE SQLSTATE '57P05'; END IF; RETURN currval('calls'); END $$`);
      const call = (until: number): Promise<unknown> => {
        const sql = `SELECT fail(${until}) AS calls`;
        return method === 'transaction' ? database.transaction(({ query }) => query(sql)) : database[method](sql);
      };
      await call(2);
      expect(await database.query('SELECT last_value AS calls FROM calls')).toEqual([{ calls: 2 }]);
      await expect(call(10)).rejects.toThrow('57P05');
      expect(await database.query('SELECT last_value AS calls FROM calls')).toEqual([{ calls: 4 }]);
    },
  );

  test.each([
    ['WARNING', true, 'notice'],
    ['WARNING', true, 'error'],
    ['NOTICE', false, 'notice'],
  ])(
    'that has a %s at COMMIT has left the transaction in doubt: %s, also if the role shows from %s on',
    async (level, isDoubted, shown) => {
      const place = await freshLocation('postgres');
      const admin = await openDatabase(place, { connections: 1 });
      open.push(admin);
      await admin.script(`ALTER DATABASE ${new URL(place).pathname.slice(1)} SET client_min_messages = ${shown}`);
      const database = await openDatabase(place);
      open.push(database);
      // As a wait for a replica does that is cancelled.
      await database.script(`CREATE TABLE t (id integer); CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE ${level} 'told at the end'; RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER tell AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION tell()`);
      const add = database.transaction(({ query }) => query('INSERT INTO t VALUES (1)'));
      const told = await add.then(
        () => undefined,
        (error: Error) => error.message,
      );
      expect(told).toBe(isDoubted ? 'database: a commit is in doubt: told at the end (01000)' : undefined);
      expect(await database.query('SELECT id FROM t')).toEqual([{ id: 1 }]);
    },
  );

  const openLimited = async (connections: number) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const place = new URL(await freshLocation('postgres'));
    const admin = await openDatabase(place.href, { connections: 1 });
    open.push(admin);
    const role = place.pathname.slice(1);
    await admin.script(`CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}' CONNECTION LIMIT ${connections}`);
    place.username = role;
    const database = await openDatabase(place.href);
    open.push(database);
    return { database, limit: (raised: number) => admin.script(`ALTER ROLE ${role} CONNECTION LIMIT ${raised}`) };
  };

  test('without free connections serves everybody on those that the pool has, and a larger pool later', async () => {
    const { database, limit } = await openLimited(2);
    const pids = async (): Promise<number> => {
      const all = Array.from({ length: 9 }, () =>
        database.transaction(async ({ query }) => {
          await query('SELECT pg_sleep(0.05)::text');
          return (await query<{ pid: number }>('SELECT pg_backend_pid() AS pid'))[0]!.pid;
        }),
      );
      return new Set(await Promise.all(all)).size;
    };
    expect(await pids()).toBe(2);
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await limit(5);
    expect(await pids()).toBe(2);
    vi.advanceTimersByTime(10_000);
    expect(await pids()).toBe(5);
  });

  test('without a free connection refuses a subscription at once, because those of the pool do not serve it', async () => {
    const { database } = await openLimited(1);
    await expect(database.subscribe!('changes', () => {})).rejects.toThrow('cannot listen to PostgreSQL: too many');
  });

  test('runs any number of transactions on one connection without a warning of Node about listeners', async () => {
    const database = await openDatabase(await freshLocation('postgres'), { connections: 1 });
    open.push(database);
    const warnings = vi.spyOn(process, 'emitWarning');
    for (let n = 0; n < 20; n++) await database.transaction(({ query }) => query('SELECT 1'));
    expect(warnings).not.toHaveBeenCalled();
  });

  test('is connected to anew after a minute, because another server may have taken over its name', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const database = await openDatabase(await freshLocation('postgres'), { connections: 1 });
    open.push(database);
    const pid = async () => (await database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid'))[0]!.pid;
    const pids = [];
    // In use all the time: an idle connection is closed after 10 s.
    for (let at = 0; at <= 60_000; at += 5000) {
      pids.push(await pid());
      vi.advanceTimersByTime(5000);
    }
    expect(new Set(pids.slice(0, -1)).size).toBe(1);
    expect(pids.at(-1)).not.toBe(pids[0]);
  });

  test('ends a transaction whose client stops sending, and so releases its locks', async () => {
    const place = await freshLocation('postgres');
    const silent = await openDatabase(place, { statementTimeoutMs: 1500, connections: 1 });
    const other = await openDatabase(place, { statementTimeoutMs: 60_000, connections: 1 });
    open.push(silent, other);
    await other.script('CREATE TABLE t (id integer); INSERT INTO t VALUES (1)');
    const transaction = silent.transaction(async ({ query }) => {
      await query('UPDATE t SET id = 2');
      // It waits for the lock of the first, which sends nothing meanwhile.
      await other.query('UPDATE t SET id = 3');
    });
    await expect(transaction).rejects.toMatchObject({ code: 'storage_failed' });
    expect(await silent.query('SELECT id FROM t')).toEqual([{ id: 3 }]);
  });

  test('is migrated for longer than the statement limit, and processes that start meanwhile wait', async () => {
    const place = await freshLocation('postgres');
    const several = await Promise.all(
      [1, 2].map(() => openDatabase(place, { statementTimeoutMs: 1500, connections: 1 })),
    );
    open.push(...several);
    const migrations = { name: 'one', steps: ['CREATE TABLE a (id integer); SELECT pg_sleep(3)'] };
    await Promise.all(several.map((database) => migrate(database, migrations)));
    for (const database of several) expect(await database.query('SELECT id FROM a')).toEqual([]);
  });

  test('is not migrated while a long reader would make all later readers wait', async () => {
    const place = await freshLocation('postgres');
    const database = await openDatabase(place);
    const reader = await openDatabase(place);
    open.push(database, reader);
    const steps = ['CREATE TABLE a (id integer)', 'ALTER TABLE a ADD COLUMN word text'];
    await migrate(database, { name: 'one', steps: steps.slice(0, 1) });
    await reader.transaction(async ({ query }) => {
      await query('SELECT id FROM a');
      await expect(migrate(database, { name: 'one', steps })).rejects.toMatchObject({
        code: 'storage_failed',
        message:
          'database: a script failed: canceling statement due to lock timeout (55P03), in the update of the tables of one to version 2: another process uses them; end its job or transaction, then start this one again',
      });
    });
    await migrate(database, { name: 'one', steps });
    expect(await database.query('SELECT word FROM a')).toEqual([]);
  });

  test('that stops answering is given up, and the connection is not used again', async () => {
    const place = await freshLocation('postgres');
    const proxy = await startProxy(Number(new URL(place).port));
    const url = new URL(place);
    url.port = `${proxy.port}`;
    const database = await openDatabase(url.href, { statementTimeoutMs: 1000, connections: 1 });
    proxy.pause();
    const unanswered = { code: 'storage_failed', message: expect.stringMatching(/timeout/) };
    await expect(database.query('SELECT 1 AS one')).rejects.toMatchObject(unanswered);
    await expect(database.transaction(({ query }) => query('SELECT 1'))).rejects.toMatchObject(unanswered);
    proxy.resume();
    // The first connection after the pause may still belong to it.
    await expect
      .poll(() => database.query('SELECT 1 AS one').catch(() => []), { timeout: 60_000 })
      .toEqual([{ one: 1 }]);
    await database.close();
    await proxy.close();
  });

  test('is probed on each connection after 10 s without traffic, so that a vanished machine is detected', async () => {
    const probes = vi.spyOn(Socket.prototype, 'setKeepAlive');
    const place = await freshLocation('postgres');
    probes.mockClear();
    const database = await openDatabase(place);
    open.push(database);
    (await database.subscribe!('changes', () => {})).close();
    expect(probes.mock.calls).toEqual([
      [true, 10_000],
      [true, 10_000],
    ]);
  });

  test('that has vanished leaves no connection open after close, which would keep the process alive', async () => {
    const probes = vi.spyOn(Socket.prototype, 'setKeepAlive');
    const url = new URL(await freshLocation('postgres'));
    const proxy = await startProxy(Number(url.port));
    url.port = `${proxy.port}`;
    probes.mockClear();
    const database = await openDatabase(url.href);
    const subscription = await database.subscribe!('changes', () => {});
    const sockets = probes.mock.contexts as Socket[];
    expect(sockets).toHaveLength(2);
    proxy.pause();
    subscription.close();
    await database.close();
    await expect.poll(() => sockets.every(({ destroyed }) => destroyed), { timeout: 30_000 }).toBe(true);
    await proxy.close();
  });

  describe('on another machine', () => {
    const TLS = 'TLS';
    const PLAIN = 'plain text';
    const REFUSED = 'refused';
    const SSL_REQUEST = 80_877_103;
    const TLS_RECORD = 22;

    /** What an attempt to connect sends first. */
    const firstSent = async (authority: string, parameters: string): Promise<string> => {
      let first: string | undefined;
      const listener = createServer((socket) => {
        socket.on('error', () => {});
        socket.once('data', (bytes) => {
          first = bytes[0] === TLS_RECORD || bytes.readInt32BE(4) === SSL_REQUEST ? TLS : PLAIN;
          socket.destroy();
        });
      }).listen(0, '127.0.0.1');
      await once(listener, 'listening');
      const { port } = listener.address() as AddressInfo;
      const url = `postgres://tessera:${PASSWORD}@${authority}:${port}/name${parameters}`;
      const error = await openDatabase(url).catch((thrown: unknown) => thrown);
      listener.close();
      expect(isTokenError(error) && error.code).toBe('storage_failed');
      expect(inspected(error)).not.toContain(PASSWORD);
      const isRefused = (error as Error).message.includes('expected TLS, or exactly sslmode=disable');
      expect(isRefused).toBe(first === undefined);
      return first ?? REFUSED;
    };
    // The system's name for loopback, but not one that Tessera knows.
    const REMOTE = '127.1';

    beforeEach(() => void vi.stubEnv('PGSSLMODE', ''));
    afterEach(() => void vi.unstubAllEnvs());

    test.each<[parameters: string, environment: string, expected: string]>([
      ['', '', TLS],
      ['?sslmode=', '', TLS],
      ['?sslrootcert=', '', TLS],
      ['?sslmode=verify-full', '', TLS],
      ['?sslmode=verify-ful', '', TLS],
      ['?sslmode=no-verify', '', TLS],
      ['?sslnegotiation=postgres', '', TLS],
      ['?sslnegotiation=direct', '', TLS],
      ['?ssl=true', '', TLS],
      ['?host=localhost&host=127.1', '', TLS],
      ['?sslmode=disable', '', PLAIN],
      ['?sslmode=disable', 'verify-full', PLAIN],
      ['?ssl=', '', REFUSED],
      ['?ssl=0', '', REFUSED],
      ['?ssl=yes', '', REFUSED],
      ['?sslmode=verify-full&sslmode=disable', '', REFUSED],
      ['?ssl=true&sslmode=disable', '', REFUSED],
      ['?sslrootcert=&sslmode=disable', '', REFUSED],
      ['', 'disable', PLAIN],
      ['', 'verify-full', TLS],
      ['', 'verify_full', REFUSED],
      ['', 'allow', REFUSED],
      ['?sslmode=', 'disable', REFUSED],
    ])('with the URL parameters "%s" and PGSSLMODE "%s": %s', async (parameters, environment, expected) => {
      vi.stubEnv('PGSSLMODE', environment);
      expect(await firstSent(REMOTE, parameters)).toBe(expected);
    });

    test.each(['127.0.0.1', 'LOCALHOST'])('but %s is this one, which needs no TLS', async (host) => {
      expect(await firstSent(host, '')).toBe(PLAIN);
    });

    test.each(['://[::1]/name', ':///name?host=/run/postgresql', '://%2Fvar%2Frun%2Fpostgresql/name'])(
      'but postgres%s is this one, which needs no TLS',
      (rest) => {
        expect(tlsOptions(`postgres${rest}`, pg)).toEqual({});
      },
    );

    test('by PGHOST is reached by TLS, unless the URL has another host', () => {
      vi.stubEnv('PGHOST', 'db.example');
      expect(tlsOptions('postgres:///name', pg)).toEqual({ ssl: true });
      expect(tlsOptions('postgres://user@localhost/name', pg)).toEqual({});
    });
  });

  test('that is unreachable or refuses the login is reported without the password', async () => {
    const url = await freshLocation('postgres');
    const cases: [url: string, said: RegExp][] = [
      [url.replace(/:\d+\//, ':1/'), /cannot connect to PostgreSQL: connect ECONNREFUSED 127\.0\.0\.1:1$/],
      [url.replace(PASSWORD, `${PASSWORD}-not`), /password authentication failed for user "tessera" \(28P01\)$/],
      [`${url}_not`, /database "test_\w+_not" does not exist \(3D000\)$/],
      [`${url}?port=70000`, /cannot connect to PostgreSQL: ERR_SOCKET_BAD_PORT$/],
      [`${url}?sslrootcert=/nowhere/ca.pem`, /cannot connect to PostgreSQL: open ENOENT \/nowhere\/ca\.pem$/],
      [
        `${url}?sslmode=verify-full`,
        /The server does not support SSL connections; connections to another machine use TLS/,
      ],
    ];
    for (const [place, said] of cases) {
      const error = await openDatabase(place).catch((thrown: unknown) => thrown);
      expect(isTokenError(error) && error.code).toBe('storage_failed');
      expect((error as Error).message).toMatch(said);
      expect(inspected(error)).not.toContain(PASSWORD);
    }
  });

  test('that refuses the login is not left connected: the process can end', async () => {
    const url = new URL(await freshLocation('postgres'));
    const proxy = await startProxy(Number(url.port));
    url.port = `${proxy.port}`;
    const environment = process.env.PGPASSWORD;
    delete process.env.PGPASSWORD;
    try {
      for (const [password, said] of [
        ['', 'the server requires a password'],
        ['another', 'password authentication failed'],
      ] as const) {
        url.password = password;
        await expect(openDatabase(url.href)).rejects.toThrow(said);
        await expect.poll(proxy.hasClients, { timeout: 60_000 }).toBe(false);
      }
    } finally {
      if (environment !== undefined) process.env.PGPASSWORD = environment;
      await proxy.close();
    }
  });

  test('reports why it has closed the connection of a transaction', async () => {
    const url = await freshLocation('postgres');
    const [database, other] = [await openDatabase(url), await openDatabase(url)];
    open.push(database, other);
    const within = database.transaction(async ({ query }) => {
      const [own] = await query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await other.query('SELECT pg_terminate_backend($1, 60000)', [own!.pid]);
      await expect
        .poll(() => query('SELECT 1').catch(({ message }) => message))
        .toBe('database: a connection is lost: terminating connection due to administrator command (57P01)');
      throw new Error('as the last statement has failed');
    });
    await expect(within).rejects.toThrow('as the last statement has failed');
  });
});

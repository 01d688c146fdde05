import { once } from 'node:events';
import { type AddressInfo, createServer, Socket } from 'node:net';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { type Database, locationKind, migrate } from '../../src/database/index.ts';
import { tlsOptions, withTlsRemedy } from '../../src/database/postgres-tls.ts';
import { isTokenError, TokenError } from '../../src/token/index.ts';
import { freshLocation, KINDS } from './locations.ts';
import { PASSWORD } from './postgres-server.ts';
import { startProxy } from './proxy.ts';

const open: Database[] = [];
afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  await Promise.all(open.splice(0).map((database) => database.close()));
});

const VALUES = {
  big: 2 ** 53 - 1,
  small: -5,
  words: `a "b", {c}, 'd' \\ \n é 🙂`,
  bytes: Uint8Array.from([0, 1, 92, 120, 127, 128, 255]),
  yes: true,
  no: false,
  nothing: null,
  bigs: [1, 2 ** 40],
  texts: ['a', 'b,"c"', '{}', '\\', '', 'NULL', null, 'd\n'],
  unescaped: ['a', "b,'c'", '{}', '[]', '', 'NULL', 'null', null, 'é 🙂', '語'.repeat(100)],
  numbers: [-1, null, 2 ** 53 - 1, 1 - 2 ** 53, 0],
  nulls: [null, null],
  missing: [null],
  nobody: [],
};
const TYPES = [
  ...['bigint', 'integer', 'text', 'bytea', 'boolean', 'boolean', 'text', 'bigint[]', 'text[]'],
  ...['text[]', 'bigint[]', 'text[]', 'bigint[]', 'text[]'],
];
/** Send the values and read them back. */
const selectValues = async (database: Database): Promise<unknown> => {
  const select = Object.keys(VALUES).map((name, at) => `$${at + 1}::${TYPES[at]} AS ${name}`);
  const [row] = await database.query(`SELECT ${select.join(', ')}`, Object.values(VALUES));
  expect(row!.bytes!.constructor).toBe(Uint8Array);
  return row;
};

describe.each(KINDS)('%s', (kind) => {
  const start = async (place?: string): Promise<Database> => {
    const database = await openDatabase(place ?? (await freshLocation(kind)));
    open.push(database);
    return database;
  };

  test('has a kind, and closes once for several calls', async () => {
    const database = await start();
    expect(database.kind).toBe(kind);
    await Promise.all([database.close(), database.close()]);
    await expect(database.query('SELECT 1')).rejects.toMatchObject({ code: 'closed' });
    await expect(database.script('SELECT 1')).rejects.toMatchObject({ code: 'closed' });
    await expect(database.transaction(async () => 1)).rejects.toMatchObject({ code: 'closed' });
  });

  test('returns the values that were stored', async () => {
    expect(await selectValues(await start())).toEqual(VALUES);
  });

  test('stores JSON, counts as numbers, and returns the rows of a change', async () => {
    const database = await start();
    await database.script('CREATE TABLE t (id integer PRIMARY KEY, more jsonb); CREATE INDEX ON t (id)');
    const change = 'INSERT INTO t VALUES ($1, $2::text::jsonb) RETURNING id, more';
    expect(await database.query(change, [1, '{"a":[1,null]}'])).toEqual([{ id: 1, more: { a: [1, null] } }]);
    expect(await database.query('SELECT count(*) AS n FROM t')).toEqual([{ n: 1 }]);
    expect(await database.query('DELETE FROM t')).toEqual([]);
  });

  test('writes thousands of rows in one statement', async () => {
    const database = await start();
    await database.script('CREATE TABLE t (id text PRIMARY KEY, n bigint NOT NULL)');
    const ids = Array.from({ length: 5000 }, (_, n) => `id-${n}`);
    const write = `INSERT INTO t SELECT * FROM unnest($1::text[], $2::bigint[])
      ON CONFLICT (id) DO UPDATE SET n = excluded.n`;
    for (const more of [0, 1]) await database.query(write, [ids, ids.map((_, n) => n + more)]);
    const [sum] = await database.query(
      'SELECT count(*) AS n, sum(n)::bigint AS all FROM t WHERE id = ANY($1::text[])',
      [ids],
    );
    expect(sum).toEqual({ n: 5000, all: (5000 * 5001) / 2 });
  });

  test('lets the process do other work between statements, and between transactions', async () => {
    const database = await start();
    let turns = 0;
    let counting = setImmediate(function count() {
      turns++;
      counting = setImmediate(count);
    });
    const turnsDuring = async (work: () => Promise<unknown>): Promise<number> => {
      const before = turns;
      for (let i = 0; i < 20; i++) await work();
      return turns - before;
    };
    const statements = await turnsDuring(() => database.query('SELECT 1'));
    const transactions = await turnsDuring(() => database.transaction(({ query }) => query('SELECT 1')));
    clearImmediate(counting);
    expect(Math.min(statements, transactions)).toBeGreaterThan(10);
  });

  describe('a transaction', () => {
    const table = async (): Promise<Database> => {
      const database = await start();
      await database.script('CREATE TABLE t (id integer PRIMARY KEY)');
      return database;
    };
    const ids = (database: Database) => database.query('SELECT id FROM t ORDER BY id');

    test('commits all its statements and returns the result of its work', async () => {
      const database = await table();
      const answer = await database.transaction(async ({ query, script }) => {
        await query('INSERT INTO t VALUES ($1)', [1]);
        await script('INSERT INTO t VALUES (2); INSERT INTO t VALUES (3)');
        return 'done';
      });
      expect(answer).toBe('done');
      expect(await ids(database)).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
    });

    test('rolls back if its work throws, and rethrows that error', async () => {
      const database = await table();
      const thrown = new RangeError('mine');
      const work = database.transaction(async ({ query }) => {
        await query('INSERT INTO t VALUES (1)');
        throw thrown;
      });
      await expect(work).rejects.toBe(thrown);
      expect(await ids(database)).toEqual([]);
    });

    test.each(['query', 'script'] as const)(
      'rolls back after a failed %s, even if its work catches the error',
      async (method) => {
        const database = await table();
        const work = database.transaction(async (queries) => {
          await queries.query('INSERT INTO t VALUES (1)');
          await queries[method]('INSERT INTO t VALUES (1)').catch(() => {});
        });
        await expect(work).rejects.toMatchObject({ code: 'storage_failed' });
        expect(await ids(database)).toEqual([]);
        await database.query('INSERT INTO t VALUES (1)');
      },
    );

    test('does not see the statements of an uncommitted one', async () => {
      const database = await table();
      await database.query('INSERT INTO t VALUES (0)');
      const raise = database.transaction.bind(undefined, async ({ query }) => {
        const [row] = await query<{ id: number }>('SELECT id FROM t FOR UPDATE');
        await query('UPDATE t SET id = $1', [row!.id + 1]);
      });
      await Promise.all(Array.from({ length: 20 }, raise));
      expect(await ids(database)).toEqual([{ id: 20 }]);
    });

    test('skips rows that another has locked: workers share a job', async () => {
      const database = await table();
      await database.query('INSERT INTO t SELECT generate_series(1, 40)');
      const done: number[] = [];
      const take = `DELETE FROM t WHERE id IN (SELECT id FROM t ORDER BY id LIMIT 5 FOR UPDATE SKIP LOCKED) RETURNING id`;
      const worker = async (): Promise<void> => {
        for (let more = true; more; ) {
          const rows = await database.transaction(({ query }) => query<{ id: number }>(take));
          done.push(...rows.map(({ id }) => id));
          more = rows.length > 0;
        }
      };
      await Promise.all([worker(), worker(), worker()]);
      expect(done.sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, n) => n + 1));
    });

    test('completes before closing does', async () => {
      const place = await freshLocation(kind);
      const database = await start(place);
      await database.script('CREATE TABLE t (id integer)');
      let closed: Promise<void> | undefined;
      await database.transaction(async ({ query }) => {
        await query('INSERT INTO t VALUES (1)');
        closed = database.close();
        await query('INSERT INTO t VALUES (2)');
      });
      await closed;
      expect(await (await start(place)).query('SELECT count(*) AS n FROM t')).toEqual([{ n: 2 }]);
    });
  });

  test('still holds acknowledged rows when it is opened again', async () => {
    const place = await freshLocation(kind);
    const first = await start(place);
    await first.script('CREATE TABLE t (id integer)');
    const written = Promise.all(Array.from({ length: 100 }, (_, id) => first.query('INSERT INTO t VALUES ($1)', [id])));
    await Promise.all([written, first.close()]);
    expect(await (await start(place)).query('SELECT count(*) AS n FROM t')).toEqual([{ n: 100 }]);
  });

  test('describes a failure without the parameters', async () => {
    const database = await start();
    await database.script('CREATE TABLE t (id integer PRIMARY KEY, word text); INSERT INTO t VALUES (1)');
    const failures: [sql: string, params: (string | number)[], said: string][] = [
      ['SELECT nothing FROM t', [], 'column "nothing" does not exist (42703)'],
      ['INSERT INTO t VALUES ($1, $2)', [1, 'DII'], 'duplicate key value violates unique constraint "t_pkey" (23505)'],
      ['SELECT $1::text::integer', ['DII'], 'an invalid value (22P02)'],
      ['SELECT $1::text', ['DII\0'], 'an invalid value (22021)'],
      ['SELECT $1::bigint', ['DII'], ''],
      ['SELECT DII FROM', [], 'syntax error'],
    ];
    for (const [sql, params, said] of failures) {
      const error = await database.query(sql, params).catch((thrown: unknown) => thrown);
      expect(isTokenError(error) && error.code).toBe('storage_failed');
      expect((error as Error).message).toContain(said);
      if (params.length > 0) expect(inspected(error)).not.toContain('DII');
    }
    await expect(database.script('CREATE TABLE t (id integer)')).rejects.toMatchObject({ code: 'storage_failed' });
    expect(await database.query('SELECT id FROM t')).toEqual([{ id: 1 }]);
  });

  describe('migrations', () => {
    const steps = ['CREATE TABLE a (id integer); CREATE TABLE b (id integer)', 'ALTER TABLE a ADD COLUMN word text'];

    test('run once each, in order, for each owner', async () => {
      const place = await freshLocation(kind);
      const database = await start(place);
      await migrate(database, { name: 'one', steps: steps.slice(0, 1) });
      await migrate(database, { name: 'one', steps });
      await migrate(database, { name: 'one', steps });
      await migrate(database, { name: 'two', steps: ['CREATE TABLE c (id integer)'] });
      await database.query("INSERT INTO a VALUES (1, 'word')");
      expect(await database.query('SELECT room, number FROM tessera_migrations ORDER BY room, number')).toEqual([
        { room: 'one', number: 1 },
        { room: 'one', number: 2 },
        { room: 'two', number: 1 },
      ]);
    });

    test('that fail change nothing', async () => {
      const database = await start();
      const failing = migrate(database, { name: 'one', steps: [...steps, 'CREATE TABLE nothing (('] });
      await expect(failing).rejects.toMatchObject({ code: 'storage_failed' });
      await migrate(database, { name: 'one', steps });
      expect(await database.query('SELECT * FROM a')).toEqual([]);
    });

    test('reject tables of a newer version', async () => {
      const database = await start();
      await migrate(database, { name: 'one', steps });
      await expect(migrate(database, { name: 'one', steps: steps.slice(0, 1) })).rejects.toThrow(
        'the tables of one: expected version 1 or lower, got 2',
      );
    });

    test('take turns when several start at once', async () => {
      const place = await freshLocation(kind);
      const several =
        kind === 'postgres' ? await Promise.all([start(place), start(place), start(place)]) : [await start(place)];
      await Promise.all([...several, ...several].map((database) => migrate(database, { name: 'one', steps })));
      expect(await several[0]!.query('SELECT number FROM tessera_migrations ORDER BY number')).toHaveLength(2);
    });
  });
});

const inspected = (error: unknown): string =>
  JSON.stringify([error, Object.getOwnPropertyNames(error), (error as Error).message, String((error as Error).cause)]);

describe('a location', () => {
  const OTHER = 'got a connection in another form; a folder needs a name without : = @ and ?';
  test.each<[place: string, said: string]>([
    ['', 'got an empty string'],
    [' ', 'got an empty string'],
    ['secret\0', 'got a string with U+0000'],
    ['mysql://user:secret@host/name', 'got mysql://'],
    ['postgres://user:secret@host:port/name', 'got a malformed URL'],
    ['postgres://user:1/secret@host/name', 'got a URL with @ after the host; percent-encode'],
    ['postgres://user:1#secret@host/name', 'got a URL with @ after the host; percent-encode'],
    ['postgres://user:4711?secret@host/name', 'got a URL with @ after the host; percent-encode'],
    ['postgres://user:secret@one:5432,two:5432/name', 'got several hosts'],
    ['postgres://user:secret@one,two/name', 'got several hosts'],
    ['postgres://user:secret@/name?host=one%2Ctwo', 'got several hosts'],
    [' postgres://user:secret@host/name', 'got white space'],
    ['secret ', 'got white space'],
    ['postgres:/user:secret@host/name', OTHER],
    ['jdbc:postgresql://host/name?user=user&password=secret', OTHER],
    ['jdbc:postgresql:secret', OTHER],
    ['"postgres://user:secret@host/name"', OTHER],
    ['//user:secret@host/name', OTHER],
    ['user:secret@host/name', OTHER],
    ['user@host/secret', OTHER],
    ['127.0.0.1:5432/secret', OTHER],
    ['[::1]:5432/secret', OTHER],
    ['db_host:5432/secret', OTHER],
    ['host=127.0.0.1 dbname=x password=secret', OTHER],
    ['host = /run/postgresql password = secret', OTHER],
    ['/run/postgresql dbname=x password=secret', OTHER],
    ['//host:5432/secret', OTHER],
    ['host/name?user=user&password=secret', OTHER],
  ])('%s is refused', async (place, said) => {
    const error = await openDatabase(place).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RangeError);
    expect((error as Error).message).toContain('expected a folder or postgres://');
    expect((error as Error).message).toContain(said);
    expect(inspected(error)).not.toContain('secret');
  });

  test.each<[place: string, kind: string]>([
    ...['data', './host=a:1', '/srv/env=prod/a:b', 'C:\\data', 'c:/data', '\\\\server\\share', 'a b/ü'].map(
      (place): [string, string] => [place, 'folder'],
    ),
    ['postgres://user:p%40s,s@host/name?sslrootcert=a,b', 'url'],
    ['postgresql:///name?host=/run/postgresql&user=name@server', 'url'],
  ])('%s is a %s', (place, kind) => {
    expect(locationKind(place)).toBe(kind);
  });
});

describe('a PostgreSQL server', () => {
  const SLEEP = 'SELECT pg_sleep(600)::text';

  test('ends statements that take longer than the limit, but not those of a transaction without limit', async () => {
    // Long enough for the statements that the server must not end, however busy the machine.
    const limited = await openDatabase(await freshLocation('postgres'), { statementTimeoutMs: 1500, connections: 1 });
    open.push(limited);
    // The client gives up a second after the server would: on a busy machine before it has read the answer.
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

    beforeEach(() => {
      vi.stubEnv('PGSSLMODE', '');
    });
    afterEach(() => {
      vi.unstubAllEnvs();
    });

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

  test('without TLS is rejected, with the remedy', () => {
    const refused = new TokenError('storage_failed', 'database: The server does not support SSL connections');
    expect(withTlsRemedy(refused).message).toContain('in a network that you trust, add sslmode=disable');
    const other = new TokenError('storage_failed', 'database: connect ECONNREFUSED 127.0.0.1:1');
    expect(withTlsRemedy(other)).toBe(other);
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

  test('is reconnected to after it has closed the connections', async () => {
    const url = await freshLocation('postgres');
    const [database, other] = [await openDatabase(url), await openDatabase(url)];
    open.push(database, other);
    const cut = (who: string) =>
      other.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND ${who}`);
    const here = 'datname = current_database()';
    const within = database.transaction(async ({ query }) => {
      await cut(here);
      await query('SELECT 1');
    });
    await expect(within).rejects.toMatchObject({ code: 'storage_failed' });
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });
});

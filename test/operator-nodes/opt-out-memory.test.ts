/** The opt-outs that a node keeps in memory: what they spare, and that they never hide one that was acknowledged. */

import { afterEach, describe, expect, inject, test, vi } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { type Database, migrate, type Queries } from '../../src/database/index.ts';
import type { Operator } from '../../src/operator/index.ts';
import { operatorFrom } from '../../src/operator/operator.ts';
import { resolveOptions } from '../../src/operator/options/resolve.ts';
import { createOptOutMemory, MAX_AGE_MS, type OptOutMemory } from '../../src/operator/state/opt-out-memory.ts';
import { TABLES } from '../../src/operator/state/tables.ts';
import { TokenError } from '../../src/token/index.ts';
import { freshLocation, KINDS, type Kind } from '../database/locations.ts';
import { startProxy } from '../database/proxy.ts';
import { ALL_ROLES, createCalls, ROOT } from '../operator/fixtures.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const each of open.splice(0).reverse()) await each.close();
});
const opened = <T extends { close(): Promise<void> }>(closable: T): T => {
  open.push(closable);
  return closable;
};

const LOGOUT = '/v2/token/logout';
const LOOK_UP = 'FROM tessera_opt_outs WHERE user_hash = ANY';
const FOLLOWS = 'WITH page AS';

/** Start a node in this process. `looked` holds one entry for each look-up of opt-outs: how many users it named. */
const startNode = async (place: string, wrap: (database: Database) => Database = (database) => database) => {
  const looked: number[] = [];
  const settings = resolveOptions({ rootSecret: ROOT, roles: ALL_ROLES, database: place });
  const operator: Operator = operatorFrom(settings, async (where) => {
    const database = wrap(await openDatabase(where));
    const query: Queries['query'] = (sql, params = []) => {
      if (sql.includes(LOOK_UP)) looked.push((params[0] as string[]).length);
      return database.query(sql, params);
    };
    return { ...database, query };
  });
  opened(operator);
  await operator.ready;
  const participant = operator.participants[0]!;
  const answer = (path: string, init: RequestInit) => operator.fetch(new Request(`http://node.test${path}`, init));
  const calls = createCalls(answer, participant, Date.now);
  const isCurrent = async () =>
    (await (await answer('/metrics', {})).text()).includes('\ntessera_opt_outs_current 1\n');
  const becomesCurrent = () => expect.poll(isCurrent, { timeout: 60_000 }).toBe(true);
  const optOut = async (email: string) => expect((await calls.call(LOGOUT, { email })).http).toBe(200);
  const refreshStatus = async (set: unknown): Promise<string> => (await calls.refresh(set)).json.status;
  return { operator, looked, isCurrent, becomesCurrent, optOut, refreshStatus, ...calls };
};
type Node = Awaited<ReturnType<typeof startNode>>;

/** Wait until every node honours what has been acknowledged: the rule itself, whatever the load of the machine. */
const untilHonoured = async (): Promise<void> => {
  // A timer of Node may fire a fraction of a millisecond early.
  for (const endAt = performance.now() + MAX_AGE_MS; performance.now() < endAt; )
    await new Promise((resolve) => setTimeout(resolve, endAt - performance.now()));
};

const endFollowers = async (admin: Database): Promise<number> =>
  (
    await admin.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE '%' || $1 || '%' AND pid <> pg_backend_pid()`,
      [FOLLOWS],
    )
  ).length;

describe.each(KINDS)('on %s', (kind: Kind) => {
  test('500 refreshes cause no opt-out query', async () => {
    const node = await startNode(await freshLocation(kind));
    // What has been read does not grow old: a node that is kept busy for a second asks the database.
    vi.useFakeTimers({ toFake: ['performance'] });
    await node.becomesCurrent();
    let set = await node.generate({ email: 'user@example.com' });
    node.looked.length = 0;
    for (let at = 0; at < 500; at++) {
      const { json } = await node.refresh(set);
      set = json.body;
    }
    expect(node.looked).toEqual([]);
  });

  test('an opt-out counts at once on the node that took it, and after a restart', async () => {
    const place = await freshLocation(kind);
    const node = await startNode(place);
    await node.becomesCurrent();
    const sets = await Promise.all([1, 2, 3].map((at) => node.generate({ email: `leaver-${at}@example.com` })));
    for (const [at, set] of sets.entries()) {
      await node.optOut(`leaver-${at + 1}@example.com`);
      expect(await node.refreshStatus(set)).toBe('optout');
    }
    await node.operator.close();
    const again = await startNode(place);
    // While it still reads them, and then.
    for (const set of sets) expect(await again.refreshStatus(set)).toBe('optout');
    await again.becomesCurrent();
    for (const set of sets) expect(await again.refreshStatus(set)).toBe('optout');
  });

  test('opt-outs that an older version has recorded are read', async () => {
    const database = opened(await openDatabase(await freshLocation(kind)));
    await migrate(database, { ...TABLES, steps: TABLES.steps.slice(0, 3) });
    const insert = `INSERT INTO tessera_opt_outs SELECT encode(sha256(n::text::bytea), 'base64'), 0, 0, 0
      FROM generate_series($1::integer, $2::integer) n`;
    await database.query(insert, [1, 25_000]);
    await migrate(database, TABLES);
    // A node of that version continues.
    await database.query(insert, [25_001, 25_010]);
    const memory = opened(createOptOutMemory(database));
    await expect.poll(memory.isCurrent, { timeout: 60_000 }).toBe(true);
    expect(memory.size()).toBe(25_010);
    const [order] = await database.query('SELECT min(number), max(number) FROM tessera_opt_outs');
    expect(order).toEqual({ min: 1, max: 25_010 });
  });

  test('beyond the bound every refresh asks the database', async () => {
    const database = opened(await openDatabase(await freshLocation(kind)));
    await migrate(database, TABLES);
    await database.query(
      `INSERT INTO tessera_opt_outs SELECT encode(sha256(n::text::bytea), 'base64'), 0, 0, 0 FROM generate_series(1, 20) n`,
    );
    const lines: string[] = [];
    const logger = { info: () => {}, warn: (_: object, line: string) => void lines.push(line), error: () => {} };
    const memory = opened(createOptOutMemory(database, { maxOptOuts: 10, logger }));
    await expect.poll(() => lines.length, { timeout: 60_000 }).toBe(1);
    expect(lines[0]).toContain('there are more than 10');
    expect([memory.isCurrent(), memory.isAbsent(new Uint8Array(32)), memory.size()]).toEqual([false, false, 0]);
  });
});

describe('two nodes on one PostgreSQL', () => {
  const startTwo = async (wrap?: (database: Database) => Database): Promise<[Node, Node, Database]> => {
    const place = await freshLocation('postgres');
    const one = await startNode(place);
    const other = await startNode(place, wrap);
    await one.becomesCurrent();
    await other.becomesCurrent();
    return [one, other, opened(await openDatabase(place))];
  };

  /** Opt a user out on `one`; a second later a refresh on `other` must know it. */
  const expectHonoured = async (one: Node, other: Node, emails: readonly string[]): Promise<void> => {
    const sets = await Promise.all(emails.map((email) => other.generate({ email })));
    for (const email of emails) await one.optOut(email);
    await untilHonoured();
    const statuses = await Promise.all(sets.map((set) => other.refreshStatus(set)));
    expect(statuses).toEqual(emails.map(() => 'optout'));
  };

  test('honour opt-outs within a second, under load', async () => {
    const [one, other] = await startTwo();
    let isOver = false;
    const set = await one.generate({ email: 'user@example.com' });
    const load = [one, other, one, other].map(async (node, caller) => {
      for (let at = 0; !isOver; at++) {
        expect(await node.refreshStatus(set)).toBe('success');
        // A promise alone would not let the sockets of the database be read.
        await new Promise((resolve) => setTimeout(resolve));
        if (at % 20 === 0) await node.optOut(`other-${caller}-${at}@example.com`);
      }
    });
    for (const round of [1, 2, 3])
      await expectHonoured(
        round % 2 ? one : other,
        round % 2 ? other : one,
        Array.from({ length: 10 }, (_, at) => `leaver-${round}-${at}@example.com`),
      );
    isOver = true;
    await Promise.all(load);
  });

  test('ask the database while they cannot connect, a few queries for many refreshes', async () => {
    const [one, other, admin] = await startTwo();
    const [{ name } = { name: '' }] = await admin.query<{ name: string }>('SELECT current_database() AS name');
    const set = await other.generate({ email: 'user@example.com' });
    const outside = opened(await openDatabase(inject('postgresUrl')));
    await outside.script(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    await endFollowers(admin);
    await expect.poll(other.isCurrent, { timeout: 60_000 }).toBe(false);
    await expectHonoured(one, other, ['leaver@example.com']);
    other.looked.length = 0;
    const statuses = await Promise.all(Array.from({ length: 500 }, () => other.refreshStatus(set)));
    expect(new Set(statuses)).toEqual(new Set(['success']));
    expect(other.looked.reduce((sum, users) => sum + users, 0)).toBe(500);
    expect(other.looked.length).toBeLessThan(250);
    await outside.script(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    await other.becomesCurrent();
    expect(await other.refreshStatus(set)).toBe('success');
  });

  test('honour them while the connection that follows them hangs, and follow again after it', async () => {
    const proxy = opened(await startProxy(Number(new URL(await freshLocation('postgres')).port)));
    const place = await freshLocation('postgres');
    const behind = opened(await openDatabase(place.replace(/:\d+\//, `:${proxy.port}/`), { statementTimeoutMs: 1000 }));
    const one = await startNode(place);
    const other = await startNode(place, (database) => ({
      ...database,
      subscribe: (channel, onNotification) => behind.subscribe!(channel, onNotification),
    }));
    await one.becomesCurrent();
    await other.becomesCurrent();
    proxy.pause();
    await expectHonoured(one, other, ['leaver-1@example.com', 'leaver-2@example.com']);
    expect(await other.isCurrent()).toBe(false);
    proxy.resume();
    await other.becomesCurrent();
    await expectHonoured(one, other, ['leaver-3@example.com']);
  });
});

describe('the memory on PostgreSQL', () => {
  const start = async () => {
    const place = await freshLocation('postgres');
    const database = opened(await openDatabase(place));
    await migrate(database, TABLES);
    const error = vi.fn();
    const memory = opened(createOptOutMemory(database, { logger: { info: () => {}, warn: () => {}, error } }));
    const becomesCurrent = () => expect.poll(memory.isCurrent, { timeout: 60_000 }).toBe(true);
    await becomesCurrent();
    return { place, database, memory, error, becomesCurrent };
  };
  const insert = ({ query }: Queries, from: number, to: number) =>
    query(
      `INSERT INTO tessera_opt_outs SELECT encode(sha256(n::text::bytea), 'base64'), 0, 0, 0
        FROM generate_series($1::integer, $2::integer) n`,
      [from, to],
    );
  const hash = async (n: number): Promise<Uint8Array> =>
    new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(`${n}`)));
  /** Which of the users have opted out, by a reading that is not too old: by one that is, all may have. */
  const knownTo = async (memory: OptOutMemory, from: number, to: number): Promise<boolean[]> => {
    const users = await Promise.all(Array.from({ length: to - from + 1 }, (_, index) => hash(from + index)));
    return vi.waitUntil(
      () => {
        const known = users.map((user) => !memory.isAbsent(user));
        return memory.isCurrent() && known;
      },
      { timeout: 60_000 },
    ) as Promise<boolean[]>;
  };

  test('misses no row of transactions that commit in another order than they began', async () => {
    const { database, memory } = await start();
    const writers = [0, 1, 2, 3].map(async (writer) => {
      for (let at = 0; at < 50; at++)
        await database.transaction(async (queries) => {
          const n = writer * 50 + at;
          await queries.query('SELECT pg_sleep($1::integer / 1000.0)', [(n * 7) % 5]);
          await insert(queries, n, n);
          await queries.query('SELECT pg_sleep($1::integer / 1000.0)', [(n * 11) % 7]);
        });
    });
    await Promise.all(writers);
    await untilHonoured();
    expect(await knownTo(memory, 0, 200)).toEqual(Array.from({ length: 201 }, (_, n) => n < 200));
    expect(memory.size()).toBe(200);
  });

  test('follows tables that are emptied, and a backup that is restored into them', async () => {
    const { database, memory } = await start();
    await insert(database, 1, 10);
    await database.script('CREATE TABLE backup AS SELECT * FROM tessera_opt_outs');
    await insert(database, 11, 20);
    await expect.poll(memory.size, { timeout: 60_000 }).toBe(20);
    await database.script('TRUNCATE tessera_opt_outs');
    await expect.poll(memory.size, { timeout: 60_000 }).toBe(0);
    await database.script('INSERT INTO tessera_opt_outs SELECT * FROM backup');
    await insert(database, 21, 30);
    await untilHonoured();
    expect(await knownTo(memory, 1, 30)).toEqual(Array.from({ length: 30 }, (_, index) => index < 10 || index >= 20));
  });

  test('discards in one step a table that was emptied and filled again between two readings', async () => {
    const { database, memory } = await start();
    await insert(database, 1, 10);
    await expect.poll(memory.size, { timeout: 60_000 }).toBe(10);
    await database.transaction(async (queries) => {
      await queries.script('TRUNCATE tessera_opt_outs');
      await insert(queries, 11, 40);
    });
    await expect.poll(memory.size, { timeout: 60_000 }).toBe(30);
    expect(memory.isAbsent(await hash(11))).toBe(false);
  });

  test.each([
    ['connected', false],
    ['after a lost connection', true],
  ])('tells once that rows are lost, %s, and how many, though this node writes others meanwhile', async (_, isCut) => {
    const { place, database, memory, error } = await start();
    const outside = opened(await openDatabase(inject('postgresUrl')));
    const allow = (isAllowed: boolean) =>
      outside.script(`ALTER DATABASE ${new URL(place).pathname.slice(1)} ALLOW_CONNECTIONS ${isAllowed}`);
    await insert(database, 1, 20);
    await expect.poll(memory.size, { timeout: 60_000 }).toBe(20);
    if (isCut) {
      await allow(false);
      await endFollowers(database);
      await expect.poll(memory.isCurrent, { timeout: 60_000 }).toBe(false);
    }
    for (const n of [21, 22, 23, 24, 25]) memory.add([Buffer.from(await hash(n)).toString('base64')]);
    await database.transaction(async (queries) => {
      await queries.query('DELETE FROM tessera_opt_outs WHERE number > 17');
      await insert(queries, 21, 25);
    });
    if (isCut) await allow(true);
    await expect.poll(memory.size, { timeout: 60_000 }).toBe(22);
    expect(memory.lost()).toBe(3);
    expect(error.mock.calls).toEqual([
      [
        { missing: 3, seenAt: expect.any(String) },
        expect.stringContaining('docs/operating/postgresql.md#after-a-restore'),
      ],
    ]);
  });

  test('tells of no loss when a lost connection comes back to the same rows', async () => {
    const { database, memory, error, becomesCurrent } = await start();
    await insert(database, 1, 20);
    await expect.poll(memory.size, { timeout: 60_000 }).toBe(20);
    memory.add([Buffer.from(await hash(21)).toString('base64')]);
    await expect.poll(() => endFollowers(database), { timeout: 60_000 }).toBeGreaterThan(0);
    await expect.poll(memory.isCurrent, { timeout: 60_000 }).toBe(false);
    await becomesCurrent();
    expect([memory.lost(), error.mock.calls]).toEqual([0, []]);
  });

  test('relies on nothing as soon as the connection is lost', async () => {
    const { place, database, memory, becomesCurrent } = await start();
    const outside = opened(await openDatabase(inject('postgresUrl')));
    const name = new URL(place).pathname.slice(1);
    // What has been read does not grow old.
    vi.useFakeTimers({ toFake: ['performance'] });
    await becomesCurrent();
    await outside.script(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    await endFollowers(database);
    await expect.poll(memory.isCurrent, { timeout: 60_000 }).toBe(false);
    await outside.script(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    await becomesCurrent();
  });

  test('moves within a minute to the server that has taken over, without the rows that it lacks', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const [primary, replica] = await Promise.all(
      [1, 2].map(async () => {
        const database = opened(await openDatabase(await freshLocation('postgres')));
        await migrate(database, TABLES);
        await insert(database, 1, 10);
        return database;
      }),
    );
    let named = primary!;
    const warn = vi.fn();
    const memory = opened(
      createOptOutMemory(
        { ...primary!, subscribe: (channel, onNotification) => named.subscribe!(channel, onNotification) },
        { logger: { info: () => {}, warn, error: () => {} } },
      ),
    );
    await insert(primary!, 11, 20);
    await expect.poll(memory.size, { timeout: 60_000 }).toBe(20);
    named = replica!;
    await insert(replica!, 21, 25);
    vi.advanceTimersByTime(60_000);
    await expect.poll(memory.size, { timeout: 60_000 }).toBe(15);
    await expect.poll(memory.isCurrent, { timeout: 60_000 }).toBe(true);
    const absent = await Promise.all([10, 20, 25].map(async (n) => memory.isAbsent(await hash(n))));
    expect(absent).toEqual([false, true, false]);
    expect(warn).not.toHaveBeenCalled();
  });

  // As a copy of rows does, which brings their numbers with it: user 11 gets a number that the reading has passed.
  const copyBehind = async ({ query }: Queries) => {
    await query('DELETE FROM tessera_opt_outs WHERE number = 5');
    await query(
      `INSERT INTO tessera_opt_outs (user_hash, since, through, extend_at, number)
        VALUES (encode(sha256('11'), 'base64'), 0, 0, 0, 5)`,
    );
  };

  test.each([
    ['with session_replication_role = replica', 'SET LOCAL session_replication_role = replica', false],
    [
      'without triggers, after the next loss of the connection',
      'ALTER TABLE tessera_opt_outs DISABLE TRIGGER ALL',
      true,
    ],
  ])('reads rows that are copied in %s', async (_, script, isCut) => {
    const { database, memory } = await start();
    await insert(database, 1, 10);
    await expect.poll(memory.size, { timeout: 60_000 }).toBe(10);
    expect(await knownTo(memory, 11, 11)).toEqual([false]);
    await database.transaction(async (queries) => {
      await queries.script(script);
      await copyBehind(queries);
    });
    if (isCut) await expect.poll(() => endFollowers(database), { timeout: 60_000 }).toBeGreaterThan(0);
    await expect.poll(() => knownTo(memory, 11, 11), { timeout: 60_000 }).toEqual([true]);
  });
});

describe.each(KINDS)('an opt-out whose transaction fails after its commit, on %s', (kind: Kind) => {
  test('counts on the node that took it', async () => {
    let isFailing = false;
    const node = await startNode(await freshLocation(kind), ({ subscribe, ...database }) => ({
      ...database,
      ...(subscribe && { subscribe }),
      transaction: async (work, options) => {
        const result = await database.transaction(work, options);
        if (isFailing) throw new TokenError('storage_failed', 'the connection ended after COMMIT');
        return result;
      },
    }));
    await node.becomesCurrent();
    const set = await node.generate({ email: 'leaver@example.com' });
    isFailing = true;
    expect((await node.call(LOGOUT, { email: 'leaver@example.com' })).http).toBe(503);
    expect(await node.refreshStatus(set)).toBe('optout');
  });
});

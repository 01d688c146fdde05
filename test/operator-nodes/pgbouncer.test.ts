/** Nodes that reach PostgreSQL through a real PgBouncer. */

import { afterEach, describe, expect, test } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { freshLocation } from '../database/locations.ts';
import { hasPgBouncer, startPgBouncer } from '../database/pgbouncer.ts';
import { failNode, startNode } from './process.ts';

const PATIENT = { timeout: 60_000, interval: 50 };
const IGNORED = 'ignore_startup_parameters = statement_timeout, idle_in_transaction_session_timeout';

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

const start = async (settings: readonly string[], statements: readonly string[] = []): Promise<string> => {
  const place = await freshLocation('postgres');
  const name = new URL(place).pathname.slice(1);
  const admin = await openDatabase(place, { connections: 1 });
  for (const statement of statements) await admin.script(`ALTER ROLE tessera IN DATABASE ${name} SET ${statement}`);
  await admin.close();
  const { url, stop } = await startPgBouncer(place, settings);
  open.push(stop);
  return url;
};

describe.skipIf(!hasPgBouncer)('through PgBouncer', () => {
  test('a node does not start if its time limits are rejected, and the error says what to configure', async () => {
    const { code, err } = await failNode(['--database', await start([])]);
    expect(code).toBe(1);
    expect(err).toContain('unsupported startup parameter: statement_timeout (08P01)');
    expect(err).toContain('ignore_startup_parameters');
  });

  test.each([
    ['both', [], 'no statement_timeout and no idle_in_transaction_session_timeout'],
    ['one', ["statement_timeout = '5s'"], 'no idle_in_transaction_session_timeout'],
  ])('a node does not start if PgBouncer ignores its time limits and the role lacks %s', async (_, limits, missing) => {
    const { code, err } = await failNode(['--database', await start([IGNORED], limits)]);
    expect(code).toBe(1);
    expect(err).toContain(`database: PostgreSQL applies ${missing},`);
    expect(err).toContain('ALTER ROLE');
  });

  test.each(['session', 'transaction'])('in %s mode, nodes whose role has time limits share opt-outs', async (mode) => {
    const limits = ["statement_timeout = '5s'", "idle_in_transaction_session_timeout = '5s'"];
    const url = await start([IGNORED, `pool_mode = ${mode}`], limits);
    const one = await startNode(['--database', url]);
    const other = await startNode(['--database', url]);
    for (let i = 0; i < 20; i++) {
      const [recorder, asked] = i % 2 ? [one, other] : [other, one];
      const leaver = { email: `leaver-${i}@example.com` };
      const set = await recorder.generate(leaver);
      expect((await asked.refresh(set)).json.status).toBe('success');
      expect((await recorder.call('/v2/token/logout', leaver)).http).toBe(200);
      await expect.poll(async () => (await asked.refresh(set)).json.status, PATIENT).toBe('optout');
    }
    const { code } = await one.stop();
    expect(code).toBe(0);
  });

  test('a node answers though another client has emptied the search path of all connections', async () => {
    const limits = ["statement_timeout = '5s'", "idle_in_transaction_session_timeout = '5s'"];
    const url = await start([IGNORED, 'pool_mode = transaction', 'default_pool_size = 2'], limits);
    const node = await startNode(['--database', url]);
    const other = await openDatabase(url, { connections: 2 });
    open.push(() => other.close());
    // At the same time, so that each has a connection of its own.
    const empty = () =>
      other.transaction(({ query }) => query("SELECT set_config('search_path', '', false), pg_sleep(0.5)::text"));
    await Promise.all([empty(), empty()]);
    for (let i = 0; i < 10; i++) {
      const set = await node.generate({ email: `user-${i}@example.com` });
      expect((await node.call('/v2/token/logout', { email: `user-${i}@example.com` })).http).toBe(200);
      await expect.poll(async () => (await node.refresh(set)).json.status, PATIENT).toBe('optout');
    }
    await node.stop();
  });
});

/** Two nodes on a real PostgreSQL with a real standby, which takes over while users opt out. */

import { afterEach, expect, test } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { type PostgresServer, startPostgres } from '../database/postgres-server.ts';
import { startProxy } from '../database/proxy.ts';
import { type Node, startNode } from './process.ts';

const LOGOUT = '/v2/token/logout';
const PATIENT = { timeout: 60_000, interval: 50 };

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

const ask = async <Row extends object>(server: PostgresServer, sql: string): Promise<Row[]> => {
  const database = await openDatabase(server.url('postgres'), { connections: 1 });
  try {
    return await database.query<Row>(sql);
  } finally {
    await database.close();
  }
};

const optOutsOn = async (server: PostgresServer): Promise<number> =>
  (await ask<{ count: number }>(server, 'SELECT count(*)::integer AS count FROM tessera_opt_outs'))[0]!.count;

/** Start a primary with a standby, and two nodes at an address that follows the primary. */
const start = async () => {
  const primary = await startPostgres();
  open.push(primary.stop);
  // What the standby receives passes through it, so that a test can make the standby lag behind.
  const replication = await startProxy(primary.port);
  open.push(replication.close);
  const standby = await primary.createStandby(replication.port);
  open.push(standby.stop);
  const address = await startProxy(primary.port);
  open.push(address.close);
  const url = new URL(primary.url('postgres'));
  url.port = `${address.port}`;
  const args = ['--database', url.href];
  // The first one creates the tables.
  const nodes = [await startNode(args), await startNode(args)] as const;
  for (const node of nodes) open.push(node.kill);
  const failOver = async (whileDown = async (): Promise<void> => {}): Promise<void> => {
    await primary.kill();
    await whileDown();
    await ask(standby, 'SELECT pg_promote()');
    address.moveTo(standby.port);
  };
  return { primary, standby, replication, nodes, failOver };
};

const people = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, i) => `user-${from + i}@example.com`);

/** Create a token set for each person, and return what a node answers to a refresh of each. */
const signIn = async (node: Node, emails: readonly string[]) => {
  const sets = await Promise.all(emails.map((email) => node.generate({ email })));
  return (asked: Node): Promise<string[]> =>
    Promise.all(sets.map(async (set) => (await asked.refresh(set)).json.status));
};
const all = (status: string, { length }: readonly string[]): string[] => Array.from({ length }, () => status);

const optOut = async (node: Node, email: string): Promise<number> => (await node.call(LOGOUT, { email })).http;

test('with a synchronous standby, no acknowledged opt-out is lost while the standby takes over', async () => {
  const { primary, nodes, failOver } = await start();
  await ask(primary, 'ALTER SYSTEM SET synchronous_standby_names = standby');
  await ask(primary, 'SELECT pg_reload_conf()');
  const isSynchronous = async () =>
    (await ask<{ sync_state: string }>(primary, 'SELECT sync_state FROM pg_stat_replication')).map(
      (row) => row.sync_state,
    );
  await expect.poll(isSynchronous, PATIENT).toEqual(['sync']);

  const [leavers, stayers] = [people(1, 100), people(101, 110)];
  const refreshLeavers = await signIn(nodes[0], leavers);
  const refreshStayers = await signIn(nodes[1], stayers);
  const answers = new Set<number>();
  let acknowledged = 0;
  let onFifth = (): void => {};
  const fifth = new Promise<void>((resolve) => (onFifth = resolve));
  const leave = async (node: Node, emails: readonly string[]) => {
    for (const email of emails) {
      const leaveOnce = async (): Promise<number> => {
        const http = await optOut(node, email);
        answers.add(http);
        return http;
      };
      await expect.poll(leaveOnce, PATIENT).toBe(200);
      acknowledged++;
      if (acknowledged === 5) onFifth();
    }
  };
  const leaving = Promise.all([leave(nodes[0], leavers.slice(0, 50)), leave(nodes[1], leavers.slice(50))]);
  await fifth;
  await failOver(async () => {
    for (const node of nodes) {
      const health = async () => (await fetch(`${node.url}/ops/healthcheck`)).status;
      await expect.poll(health, PATIENT).toBe(503);
    }
  });
  expect(acknowledged).toBeLessThan(leavers.length);
  await leaving;
  expect([...answers].sort()).toEqual([200, 503]);
  for (const node of nodes) {
    await expect.poll(() => refreshLeavers(node), PATIENT).toEqual(all('optout', leavers));
    expect(await refreshStayers(node)).toEqual(all('success', stayers));
  }
});

test('after the takeover of a standby that lagged behind, opt-outs that get the numbers of lost ones reach every node', async () => {
  const { primary, standby, replication, nodes, failOver } = await start();
  const [kept, lost, later] = [people(1, 5), people(6, 10), people(11, 16)];
  const [refreshKept, refreshLost, refreshLater] = [
    await signIn(nodes[0], kept),
    await signIn(nodes[0], lost),
    await signIn(nodes[0], later),
  ];
  for (const email of kept) expect(await optOut(nodes[0], email)).toBe(200);
  await expect.poll(() => optOutsOn(standby), PATIENT).toBe(kept.length);
  replication.pause();
  for (const email of lost) expect(await optOut(nodes[0], email)).toBe(200);
  for (const node of nodes) await expect.poll(() => refreshLost(node), PATIENT).toEqual(all('optout', lost));
  expect([await optOutsOn(primary), await optOutsOn(standby)]).toEqual([10, 5]);

  await failOver();
  // Recorded by one node each, and known to the other.
  for (const [i, email] of later.entries()) await expect.poll(() => optOut(nodes[i % 2]!, email), PATIENT).toBe(200);
  expect(await optOutsOn(standby)).toBe(11);
  for (const node of nodes) {
    await expect.poll(() => refreshLater(node), PATIENT).toEqual(all('optout', later));
    await expect.poll(() => refreshKept(node), PATIENT).toEqual(all('optout', kept));
  }
});

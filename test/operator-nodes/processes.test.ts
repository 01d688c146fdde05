/** `tessera operator --processes`: several processes behind one port, over real HTTP and a real PostgreSQL. */

import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { emptyFolder, freshPlace } from '../database/places.ts';
import { failNode, GIVEN, type Node, startNode } from './process.ts';

const WAIT = { timeout: 120_000, interval: 100 };

/** The processes that a node has started. */
const workersOf = async ({ pid }: Pick<Node, 'pid'>): Promise<number[]> => {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return text.split(' ').filter(Boolean).map(Number);
};
const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

const startTwo = async (more: readonly string[] = []): Promise<Node> => {
  const node = await startNode(['--database', await freshPlace('postgres'), '--processes', '2', ...more]);
  expect(await workersOf(node)).toHaveLength(2);
  return node;
};

// Each on a connection of its own: the connections go to the processes in turn.
const post = async (node: Node, path: string, body: string): Promise<number> => {
  const { status } = await fetch(node.url + path, { method: 'POST', body, headers: { connection: 'close' } });
  return status;
};
const counted = async (url: string): Promise<number> => {
  const text = await (await fetch(`${url}/metrics`, { headers: { connection: 'close' } })).text();
  const line = /tessera_http_requests_total\{[^}]*path="\/v2\/token\/refresh",http="400"[^}]*\} (\d+)/.exec(text);
  return Number(line?.[1] ?? 0);
};

describe('several processes', () => {
  test('answer behind one port, know the opt-outs of each other, and count as one', async () => {
    const node = await startTwo();
    expect(node.out.filter((line) => line.startsWith('listening on'))).toHaveLength(1);
    const leaver = await node.generate({ email: 'leaver@example.com' });
    expect((await node.call('/v2/token/logout', { email: 'leaver@example.com' })).http).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    for (let at = 0; at < 4; at++)
      expect((await node.refresh(leaver, { connection: 'close' })).json).toEqual({ status: 'optout' });
    for (let at = 0; at < 20; at++) expect(await post(node, '/v2/token/refresh', 'AAAA')).toBe(400);
    // Whichever process is asked.
    for (let at = 0; at < 4; at++) expect(await counted(node.url)).toBe(20);
    const workers = await workersOf(node);
    expect((await node.stop()).code).toBe(0);
    expect(workers.filter(isAlive)).toEqual([]);
  });

  test('one that is killed is started again, and the others answer meanwhile', async () => {
    const node = await startTwo();
    const [victim] = await workersOf(node);
    process.kill(victim!, 'SIGKILL');
    await expect.poll(() => isAlive(victim!), WAIT).toBe(false);
    expect(await post(node, '/v2/token/refresh', 'AAAA')).toBe(400);
    await expect.poll(async () => (await workersOf(node)).length, WAIT).toBe(2);
    expect(await workersOf(node)).not.toContain(victim);
    const { code, err } = await node.stop();
    expect([code, err]).toEqual([0, expect.stringContaining('a process has ended and is started again')]);
  });

  test('SIGHUP replaces them one after the other; no request fails and no counter falls', async () => {
    const node = await startTwo(['--metrics-port', '0', '--log-level', 'info']);
    const metricsUrl = node.out
      .find((line) => line.startsWith('metrics on '))!
      .slice('metrics on '.length, -'/metrics'.length);
    const before = await workersOf(node);
    let isOver = false;
    let sent = 0;
    const load = (async () => {
      for (; !isOver; sent++) expect(await post(node, '/v2/token/refresh', 'AAAA')).toBe(400);
    })();
    node.signal('SIGHUP');
    await expect
      .poll(async () => {
        const now = await workersOf(node);
        return now.length === 2 && now.every((pid) => !before.includes(pid));
      }, WAIT)
      .toBe(true);
    isOver = true;
    await load;
    await expect.poll(() => counted(metricsUrl), WAIT).toBe(sent);
    // With a port of their own the metrics are not on that of the service.
    expect((await fetch(`${node.url}/metrics`)).status).toBe(404);
    const { code, err } = await node.stop();
    expect([code, err]).toEqual([0, expect.stringContaining('every process has been replaced')]);
  });

  test('end with their parent', async () => {
    const node = await startTwo();
    const workers = await workersOf(node);
    await node.kill();
    await expect.poll(() => workers.filter(isAlive), WAIT).toEqual([]);
  });
});

test.each([
  ['2', [], 'in memory each process would have its own opt-outs and IDs'],
  ['auto', [], 'in memory each process would have its own opt-outs and IDs'],
  ['0', ['--database', 'postgres://localhost/x'], 'expected auto or a number from 1 to 1024, got 0'],
])('--processes %s %s is refused with the reason', async (count, more, reason) => {
  const { code, err, out } = await failNode(['--processes', count, ...more]);
  expect([code, err, out]).toEqual([2, expect.stringContaining(reason), []]);
});

test('several processes on a folder are refused with the reason', async () => {
  const { code, err } = await failNode(['--processes', '2', '--database', await emptyFolder()]);
  expect([code, err]).toEqual([2, expect.stringContaining('a folder belongs to one process')]);
});

test('a fault of the options ends the start of all', async () => {
  const args = ['--database', await freshPlace('postgres'), '--processes', '2', '--rotation-period', '5'];
  const { code, err, out } = await failNode(args, GIVEN);
  expect([code, err, out]).toEqual([2, expect.stringContaining('rotationPeriod'), []]);
});

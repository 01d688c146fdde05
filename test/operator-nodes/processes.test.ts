/** `tessera operator --processes`: several processes behind one port, over real HTTP and a real PostgreSQL. */

import { copyFile, readFile, rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { emptyFolder, freshLocation } from '../database/locations.ts';
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
  const node = await startNode(['--database', await freshLocation('postgres'), '--processes', '2', ...more]);
  expect(await workersOf(node)).toHaveLength(2);
  return node;
};

/** Each on a connection of its own: the connections go to the processes in turn. */
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
  test('answer behind one port, know one another’s opt-outs, and count as one', async () => {
    const node = await startTwo();
    expect(node.out.filter((line) => line.startsWith('listening on'))).toHaveLength(1);
    const leaver = await node.generate({ email: 'leaver@example.com' });
    expect((await node.call('/v2/token/logout', { email: 'leaver@example.com' })).http).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    for (let at = 0; at < 4; at++)
      expect((await node.refresh(leaver, { connection: 'close' })).json).toEqual({ status: 'optout' });
    for (let at = 0; at < 20; at++) expect(await post(node, '/v2/token/refresh', 'AAAA')).toBe(400);
    // Whichever process is asked. One that does not say within 2 s what it has counted is left out.
    for (let at = 0; at < 4; at++) await expect.poll(() => counted(node.url), WAIT).toBe(20);
    const workers = await workersOf(node);
    expect((await node.stop()).code).toBe(0);
    expect(workers.filter(isAlive)).toEqual([]);
  });

  test('drain together: every process fails its health check, and still answers', async () => {
    const node = await startTwo(['--drain-seconds', '8']);
    const health = async (): Promise<number> =>
      (await fetch(`${node.url}/ops/healthcheck`, { headers: { connection: 'close' } })).status;
    expect(await health()).toBe(200);
    const stopping = node.stop();
    await expect.poll(async () => [await health(), await health()], { ...WAIT, interval: 20 }).toEqual([503, 503]);
    expect(await post(node, '/v2/token/refresh', 'AAAA')).toBe(400);
    expect((await stopping).code).toBe(0);
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

  test('SIGHUP and the death of the process that is being replaced leave the same number', async () => {
    const node = await startTwo(['--log-level', 'info']);
    const [victim] = await workersOf(node);
    // It cannot end before it is killed, however late the third process is seen.
    process.kill(victim!, 'SIGSTOP');
    node.signal('SIGHUP');
    await expect.poll(async () => (await workersOf(node)).length, WAIT).toBe(3);
    process.kill(victim!, 'SIGKILL');
    await expect.poll(() => node.err(), WAIT).toContain('every process has been replaced');
    // Longer than a process that ends waits before it is started again.
    await new Promise((resolve) => setTimeout(resolve, 3000));
    expect(await workersOf(node)).toHaveLength(2);
    expect((await node.stop()).code).toBe(0);
  });

  test('SIGHUP with another database in the file changes nothing, and the log says why', async () => {
    const folder = await emptyFolder();
    const config = join(folder, 'config.json');
    const database = await freshLocation('postgres');
    await writeFile(config, JSON.stringify({ database, processes: 2 }), { mode: 0o600 });
    const node = await startNode(['--config', config]);
    const before = await workersOf(node);
    await writeFile(config, '{}');
    node.signal('SIGHUP');
    await expect.poll(() => node.err(), WAIT).toContain('"reason":"--database: expected the database of the running');
    await writeFile(config, JSON.stringify({ processes: 2 }));
    node.signal('SIGHUP');
    await expect.poll(() => node.err(), WAIT).toContain('"reason":"--processes: expected a database on PostgreSQL');
    expect(await workersOf(node)).toEqual(before);
    expect((await node.stop()).err).not.toContain(database);
  });

  test('SIGHUP prints the credentials of a participant that the file now adds, once', async () => {
    const config = join(await emptyFolder(), 'config.json');
    const write = (siteIds: readonly number[]) =>
      writeFile(config, JSON.stringify({ participants: siteIds.map((siteId) => ({ siteId, roles: ['GENERATOR'] })) }), {
        mode: 0o600,
      });
    await write([7]);
    const database = await freshLocation('postgres');
    // Without --roles, which participants in the file exclude.
    const node = await startNode(['--config', config, '--database', database, '--processes', '2'], {}, undefined, []);
    await write([7, 8]);
    const before = await workersOf(node);
    node.signal('SIGHUP');
    await expect.poll(async () => (await workersOf(node)).filter((pid) => before.includes(pid)), WAIT).toEqual([]);
    await expect.poll(async () => (await workersOf(node)).length, WAIT).toBe(2);
    // Then all of its output has been read.
    await node.stop();
    expect(node.out.filter((line) => line.startsWith('# site 8'))).toEqual(['# site 8, roles GENERATOR']);
    expect(node.out.filter((line) => line.startsWith('# site 7'))).toEqual(['# site 7, roles GENERATOR']);
    expect(node.out.filter((line) => line.startsWith('export TESSERA_API_KEY='))).toHaveLength(2);
    expect(node.out.filter((line) => line.startsWith('listening on'))).toHaveLength(1);
  });

  test('SIGHUP replaces the processes though the reader of standard output has gone', async () => {
    const config = join(await emptyFolder(), 'config.json');
    const write = (siteIds: readonly number[]) =>
      writeFile(config, JSON.stringify({ participants: siteIds.map((siteId) => ({ siteId, roles: ['GENERATOR'] })) }), {
        mode: 0o600,
      });
    await write([7]);
    const database = await freshLocation('postgres');
    const node = await startNode(['--config', config, '--database', database, '--processes', '2'], {}, undefined, []);
    node.closeOut();
    await write([7, 8]);
    const before = await workersOf(node);
    node.signal('SIGHUP');
    await expect.poll(async () => (await workersOf(node)).filter((pid) => before.includes(pid)), WAIT).toEqual([]);
    await expect
      .poll(() => node.err(), WAIT)
      .toContain('warning: standard output is lost from here on: nobody reads it');
    expect((await node.stop()).code).toBe(0);
  });

  test('a process that cannot be created is tried again', async () => {
    const folder = await emptyFolder();
    const node = join(folder, 'node');
    await copyFile(process.execPath, node);
    const group = await startNode(
      ['--database', await freshLocation('postgres'), '--processes', '2', '--metrics-port', '0'],
      GIVEN,
      node,
    );
    const [victim] = await workersOf(group);
    await rename(node, `${node}.away`);
    process.kill(victim!, 'SIGKILL');
    await expect.poll(() => group.err(), WAIT).toContain('"reason":"ENOENT","msg":"a process could not start"');
    expect(await post(group, '/v2/token/refresh', 'AAAA')).toBe(400);
    await rename(`${node}.away`, node);
    await expect.poll(async () => (await workersOf(group)).length, WAIT).toBe(2);
    expect((await group.stop()).code).toBe(0);
  });

  test('answer /metrics as a single process does', async () => {
    const node = await startTwo();
    const single = await startNode(['--database', await freshLocation('postgres')]);
    const statusesOf = ({ url }: Node) =>
      Promise.all(
        [
          ['GET', '/metrics?x'],
          ['GET', '//metrics'],
          ['POST', '/metrics'],
          ['GET', '/x/metrics'],
        ].map(async ([method, path]) => (await fetch(url + path, { method: method! })).status),
      );
    expect(await statusesOf(node)).toEqual([200, 200, 405, 404]);
    expect(await statusesOf(single)).toEqual([200, 200, 405, 404]);
  });

  test('answer many simultaneous requests for the metrics, without a warning', async () => {
    const node = await startTwo();
    const ask = async (): Promise<number> => (await fetch(`${node.url}/metrics`)).status;
    expect(new Set(await Promise.all(Array.from({ length: 40 }, ask)))).toEqual(new Set([200]));
    expect((await node.stop()).code).toBe(0);
    expect(node.err()).not.toContain('MaxListenersExceededWarning');
  });

  test('--env names a file that does not exist yet', async () => {
    const file = join(await emptyFolder(), 'new.env');
    const node = await startNode(
      ['--database', await freshLocation('postgres'), '--processes', '2', '--env', file],
      {},
    );
    expect(await readFile(file, 'utf8')).toMatch(/^TESSERA_API_KEY=/m);
    expect(node.out.join()).not.toContain('TESSERA_API_KEY=');
    await node.stop();
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

test('a fault in the options ends the start of all', async () => {
  const args = ['--database', await freshLocation('postgres'), '--processes', '2', '--rotation-period', '5'];
  const { code, err, out } = await failNode(args, GIVEN);
  expect([code, err, out]).toEqual([
    2,
    expect.stringContaining('error: --rotation-period: expected a whole number'),
    [],
  ]);
});

const usedPort = async (): Promise<{ port: number; close(): void }> => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as { port: number }).port, close: () => void server.close() };
};

test.each([
  ['--port', []],
  ['--port', ['--processes', '2']],
  ['--metrics-port', ['--metrics-port', '0']],
  ['--metrics-port', ['--metrics-port', '0', '--processes', '2']],
])('%s in use, with %j: the start fails before it has made credentials', async (option, more) => {
  const { port, close } = await usedPort();
  const database = await freshLocation('postgres');
  const args = ['--database', database, ...more];
  const at = args.indexOf(option);
  const failing = at < 0 ? [...args, option, `${port}`] : args.with(at + 1, `${port}`);
  const { code, err, out } = await failNode(failing, {});
  expect([code, err]).toEqual([
    1,
    expect.stringMatching(
      new RegExp(`could not listen on 127\\.0\\.0\\.1:${port} \\(EADDRINUSE\\).*choose another with ${option},`),
    ),
  ]);
  expect(out).toEqual([]);
  close();
  const node = await startNode(args, {});
  expect(node.out.join()).toContain('export TESSERA_API_KEY=');
  await node.stop();
});

test.each(['one process', 'several processes'])('the end of the terminal ends %s', async (name) => {
  const several = ['--database', await freshLocation('postgres'), '--processes', '2'];
  const node = await startNode(name === 'one process' ? [] : several, {
    ...GIVEN,
    NODE_OPTIONS: "--import=data:text/javascript,Object.defineProperty(process.stdout,'isTTY',{value:true})",
  });
  const workers = await workersOf(node);
  node.signal('SIGHUP');
  await expect.poll(() => [node.pid, ...workers].filter(isAlive), WAIT).toEqual([]);
});

test('SIGHUP leaves a single process alone', async () => {
  const node = await startNode(['--log-level', 'warn']);
  node.signal('SIGHUP');
  await expect.poll(() => node.err(), WAIT).toContain('SIGHUP ignored');
  expect(await post(node, '/v2/token/refresh', 'AAAA')).toBe(400);
  expect((await node.stop()).code).toBe(0);
});

test('the variable of a worker in the environment of the user changes nothing', async () => {
  const node = await startNode([], { ...GIVEN, TESSERA_WORKER: '1' });
  expect((await node.stop()).code).toBe(0);
});

test.each([
  ['--port', '99999'],
  ['--metrics-port', '70000'],
  ['--port', '1.5'],
])('%s %s is refused by name', async (option, value) => {
  const { code, err } = await failNode([option, value]);
  expect([code, err]).toEqual([
    2,
    expect.stringContaining(`${option}: expected a whole number from 0 to 65535, got ${value}`),
  ]);
});

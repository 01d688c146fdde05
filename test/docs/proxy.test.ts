/** The proxies of deploy/ in front of a real operator: TLS, hidden routes, the address of the client, bodies, logs, restarts. */

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createOperator, type Operator } from '../../src/operator/index.ts';
import { type Listening, listen } from '../../src/operator/node.ts';
import { createClient } from '../../src/server/index.ts';
import { emptyFolder } from '../database/locations.ts';
import { freePort } from '../support/free-port.ts';
import { PROXIES, stopProxy } from './proxies.ts';

// In CI they must be there: `.ci/run` installs them.
for (const { program, isInstalled } of PROXIES)
  if (!isInstalled && process.env['TESSERA_ENGINES'] === 'all')
    throw new Error(`expected the proxy ${program}, which .ci/run installs, found none`);

describe.each(PROXIES)('deploy/$file', (proxy) => {
  let running: ChildProcess;
  let operator: Operator;
  let nodes: Listening[];
  let port: number;
  let folder: string;
  const callers = new Set<string | undefined>();
  const served = new Set<number>();

  /** Ask through the proxy. The path is sent as it is. Its certificate comes from an authority that nobody here trusts. */
  const ask = (path: string, init: RequestInit = {}, at = port): Promise<Response> =>
    new Promise((resolve, reject) => {
      const headers = Object.fromEntries(new Headers(init.headers));
      const options = { port: at, path, method: init.method ?? 'GET', headers, rejectUnauthorized: false };
      const sent = request({ host: 'localhost', family: 4, servername: 'localhost', ...options }, (answer) => {
        const pieces: Buffer[] = [];
        answer.on('data', (piece) => pieces.push(piece));
        answer.on('error', reject);
        answer.on('end', () => {
          const { statusCode: status = 0, headers: given } = answer;
          const pairs = Object.entries(given).map(([name, value]): [string, string] => [name, `${value}`]);
          resolve(new Response(status === 204 ? null : Buffer.concat(pieces), { status, headers: pairs }));
        });
      });
      sent.on('error', reject);
      sent.end(init.body instanceof Uint8Array ? Buffer.from(init.body) : (init.body ?? ''));
    });
  const clientOf = () => {
    const { apiKey, clientSecret } = operator.participants[0]!;
    const fetch = (url: string, init: RequestInit) => ask(new URL(url).pathname, init);
    return createClient({ baseUrl: `https://localhost:${port}`, apiKey, clientSecret, fetch });
  };

  const startNode = (index: number, nodePort = 0): Promise<Listening> => {
    const watched = {
      fetch: (incoming: Request, caller: Parameters<Operator['fetch']>[1]) => {
        callers.add(caller?.address);
        served.add(index);
        return operator.fetch(incoming, caller);
      },
    };
    return listen(watched, { port: nodePort, trustProxy: true });
  };

  beforeAll(async () => {
    if (!proxy.isInstalled) return;
    operator = createOperator({ roles: ['GENERATOR', 'MAPPER'] });
    nodes = await Promise.all(Array.from({ length: proxy.nodes }, (_, index) => startNode(index)));
    folder = await emptyFolder();
    port = await freePort();
    running = await proxy.start({ folder, port, nodePorts: nodes.map((node) => node.port) });
    await vi.waitFor(async () => expect((await ask('/')).status).toBe(404), { timeout: 30_000, interval: 100 });
  });
  afterAll(async () => {
    if (!proxy.isInstalled) return;
    await stopProxy(running);
    await Promise.all(nodes.map((node) => node.close()));
    await operator.close();
  });
  const it = test.skipIf(!proxy.isInstalled);

  it('a token is generated and refreshed through it', async () => {
    const client = clientOf();
    const made = await client.generate({ email: 'user@example.com' });
    if (made.status !== 'success') throw new Error(`expected a set, got ${made.status}`);
    expect((await client.refresh(made.tokens)).status).toBe('success');
  });

  it('the largest batches are mapped through it, and nothing of them is written to a file', async () => {
    const people = Array.from({ length: 10_000 }, (_, i) => ({ email: `user-${i}@example.com` }));
    const results = await clientOf().mapIdentities(people).toArray();
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['mapped']));
    const written = (await readdir(folder, { recursive: true })).filter((name) => /(body|proxy)[^/]*\/./.test(name));
    expect(written).toEqual([]);
    // nginx warns when it writes a body or a response to a file.
    const log = await readFile(join(folder, 'error.log'), 'utf8').catch(() => '');
    expect(log).not.toContain('temporary file');
  });

  it('the answer to a page has the CORS headers of the operator, once', async () => {
    const init = { method: 'POST', headers: { origin: 'https://www.example' }, body: 'x' };
    const answer = await ask('/v2/token/refresh', init);
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([400, 'https://www.example']);
  });

  it.each(['/ops/healthcheck', '/metrics'])('%s is hidden, however it is written', async (path) => {
    expect((await fetch(nodes[0]!.url + path)).status).toBe(200);
    const [first, ...rest] = path.slice(1);
    const escaped = `/%${first!.charCodeAt(0).toString(16)}${rest.join('')}`;
    const spellings = ['', '/', '?a', '#a', '/.', '//', '%20', ';a'].map((end) => path + end);
    for (const spelling of [
      ...spellings,
      escaped,
      `/${path}`,
      `//${path}`,
      `/.${path}`,
      `/v2/..${path}`,
      `/v2/%2e%2e${path}`,
    ]) {
      const { status } = await ask(spelling);
      expect([spelling, [400, 404].includes(status) || status]).toEqual([spelling, true]);
    }
  });

  it('a client cannot choose its address: its own X-Forwarded-For does not count', async () => {
    callers.clear();
    await ask('/v2/token/refresh', { method: 'POST', headers: { 'x-forwarded-for': '203.0.113.7' }, body: 'x' });
    expect([...callers]).toEqual([expect.stringMatching(/^(127\.0\.0\.1|::1)$/)]);
  });

  test.skipIf(!proxy.isInstalled || proxy.file !== 'nginx.conf')(
    'behind a CDN, the address of a client is the one that the CDN has seen, whatever the client claims',
    async () => {
      const settings = {
        folder: await emptyFolder(),
        port: await freePort(),
        nodePorts: nodes.map((node) => node.port),
      };
      const behind = await proxy.start({ ...settings, cdn: '127.0.0.0/8' });
      onTestFinished(() => stopProxy(behind));
      const headers = { 'x-forwarded-for': '192.0.2.1, 203.0.113.7' };
      const send = () => ask('/v2/token/refresh', { method: 'POST', headers, body: 'x' }, settings.port);
      await vi.waitFor(async () => expect((await send()).status).toBe(400), { timeout: 30_000, interval: 100 });
      callers.clear();
      await send();
      expect([...callers]).toEqual(['203.0.113.7']);
    },
  );

  it('a body of the largest size reaches the operator, a larger one is refused', async () => {
    const { apiKey } = operator.participants[0]!;
    const send = async (bytes: number) => {
      const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/octet-stream' };
      return (await ask('/v2/token/generate', { method: 'POST', headers, body: new Uint8Array(bytes) })).status;
    };
    expect(await send(1_048_576)).toBe(400);
    // Several times: a proxy that is still sending when the operator closes the connection answers 502 now and then.
    for (let attempt = 0; attempt < 30; attempt++) expect(await send(1_048_577)).toBe(413);
  });

  it.each([
    ['a chunk with a size that is too large', 'Transfer-Encoding: chunked', '10000000000000000\r\nxx\r\n0\r\n\r\n'],
    ['a chunk with a size that is not a number', 'Transfer-Encoding: chunked', 'zz\r\nxx\r\n0\r\n\r\n'],
    ['a body that is cut off', 'Content-Length: 300', 'abc'],
  ])('%s of an anonymous client takes no node from the others', async (_, header, body) => {
    const path = '/v2/token/refresh';
    const sendMalformed = async (): Promise<void> => {
      const socket = connectTls({ host: '127.0.0.1', port, servername: 'localhost', rejectUnauthorized: false });
      socket.on('error', () => {});
      await once(socket, 'secureConnect');
      const closed = once(socket, 'close');
      socket.write(`POST ${path} HTTP/1.1\r\nHost: localhost\r\n${header}\r\n\r\n${body}`);
      // A proxy that waits for the rest of a body gets none.
      if (header.startsWith('Content-Length')) socket.end();
      await Promise.race([once(socket, 'data'), closed]);
      socket.destroy();
    };
    let isDone = false;
    const attack = async (): Promise<void> => {
      while (!isDone) await sendMalformed();
    };
    const attacks = Promise.all([attack(), attack(), attack()]);
    const statuses: number[] = [];
    for (let each = 0; each < 10; each++) statuses.push((await ask(path, { method: 'POST', body: 'x' })).status);
    isDone = true;
    await attacks;
    expect(new Set(statuses)).toEqual(new Set([400]));
  });

  it('its log contains no query', async () => {
    await ask('/v2/token/refresh?client=not-for-the-log', { method: 'POST', body: 'x' });
    const files = (await readdir(folder)).filter((name) => name.endsWith('.log'));
    for (const name of files) expect(await readFile(join(folder, name), 'utf8')).not.toContain('not-for-the-log');
  });

  test.skipIf(!proxy.canRepeat)('no request fails while one node after the other restarts', async () => {
    const statuses = new Map<number, number>();
    const count = () => [...statuses.values()].reduce((sum, each) => sum + each, 0);
    let isDone = false;
    const load = async () => {
      while (!isDone) {
        const { status } = await ask('/v2/token/refresh', { method: 'POST', body: 'x' });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    const loads = Promise.all(Array.from({ length: 8 }, load));
    await expect.poll(count).toBeGreaterThan(100);
    for (let round = 0; round < 2; round++)
      for (const [i, node] of nodes.entries()) {
        await node.close();
        nodes[i] = await startNode(i, node.port);
        // The next one restarts when the proxy uses this one again.
        served.delete(i);
        await expect.poll(() => served.has(i), { timeout: 30_000 }).toBe(true);
      }
    isDone = true;
    await loads;
    expect([...statuses.keys()]).toEqual([400]);
  });
});

/** deploy/Caddyfile with a real Caddy and a real operator: TLS, the routes that are hidden, the address of the client. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { root } from '../../build/dist.ts';
import { createOperator, type Operator } from '../../src/operator/index.ts';
import { listen } from '../../src/operator/node.ts';
import { createClient } from '../../src/server/index.ts';
import { emptyFolder } from '../database/locations.ts';
import { freePort } from '../support/free-port.ts';

const CADDY = process.env['CADDY'] ?? '/usr/bin/caddy';
const isThere = await access(CADDY).then(
  () => true,
  () => false,
);
// In CI it must be: `.ci/run` installs it.
if (!isThere && process.env['TESSERA_ENGINES'] === 'all')
  throw new Error(`expected Caddy at ${CADDY} (Debian: apt-get install caddy), found none`);

describe.skipIf(!isThere)('deploy/Caddyfile', () => {
  let caddy: ChildProcess;
  let operator: Operator;
  let service: Awaited<ReturnType<typeof listen>>;
  let port: number;
  const callers = new Set<string | undefined>();

  /** Ask through the proxy. Its certificate comes from an authority of its own, which nobody here trusts. */
  const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
    new Promise((resolve, reject) => {
      const headers = Object.fromEntries(new Headers(init.headers));
      const options = { port, path, method: init.method ?? 'GET', headers, rejectUnauthorized: false };
      const sent = request({ host: 'localhost', servername: 'localhost', ...options }, (answer) => {
        const pieces: Buffer[] = [];
        answer.on('data', (piece) => pieces.push(piece));
        answer.on('end', () => {
          const { statusCode: status = 0, headers: given } = answer;
          const pairs = Object.entries(given).map(([name, value]): [string, string] => [name, `${value}`]);
          resolve(new Response(status === 204 ? null : Buffer.concat(pieces), { status, headers: pairs }));
        });
      });
      sent.on('error', reject);
      sent.end(init.body instanceof Uint8Array ? Buffer.from(init.body) : (init.body ?? ''));
    });

  beforeAll(async () => {
    operator = createOperator({ roles: ['GENERATOR'] });
    const watched = {
      fetch: (incoming: Request, caller?: { address?: string | undefined }) => {
        callers.add(caller?.address);
        return operator.fetch(incoming, caller as never);
      },
    };
    service = await listen(watched as Operator, { port: 0, trustProxy: true, graceMs: 0 });
    const folder = await emptyFolder();
    port = await freePort();
    // Nothing outside of this folder: no port below 1024, no certificate in the store of the machine.
    const ours = `{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n\thttps_port ${port}\n\tstorage file_system ${folder}\n}\n`;
    await writeFile(join(folder, 'Caddyfile'), ours + (await readFile(`${root}deploy/Caddyfile`, 'utf8')));
    const env = {
      TESSERA_DOMAIN: 'localhost',
      TESSERA_OPERATOR: 'localhost',
      TESSERA_OPERATOR_PORT: new URL(service.url).port,
      HOME: folder,
      PATH: process.env['PATH'],
    };
    const args = ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'];
    caddy = spawn(CADDY, args, { env, cwd: folder, stdio: 'ignore' });
    await vi.waitFor(async () => expect((await ask('/')).status).toBe(404), { timeout: 30_000, interval: 100 });
  });
  afterAll(async () => {
    const exit = once(caddy, 'exit');
    caddy.kill();
    await exit;
    await service.close();
    await operator.close();
  });

  test('a token is generated and refreshed through it', async () => {
    const { apiKey, clientSecret } = operator.participants[0]!;
    const fetch = (url: string, init: RequestInit) => ask(new URL(url).pathname, init);
    const client = createClient({ baseUrl: `https://localhost:${port}`, apiKey, clientSecret, fetch });
    const made = await client.generate({ email: 'user@example.com' });
    if (made.status !== 'success') throw new Error(`expected a set, got ${made.status}`);
    expect((await client.refresh(made.tokens)).status).toBe('success');
  });

  test('the answer to a page has the CORS headers of the operator, once', async () => {
    const init = { method: 'POST', headers: { origin: 'https://www.example' }, body: 'x' };
    const answer = await ask('/v2/token/refresh', init);
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([400, 'https://www.example']);
  });

  test.each(['/ops/healthcheck', '/metrics'])('%s is hidden', async (path) => {
    expect((await ask(path)).status).toBe(404);
    expect((await fetch(service.url + path)).status).toBe(200);
  });

  test('a client cannot choose its address: its own X-Forwarded-For does not count', async () => {
    callers.clear();
    await ask('/v2/token/refresh', { method: 'POST', headers: { 'x-forwarded-for': '203.0.113.7' }, body: 'x' });
    expect([...callers]).toEqual([expect.stringMatching(/^(127\.0\.0\.1|::1)$/)]);
  });

  test('a body of the largest size reaches the operator, a larger one is refused', async () => {
    const { apiKey } = operator.participants[0]!;
    const send = async (bytes: number) => {
      const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/octet-stream' };
      return (await ask('/v2/token/generate', { method: 'POST', headers, body: new Uint8Array(bytes) })).status;
    };
    expect(await send(1_048_576)).toBe(400);
    expect(await send(1_048_577)).toBe(413);
  });
});
